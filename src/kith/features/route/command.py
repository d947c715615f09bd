"""`kith why`: which models a task went to, what else was weighed, and how it went afterwards."""

import argparse
import json
import textwrap
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from kith.agent.project import Project
from kith.core.codec import encode
from kith.core.decisions import Routed
from kith.core.errors import EXIT_DONE, UsageError
from kith.core.events import Applied, Called, Event, Judged, RunEnded, RunStarted
from kith.core.numbers import dollars
from kith.memory.applied import holds
from kith.memory.database import Record
from kith.memory.log import Log
from kith.terminal.options import find_root
from kith.view.lines import count, paragraph
from kith.view.printing import printable

# What was decided about models in a session, why, and how it went afterwards: read from the log.


class Decided(Struct):
    """One task, or one role's part of a build: the decision, who took over, and what it came to.

    `at` is in seconds since the epoch; `words` are the task's, `part` the step of a build.
    """

    at: float
    words: str
    part: str
    first: Routed
    later: list[Routed] = field(default_factory=list)
    calls: list[Called] = field(default_factory=list)
    verdicts: list[Judged] = field(default_factory=list)
    ended: RunEnded | None = None
    change: str = ""

    @property
    def usd(self) -> float | None:
        """The cost in US dollars; None where no call has a price."""
        known = [call.usd for call in self.calls if call.usd is not None]
        return sum(known) if known else None

    @property
    def models(self) -> tuple[str, ...]:
        """The models asked, in the order of their first answers."""
        return tuple(dict.fromkeys(call.model for call in self.calls))


def read_decisions(log: Log, session: str) -> list[Decided]:
    """The decisions of a session, in their order."""
    found: list[Decided] = []
    task: list[Decided] = []  # those of the present one; a build has many
    words = ""
    for record in log.events(session):
        match record.event:
            case RunStarted() as started:
                words, task = started.task, []
            case Routed() as routed if not routed.after or not task:
                task.append(Decided(record.at, words, "/".join(record.path), routed))
                found.append(task[-1])
        _take(task, record)
    return found


def _take(task: Sequence[Decided], record: Record) -> None:
    """An event, for the decision in whose part of the task it happened, or for all."""
    event: Event = record.event
    own = [each for each in task if each.part in ("", *record.path[:1])][-1:]
    match event:
        case RunEnded():
            for each in task:
                each.ended = event
        case Applied(undoes=""):
            for each in task:
                each.change = event.change_id
        case Routed() if event.after:
            for each in own:
                each.later.append(event)
        case Called():
            for each in own:
                each.calls.append(event)
        case Judged(when="after") if event.ran:  # a build checks in a step of its own
            for each in own or task[-1:]:
                each.verdicts.append(event)


def find_session(log: Log, wanted: str, sessions: Sequence[str]) -> str:
    """The session whose id begins with `wanted`; "" or "last": the newest of `sessions` with a decision.

    Raises UsageError.
    """
    if wanted not in ("", "last"):
        return log.find(wanted)
    for session in sessions:
        if any(isinstance(record.event, Routed) for record in log.events(session)):
            return session
    raise UsageError("No model was chosen here yet. Start a task with: kith run.")


def describe_decision(decided: Decided, undone: bool) -> dict[str, Any]:
    """A decision as plain data; `undone`: its change was undone since."""
    first, ended = decided.first, decided.ended
    return {
        "at": decided.at,
        "task": decided.words,
        "part": decided.part,
        **encode(first),
        "first_plan": _first_plan(first),
        "escalations": [{"after": each.after, "to": each.plan[0], "why": each.why} for each in decided.later],
        "outcome": {
            "status": ended.status if ended else "unfinished",
            "text": ended.text if ended else "",
            "models": list(decided.models),
            "verified": decided.verdicts[-1].ok if decided.verdicts else None,
            "applied": decided.change or None,
            "undone": undone,
            "calls": len(decided.calls),
            "seconds": round(sum(call.timing.total_s for call in decided.calls), 3),
            "usd": decided.usd,
        },
    }


def _first_plan(decision: Routed) -> dict[str, float] | None:
    """Compare the plan that was decided first: what more it would have taken; None if unknown."""
    row = next((row for row in decision.table if tuple(row["plan"]) == decision.plan), None)
    if not decision.down or not decision.down[0].plan_s or row is None:
        return None
    first = decision.down[0]
    return {"usd": first.usd - row["usd"], "seconds": first.plan_s - row["seconds"]}


_WIDTH = 78  # columns, of the 80 that any terminal has
_PLAN = 30  # columns of the plan in the table
_BY = {"router": "chosen by kith", "person": "chosen by you", "rule": "no choice"}


def why_command(args: argparse.Namespace) -> int:
    """The decisions of a session, the last one if none is named."""
    project = Project.open(find_root(args.folder), {})
    shown = show_why(project, args.id or "last")
    if args.json:
        print(json.dumps(shown, indent=2))
    else:
        print(printable("\n\n".join(why_text(each) for each in shown["decisions"])))
    return EXIT_DONE


def show_why(project: Project, wanted: str = "last") -> dict[str, Any]:
    """The decisions of the session whose id begins with `wanted`, as plain data. Raises UsageError."""
    session = find_session(project.log, wanted, [each.id for each in project.sessions()])
    found = read_decisions(project.log, session)
    if not found:
        raise UsageError(f"In session {session} no model was chosen.")
    applied = project.log.applied(str(project.root))
    shown = [describe_decision(each, bool(each.change) and not holds(applied, each.change)) for each in found]
    return {"session": session, "decisions": shown}


def why_text(shown: dict[str, Any]) -> str:
    """One decision: a line of what was chosen, why, the plans that were weighed, and how it went."""
    when = datetime.fromtimestamp(shown["at"]).strftime("%Y-%m-%d %H:%M")
    head = textwrap.shorten(" ".join([shown["part"], shown["task"]]).strip(), _WIDTH - 18, placeholder=" ...")
    lines = [f"{when}  {head}", f"  {_plan(shown['plan'])}   ({_how(shown)})"]
    lines += _indented(shown["why"])
    if shown["table"]:
        lines += ["", *_table(shown), ""]
    lines += _indented(_outages(shown)) if shown["down"] else []
    for each in shown["escalations"]:
        lines += _indented(f"{_short(each['after'])} gave up: {each['why']}")
        lines.append(f"    -> {_short(each['to'])} took over")
    return "\n".join([*lines, *_indented(_outcome(shown["outcome"]))])


def _outages(shown: dict[str, Any]) -> str:
    """`qwen3:8b could not be reached (2 s lost); the first plan would have taken about 20 s more`."""
    lost = ", ".join(
        f"{_short(each['model'])} could not be reached ({each['seconds']:.0f} s lost)"
        for each in shown["down"]
    )
    more = shown["first_plan"] or {"usd": 0.0, "seconds": 0.0}
    usd, seconds = more["usd"], more["seconds"]
    parts = [_more_or_less(usd, dollars(abs(usd)))] if abs(usd) >= 0.0005 else []
    parts += [_more_or_less(seconds, f"{abs(seconds):.0f} s")] if abs(seconds) >= 0.5 else []
    return f"{lost}; the first plan would have taken about {' and '.join(parts)}" if parts else lost


def _more_or_less(difference: float, words: str) -> str:
    return f"{words} {'more' if difference > 0 else 'less'}"


def _how(shown: dict[str, Any]) -> str:
    chance = shown["propensity"]
    likely = f", with chance {chance:.0%}" if chance < 1 else ""
    kind = f"{shown['kind']}, " if shown["kind"] else ""
    return f"{kind}{_BY.get(shown['by'], shown['by'])}{likely}"


def _table(shown: dict[str, Any]) -> list[str]:
    """The plans that were weighed, the best first; the chosen one has a star.

    The counts (an interval in percent, and outcomes) are one model's: shown where that is alone.
    """
    head = f"    {'plan':{_PLAN}} {'worth':>6} {'solves':>6} {'counted':>8} {'n':>4}"
    rows = (_row(row, tuple(row["plan"]) == tuple(shown["plan"])) for row in shown["table"])
    return [f"{head} {'seconds':>8} {'usd':>8}", *rows]


def _row(row: dict[str, Any], chosen: bool) -> str:
    plan = textwrap.shorten(_plan(row["plan"], " -> "), _PLAN, placeholder=" ...")
    counted = number = ""
    if len(row["plan"]) == 1 and row["n"]:
        low, high = row["interval"]
        counted, number = f"{low * 100:.0f}-{high * 100:.0f} %", f"{row['n']:.0f}"
    figures = f"{row['worth']:6.2f} {row['solves']:6.0%} {counted:>8} {number:>4}"
    return f"  {'*' if chosen else ' '} {plan:{_PLAN}} {figures} {row['seconds']:8.0f} {row['usd']:8.4f}"


def _outcome(outcome: dict[str, Any]) -> str:
    """`done by claude, checks passed, applied, and undone since; 5 calls, 61 s, $0.0120`."""
    models = [_short(name) for name in outcome["models"]]
    done = outcome["status"] == "done"
    said = [
        f"{outcome['status']}{' by' if done else ', work of'} {models[-1]}" if models else outcome["status"]
    ]
    if outcome["verified"] is not None:
        said.append("checks passed" if outcome["verified"] else "checks failed")
    if outcome["applied"]:
        said.append("applied, and undone since" if outcome["undone"] else "applied")
    money = "" if outcome["usd"] is None else f", {dollars(outcome['usd'])}"
    return f"{', '.join(said)}; {count(outcome['calls'], 'call')}, {outcome['seconds']:.0f} s{money}"


def _plan(plan: list[str], arrow: str = " -> checks -> ") -> str:
    return arrow.join(map(_short, plan)) or "nobody"


def _short(name: str) -> str:
    """A model's name without where it runs."""
    return name.rstrip("/").rpartition("/")[2]


def _indented(text: str) -> list[str]:
    return paragraph(text, "  ", "  ", width=_WIDTH)
