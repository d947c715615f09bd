"""Work that a cloud model hands to a local one: who there is, the tool, and one errand."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.asking.roles import find_role, make_player
from kith.agent.asking.terms import Terms
from kith.agent.attempt import land_edits
from kith.agent.roles import Player
from kith.context.budget import estimate_tokens
from kith.core.decisions import Delegated
from kith.core.errors import KithError, LimitError, ModelError, NoModelError, TreeError
from kith.core.loop import begin_turn, converse
from kith.core.model import Billed, Role, Tool
from kith.core.run import Run, Thread, new_id, nobody_speaks
from kith.core.values import CallTarget, Changes, Charge, Ran, ToolResult, Usage, say
from kith.core.workspace import ExecLimits, ShellCommand, Trial
from kith.edits import summarise
from kith.features.measure.measured_rows import read_measured
from kith.features.measure.speed_and_success import describe_models
from kith.features.route.choose import measured_name
from kith.features.route.errands import Pace, tell_bill
from kith.memory.queries import delegated_since
from kith.models.account import Budget
from kith.models.stack import Opened
from kith.tools import ReadLimits, standard_tools
from kith.tools.answers import in_words, refused, told

# Work given to another model: who there is and how well each does, and one piece of work handed over.

# The models that work can be given to, with what was measured of each, as text; also the time that an errand
# of so many tokens takes (0: any errand).
Describe = Callable[[int], Awaitable[str]]


class Errand(Struct, frozen=True):
    """A piece of work for another model. `check`: a command that succeeds when it is done, "" for none."""

    model: str
    task: str
    context: str = ""
    check: str = ""


class Returned(Struct, frozen=True):
    """The result of an errand, for the model that gave it, and as a line for people."""

    ok: bool
    text: str
    line: str


Entrust = Callable[[Errand, Run], Awaitable[Returned]]


def make_delegation(describe: Describe, entrust: Entrust) -> tuple[Tool, Tool]:
    """`models` tells who there is, `delegate` gives one of them work in the same trial."""

    async def tell(args: Mapping[str, Any], run: Run) -> ToolResult:
        text = "\n\n".join(str(args[key]) for key in ("task", "context") if args.get(key))
        table = await describe(estimate_tokens(text))
        return told(table, f"{max(len(table.splitlines()) - 1, 0)} rows")

    @in_words
    async def delegate(args: Mapping[str, Any], run: Run) -> ToolResult:
        errand = Errand(*(str(args.get(key, "")).strip() for key in ("model", "task", "context", "check")))
        if not errand.task:
            return refused("task is empty: say what is to be done, and how one sees that it is.")
        returned = await entrust(errand, run)
        return told(returned.text, returned.line) if returned.ok else refused(returned.text)

    texts = {name: {"type": "string"} for name in ("model", "task", "context", "check")}
    asked = {"type": "object", "properties": {name: texts[name] for name in ("task", "context")}}
    work = {"type": "object", "properties": texts, "required": ["model", "task"]}
    return (
        Tool(
            "models",
            "List the local models and what was measured of each; with task and context, the time for that.",
            asked,
            "read",
            tell,
        ),
        Tool(
            "delegate",
            "Let a local model do one small, closed task in this trial. context: what it must know; it sees "
            "nothing of this conversation. check: a command that succeeds when it is done.",
            work,
            "write",
            delegate,
            lambda args: CallTarget(str(args.get("model", ""))),
        ),
    )


TRIES = 2  # the check's no is told once
NO_SANDBOX = "No sandbox on this machine: leave check out, and look at the result yourself."
_WORDS = 2_000  # characters of an answer that go back to the giver
_OUTPUT = 1_500  # of a failing check's


class _Bill(Struct):
    """The cost of one errand's calls."""

    usage: Usage = Usage()
    usd: float | None = 0.0
    evaluated: int = 0
    read_s: float = 0.0
    write_s: float = 0.0

    def take(self, charge: Charge) -> None:
        self.usage += charge.usage
        self.evaluated += charge.evaluated
        self.read_s += charge.timing.prefill_s
        self.write_s += charge.timing.decode_s
        self.usd = None if self.usd is None or charge.usd is None else self.usd + charge.usd

    def pace(self, before: Pace) -> Pace:
        """The pace `before` this errand, at the speeds of this errand, where its server told them."""
        if self.read_s <= 0 or self.write_s <= 0:
            return before
        return replace(before, read=self.evaluated / self.read_s, write=self.usage.output / self.write_s)


async def do_errand(
    run: Run, by: str, errand: Errand, player: Player, limits: ExecLimits, pace: Pace
) -> Returned:
    """Let `player` do the errand of the model `by` in the trial that `run.workspace` is.

    A change that the errand's own check rejects twice is rolled back; one without a check stays, and is
    called unverified. Whatever the player is unable to do comes back in words, with what it took against what
    its `pace` promised.
    """
    trial = run.workspace
    if not isinstance(trial, Trial):
        return Returned(False, "There is no trial here: nothing can be handed over.", "no trial")
    if errand.check and not trial.confined:  # nobody would be asked about it, as about every other command
        return Returned(False, NO_SANDBOX, "no sandbox for its check")
    name, bill, began, mark = player.role.model.name, _Bill(), time.monotonic(), f"errand {new_id()}"
    with run.step("delegate") as step:
        deaf = replace(step, hear=nobody_speaks)  # what a person says is meant for who delegates
        role = replace(player.role, model=Billed(player.role.model, bill.take))
        before = await trial.checkpoint(mark)
        try:
            words, ran = await _work(deaf, trial, errand, role, limits)
            failed = ran is not None and ran.code != 0
        except (ModelError, NoModelError, LimitError, TreeError) as error:
            words, ran, failed = str(error), None, True
        except asyncio.CancelledError:
            await trial.go_back(mark)
            raise
        if failed:
            await trial.go_back(mark)
        changed = _difference(before, await trial.changes())
        tokens, cost = estimate_tokens(_letter(errand)), (bill.usage, bill.usd, time.monotonic() - began)
        outcome = by, name, errand.task, not failed, _verification(ran)
        over = Delegated(*outcome, *cost, tokens, round(pace.seconds(tokens), 1))
        deaf.emit(over)
    return _answer(over, words, changed, ran, tell_bill(bill.pace(pace), over))


async def _work(
    run: Run, trial: Trial, errand: Errand, role: Role, limits: ExecLimits
) -> tuple[str, Ran | None]:
    """The last words of who plays the role, and the check's last run if there is a check."""
    thread, ran = Thread(f"delegate/{new_id()}"), None
    begin_turn(run, thread, say(_letter(errand), "delegation"))
    for number in range(1, TRIES + 1):
        words = await converse(run, role, thread, number)
        landed = await land_edits(run, trial, thread, number)
        if not landed.ok:
            ran = None
            refusal, by = landed.feedback, "edits"
        else:
            ran = await trial.check(ShellCommand(errand.check), limits) if errand.check else None
            if ran is None or ran.code == 0:
                return words, ran
            refusal, by = f"`{errand.check}` ends with {ran.code}:\n{ran.output[-_OUTPUT:]}", "check"
        if number < TRIES:
            begin_turn(run, thread, say(refusal, by))
    if ran is None:
        raise ModelError(f"its edits did not apply: {refusal}")
    return words, ran


def _letter(errand: Errand) -> str:
    parts = [errand.task]
    if errand.context:
        parts.append(f"What you need to know:\n{errand.context}")
    if errand.check:
        parts.append(f"It is done when `{errand.check}` succeeds.")
    return "\n\n".join(parts)


def _difference(before: Changes, after: Changes) -> Changes:
    """Compute the errand's changes, without earlier ones."""
    known = {change.path: change.after for change in before}
    return tuple(each for each in after if each.path not in known or known[each.path] != each.after)


def _verification(ran: Ran | None) -> str:
    if ran is None:
        return "nobody"
    return f"`{ran.command}` ends with exit code {ran.code} after {ran.seconds:.1f} s"


def _answer(over: Delegated, words: str, changed: Changes, ran: Ran | None, bill: str) -> Returned:
    name, verified, said = over.to, over.verified, words.strip()[:_WORDS] or "(it said nothing)"
    if not over.ok:
        why = f"{verified}:\n{ran.output[-_OUTPUT:]}" if ran else said
        text = f"{name} did not do it, and its change was rolled back. {why}\n{bill}"
        return Returned(False, text, f"{name} did not do it")
    files = ", ".join(f"{each.path} +{each.added} -{each.removed}" for each in summarise(changed))
    rows = [f"{name} says: {said}", f"Changed: {files or 'nothing'}.", f"Verified by: {verified}.", bill]
    line = f"{name}: {files or 'an answer'}; verified by {verified}"
    return Returned(True, "\n".join(rows), line)


# What a model in the cloud may hand to the local ones: who they are, and one of them does an errand.


def delegation_tools(terms: Terms, giver: Opened) -> tuple[Tool, ...]:
    """The tools with which `giver` asks local models; what it must not see, they do not see for it."""
    project = terms.project
    names = project.settings.route.local
    logged = {name: measured_name(project.settings, name) for name in names}

    async def describe(tokens: int) -> str:
        measured = read_measured(project.log, cache=project.settings.cache)
        errands = delegated_since(project.log)
        called = dict.fromkeys(call.model for call in measured.calls)
        known = {name: _find_logged(name, logged[name], called) for name in names}
        paces = {name: Pace.of(known[name], measured.calls, errands).tell(tokens) for name in names}
        own = Pace.of(giver.facts.name, measured.calls, errands)
        yourself = f"\nYou yourself: {own.tell(tokens)}" if own.is_known else ""
        return tell_models(known, paces, describe_models(measured.legs)) + yourself

    async def entrust(errand: Errand, run: Run) -> Returned:
        if errand.model not in names:
            there = f"There is no local model {errand.model!r}; there are: {', '.join(names)}."
            return Returned(False, there, "no such model")
        try:
            async with aclosing(await terms.open(errand.model)) as opened:
                player = _player(terms, opened, giver)
                limits = ExecLimits(seconds=project.settings.check_timeout)
                calls = read_measured(project.log, cache=project.settings.cache).calls
                pace = Pace.of(opened.facts.name, calls, delegated_since(project.log))
                return await do_errand(run, giver.facts.name, errand, player, limits, pace)
        except KithError as error:
            return Returned(False, f"{errand.model} cannot be asked: {error}", "it cannot be asked")

    return make_delegation(describe, entrust)


def _find_logged(name: str, expected: str, called: Iterable[str]) -> str:
    """The name of a model in the log: as expected, else that of the last one called so on any server."""
    alike = [each for each in called if each.rpartition("/")[2] == name.rpartition("/")[2]]
    return expected if expected in alike or not alike else alike[-1]


def _player(terms: Terms, opened: Opened, giver: Opened) -> Player:
    step, limits = terms.project.settings.build, ReadLimits.of_window(opened.window)
    model = terms.wrap(opened, budget=Budget(step.step_tokens, step.step_seconds), tells=False)
    tools = terms.show(giver, standard_tools(limits=limits))
    spec, veiled = find_role("worker", terms.project.settings), terms.veils(giver)
    player = make_player(terms.project, spec, opened, model, tools, veiled=veiled)
    return replace(player, role=replace(player.role, purpose="delegated"))


def tell_models(
    logged: Mapping[str, str], paces: Mapping[str, str], rows: Sequence[Mapping[str, Any]]
) -> str:
    """Each model that may be asked, with its pace and a line for each kind of work that it was measured at.

    `logged` is the name that each has in the log.
    """
    lines = []
    for name, known in logged.items():
        own = [row for row in rows if row["model"] == known]
        lines += [f"{name}: {paces[name]}", *(f"  {_measured(row)}" for row in own)]
    return "\n".join(("The local models, and how their tasks went here:", *lines))


def _measured(row: Mapping[str, Any]) -> str:
    """`edit-small: 7 of 9 solved (45 to 94 %), 12 s, 2,100 tokens`."""
    words = [f"{row['tasks']} tasks"]
    if row["judged"]:
        low, high = round(100 * row["solved_low"]), round(100 * row["solved_high"])
        words = [f"{row['solved']:.0%} of {row['judged']} solved ({low} to {high} %)"]
    if row["p50_s"] is not None:
        words.append(f"{row['p50_s']:.0f} s")
    if row["tokens"]:
        words.append(f"{row['tokens']:,.0f} tokens")
    return f"{row['kind']}: {', '.join(words)}"
