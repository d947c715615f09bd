"""Refactorings that need a model: one thing at a time, with the tests locked and green before and after."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.attempt import Outcome, TaskProgress, attempt
from kith.agent.ecosystems import ecosystems
from kith.agent.judges import Judges
from kith.agent.relay import Leg
from kith.agent.roles import Cast
from kith.context.find_lines import files_holding
from kith.core.errors import TreeError
from kith.core.events import Notice
from kith.core.evidence import Tries
from kith.core.loop import begin_turn
from kith.core.run import Gate, Run, Thread
from kith.core.values import Changes, say
from kith.core.workspace import ExecLimits, read_readable
from kith.features.refactor.suggest import RefactoringSuggestion
from kith.gates.results.run import run_suite
from kith.gates.toolchains import choose_clues, find_toolchains
from kith.gates.untouched import untouched_gate

ROLE = "refactorer"
THREAD = "refactor"
_CALLERS = 12  # lines that are shown of those who use it
_MOST_LINES = 400  # of the code that is shown

_AIMS = {
    "function": "Make {name} easier to follow: split it into well-named functions, return early, flatten it.",
    "copy": "The same code stands in two places. Let one function hold it, and use it in both.",
    "file": "Move what belongs together out of this file into a new module; importers must not notice.",
    "circle": "These modules import each other. Break the circle: move what both need to a place below them.",
    "unused": "Take away what nothing uses.",
}


class Rules(Struct, frozen=True):
    """Rules that hold the behaviour. `checked`: some check must run; `tests_locked`: tests must stay."""

    checked: bool = True
    tests_locked: bool = True


async def refactor_by_model(run: Run, cast: Cast, words: str, judges: Judges, rules: Rules) -> Outcome:
    """Let the refactorer do what `words` say, in the run's trial; nothing more may fail than before."""
    with run.step("before") as before:
        refusal = await _refuse(before, judges, rules)
    if refusal:
        return refusal
    role = (await cast(ROLE)).role
    if not rules.tests_locked:
        open_rules = tuple(
            rule for rule in role.policy.rules if (rule.effect, rule.decision) != ("write", "deny")
        )
        role = replace(role, policy=replace(role.policy, rules=open_rules))
    thread = Thread(THREAD)
    begin_turn(run, thread, say(words))

    async def gates(changes: Changes, claimed: Sequence[str] = (), tries: Tries = "none") -> Sequence[Gate]:
        lock = [untouched_gate({}, ())] if rules.tests_locked else []
        return [*lock, *await judges.gates(changes, claimed, tries)]

    locked = replace(judges, gates=gates)
    leg = Leg(role, thread, words)
    return await attempt(run, leg, say(words), locked, earlier=TaskProgress(compared=True))


async def _refuse(run: Run, judges: Judges, rules: Rules) -> Outcome | None:
    """Say why nothing can be refactored now; None when the checks pass."""
    checks = await judges.baseline()
    for judged in checks:
        run.emit(judged)
        if not judged.ok and not judged.figures.get("tests"):
            text = f"Nothing was changed: {judged.gate} already fails, so it cannot show what breaks."
            return Outcome("failed", text)
    if rules.checked and all(judged.skipped for judged in checks):
        text = "Nothing was changed: no test of this project could run, so nothing protects its behaviour."
        return Outcome("failed", f"{text} Name one with --check CMD, or go without: --check none.")
    if not checks:
        run.emit(Notice("Nothing checks that the behaviour stays the same.", "warning"))
    return None


# --- what the model is told ------------------------------------------------------------------


async def word_suggestion(run: Run, suggestion: RefactoringSuggestion) -> str:
    """The task: what smells, its code, and who uses it."""
    smell = suggestion.smell
    aim = _AIMS[smell.kind].format(name=smell.name)
    parts = [f"{aim}\n\n{suggestion.place}: {suggestion.text}."]
    if smell.kind in ("function", "copy"):
        text = (await run.workspace.read(smell.path)).decode("utf-8", "replace")
        rows = text.split("\n")[smell.first - 1 : smell.last][:_MOST_LINES]
        parts.append(f"{smell.path}, from line {smell.first}:\n```\n" + "\n".join(rows) + "\n```")
    callers = await _find_callers(run, suggestion) if smell.name else []
    if callers:
        parts.append("It is used here:\n" + "\n".join(callers))
    return "\n\n".join(parts)


async def _find_callers(run: Run, suggestion: RefactoringSuggestion) -> list[str]:
    name, smell = suggestion.smell.name.replace("::", ".").rpartition(".")[2], suggestion.smell
    found: list[str] = []
    for path in await files_holding(run, name, await run.workspace.files()):
        try:
            text = (await run.workspace.read(path)).decode("utf-8")
        except (TreeError, UnicodeDecodeError):
            continue
        for number, row in enumerate(text.split("\n"), 1):
            inside = path == smell.path and smell.first <= number <= smell.last
            if f"{name}(" in row and not inside:
                found.append(f"{path}:{number}: {row.strip()[:120]}")
                if len(found) == _CALLERS:
                    return found
    return found


# --- whether a test runs it ------------------------------------------------------------------


async def is_executed(run: Run, suggestion: RefactoringSuggestion, limits: ExecLimits) -> bool | None:
    """Tell whether the project's tests run a line of the smell; None when that cannot be measured."""
    files = await run.workspace.files()
    clues = await read_readable(run.workspace, choose_clues(files, ecosystems()))
    smell = suggestion.smell
    found = find_toolchains(files, clues.get, ecosystems())
    toolchains = [each for each in found if each.holds(smell.path)]
    if not toolchains:
        return None
    async with run.workspace.trial() as trial:
        report = await run_suite(run.inside(trial), toolchains[0], limits, coverage=True)
    if report.coverage is None:
        return None
    body = range(smell.first + 1, smell.last + 1)  # the first line runs when the module is loaded
    return any(line in body for line in report.coverage.ran.get(smell.path, ()))
