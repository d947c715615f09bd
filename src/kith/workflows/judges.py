"""Who decides about a change: the gates of a run, found when they are first needed."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from kith.core.errors import TreeError
from kith.core.events import Judged
from kith.core.run import Gate, Run, new_id
from kith.core.values import Changes, Question
from kith.core.workspace import ExecLimits, SizeLimits
from kith.gates.command import check_before, command_gate, name_command, not_allowed
from kith.gates.human import human_gate
from kith.gates.limits import limits_gate
from kith.gates.soundness import soundness_gate
from kith.gates.toolchains import Toolchain, choose_clues, find_toolchains

# Commits the applied paths of the real tree under a message.
Commit = Callable[[Sequence[str], str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Judges:
    """The gates in their order, then the person.

    `baseline` runs the checks on the untouched tree, so that an old failure can be told from a new one.
    `must_check`: the person named a check, so it runs even when nothing was changed. `review`: a model's
    notes on the change are told beside it. `audit` looks once more at what the gates let pass. `named`: files
    that run by themselves, as patterns, which the person allowed to change beforehand. `ending` is asked
    whenever the model has ended its work, whether or not it changed anything.
    """

    gates: Callable[[], Awaitable[Sequence[Gate]]]
    baseline: Callable[[], Awaitable[Sequence[Judged]]]
    person: Gate
    commit: Commit
    must_check: bool = False
    review: bool = False
    audit: Callable[[Run, Changes], Awaitable[None]] | None = None
    named: Sequence[str] = ()
    ending: Gate | None = None


@dataclass(frozen=True, slots=True)
class Checking:
    """What to check with: `commands` (None: what the project itself offers), their limits, the change's size.

    `trusted`: the person named the commands, so they need no question even without a sandbox. `named`: the
    files that run by themselves and may change without a warning.
    """

    commands: tuple[str, ...] | None
    trusted: bool
    limits: ExecLimits
    sizes: SizeLimits
    named: Sequence[str] = ()


def make_judges(run: Run, checking: Checking, commit: Commit) -> Judges:
    """The judges of a run on `run.workspace`, the person's own tree."""
    found = checking.commands is None
    home = run.workspace if run.workspace.confined else None  # a copy of a whole tree is dear
    answers: dict[str, bool] = {}

    async def may_run(check: Toolchain) -> bool:
        if run.workspace.confined or (checking.trusted and not found):
            return True
        if check.test not in answers:
            text = f"Run `{check.test}` without a sandbox? It runs this project's code on your machine."
            answer = await run.ask(Question(new_id(), "trust", text, ("yes", "no")))
            answers[check.test] = answer.choice == "yes"
        return answers[check.test]

    async def checks() -> list[Toolchain]:
        if checking.commands is not None:
            return [name_command(command) for command in checking.commands]
        return list(await find_project_toolchains(run))

    async def gates() -> list[Gate]:
        chosen: list[Gate] = [limits_gate(checking.sizes), soundness_gate()]
        for check in await checks():
            ask = command_gate(check, checking.limits, found, home)
            chosen.append(ask if await may_run(check) else not_allowed(check))
        return chosen

    async def baseline() -> list[Judged]:
        return [
            await check_before(run, check, checking.limits, found)
            for check in await checks()
            if await may_run(check)
        ]

    person = human_gate(named=checking.named)
    must_check = bool(checking.commands)
    return Judges(gates, baseline, person, commit, must_check=must_check, named=checking.named)


async def find_project_toolchains(run: Run) -> tuple[Toolchain, ...]:
    """The toolchains of the tree that `run.workspace` is, by its own files."""
    files = await run.workspace.files()
    contents: dict[str, bytes] = {}
    for path in choose_clues(files):
        with suppress(TreeError):  # a link to nowhere, a folder: it says nothing of checks
            contents[path] = await run.workspace.read(path)
    return find_toolchains(files, contents.get)
