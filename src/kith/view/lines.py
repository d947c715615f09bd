"""Events in words: one calm line each, the same in every face."""

import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import IO

from kith.core.decisions import Delegated, Routed
from kith.core.events import (
    Advanced,
    Applied,
    Delta,
    Event,
    Judged,
    Notice,
    Planned,
    Progress,
    Proposed,
    Reviewed,
    RunEnded,
    Stepped,
    Tasked,
    TodoSet,
    ToolBegan,
    ToolEnded,
)
from kith.core.evidence import CheckEvidence, Standing
from kith.core.numbers import dollars
from kith.core.values import BuildTask, Finding, Plan, Ran, TodoItem
from kith.memory.applied import short_id
from kith.view.printing import printable

STYLES = {"tool": "dim", "note": "yellow", "bad": "red", "good": "green", "plain": ""}
WIDTH = 80  # columns that any terminal has
_BAR = 16  # columns
_FINDINGS = 10  # of a review, shown beside a diff
_PLACES = 3  # that a command reached, on its line
_STEPS = {
    ("plan", "faulty"): ("bad", "  ✗ the architect's tasks are sent back: {why}"),
    ("next", "task"): ("plain", "Task {task}"),
    ("lock", "locked"): ("good", "  ✓ its tests fail as they should, and are locked now"),
    ("lock", "wrong"): ("tool", "  · the tests are sent back"),
    ("review", "advised"): ("tool", "  · reviewer: {why}"),
    ("weigh", "kept"): ("good", "  ✓ the refiner's change is kept"),
    ("weigh", "discarded"): ("tool", "  · the refiner's change is thrown away: {why}"),
}
_STATUS = {"plan": "planning"} | dict.fromkeys(
    ("measure", "lock", "check", "weigh", "finish"), "running tests and gates"
)
_PLURAL = ("tests", "types", "secrets", "limits")  # gates
_MARKS = {"pending": "[ ]", "active": "[>]", "done": "[x]"}


def line_of(event: Event, undo: str = "kith undo") -> tuple[str, str]:
    """The event as (a key of STYLES, line); the line is "" for what a person need not see.

    Lines hold foreign text as it is: who shows one makes it `printable` first.
    """
    match event:
        case ToolEnded():
            return _tool_line(event)
        case Judged():
            return _judged_line(event)
        case Planned(plan):
            return ("plain", plan_text(plan))
        case Tasked(tasks):
            return ("plain", tasks_text(tasks))
        case Advanced():
            return _advanced_line(event)
        case TodoSet(items):
            return ("tool", todo_text(items))
        case Applied(change_id=id, files=files, undoes=undoes):
            verb = "Undone" if undoes else "Applied"
            return ("good", f"{verb} {count(len(files), 'file')}.  Take it back: {undo} {short_id(id)}")
        case Reviewed(findings):
            return ("note", findings_text(findings))
        case Delegated() | Routed():
            return _delegated_line(event) if isinstance(event, Delegated) else _routed_line(event)
        case RunEnded("interrupted", text):
            return ("bad", text)
        case Notice(text, level):
            return ("note", f"  ! {text}") if level == "warning" else ("tool", f"  · {text}")
        case _:
            return ("", "")


def status_of(event: Event) -> str | None:
    """What is going on now, for a status line; None when the event says nothing about it."""
    match event:
        case Stepped(state="began", kind=kind):
            return _STATUS.get(kind, "waiting for the model")
        case Progress(what, done, total):
            return _progress(what, done, total)
        case ToolBegan(name=name, target=target):
            return printable(f"{name} {_first_line(target)}")[:60].strip()
        case ToolEnded():
            return "thinking"
        case Delta(kind="thinking"):
            return "thinking"
        case Delta():
            return "writing"
        case Proposed(files) if files:
            return "checking"
        case _:
            return None


def _progress(what: str, done: int, total: int) -> str:
    """`reading, about 12 s left: 4,096 of 9,000 tokens`, or only what is waited for."""
    if what == "asked":
        return "waiting for the model"
    if not done and not total:
        return what
    unit = " tokens" if what.startswith("reading") else ""
    if not total or (not done and "loading" not in what):
        return f"{what}: {done or total:,}{unit}"
    bar = "━" * max(0, min(_BAR, _BAR * done // total))
    how_far = f"{100 * done // total}%" if "loading" in what else f"{done:,} of {total:,}{unit}"
    return f"{what}  {bar:╌<{_BAR}}  {how_far}"


def _tool_line(event: ToolEnded) -> tuple[str, str]:
    if event.ok and event.name in ("todo", "done", "delegate"):
        return ("", "")  # the list, the summary and the errand are shown for themselves
    took = f"  {event.seconds:.1f} s" if event.seconds >= 0.1 else ""
    said = f"{event.name:<6} {_first_line(event.line)}"
    if event.ran is not None:
        said = f"$ {_first_line(event.ran.command)}  exit {event.ran.code}{_network(event.ran)}"
    return ("tool" if event.ok else "bad", f"  {'·' if event.ok else '!'} {said}{took}")


def _network(ran: Ran) -> str:
    """`  network: pypi.org:443 125 kB, refused evil.org:443 (not allowed)`; nothing where nothing was."""
    places = [
        f"refused {each.place or 'a request'} ({each.refused})"
        if each.refused
        else f"{each.place} {(each.sent + each.received) // 1000:,} kB"
        for each in ran.reached
    ]
    more = [f"and {len(places) - _PLACES} more"] if len(places) > _PLACES else []
    return f"  network: {', '.join([*places[:_PLACES], *more])}" if places else ""


def _routed_line(event: Routed) -> tuple[str, str]:
    """`  · route: qwen3:8b -> checks -> claude  (...)`, where there was a choice; or who takes over."""
    if event.after:
        return ("note", f"  → {event.plan[0]} takes over from {event.after}: {_first_line(event.why)}")
    if event.by != "router" or len(event.table) < 2 > len(event.plan):
        return ("", "")
    why = f"  ({_first_line(event.why)})" if event.why else ""
    return ("tool", f"  · route: {' -> checks -> '.join(event.plan)}{why}")


def _delegated_line(event: Delegated) -> tuple[str, str]:
    """`  ↘ claude gave qwen3 "rename the flag": done, verified: `pytest` ...."""
    end = f"done, verified: {event.verified}" if event.ok else "not done, and taken back"
    cost = f", {dollars(event.usd)}" if event.usd else ""
    took = f"{event.seconds:.0f} s, {event.usage.output:,} tokens{cost}"
    return ("tool", f'  ↘ {event.by} gave {event.to} "{_first_line(event.task)[:60]}": {end} ({took})')


def _judged_line(event: Judged) -> tuple[str, str]:
    if event.skipped:
        return ("tool", f"  - not checked: {event.feedback}")
    if not event.ran:
        return ("", "") if event.ok else ("bad", f"  ✗ {event.gate}: {_first_line(event.feedback)}")
    ran = event.ran[-1]
    if event.evidence and event.evidence.after and event.evidence.after.counted:
        return _counted_line(event, event.evidence)
    if event.when == "before" and event.figures.get("tests"):
        return (
            "tool",
            f"  · before the change: {_standing(event.figures)} ({event.gate}, {ran.seconds:.1f} s)",
        )
    passes, fails = ("pass", "fail") if event.gate in _PLURAL else ("passes", "fails")
    code = f" (exit {ran.code})" if ran.code else ""  # a gate may see more than the exit code
    ended = "timed out" if ran.timed_out else f"{fails}{code}"
    how = passes if event.ok else ended
    if event.when == "before":
        return ("tool", f"  · before the change {event.gate} {how}")
    fault = f"\n      {_first_line(event.feedback)}" if event.feedback else ""
    if event.ok:
        if event.evidence and event.evidence.reason in ("same_failure", "out_of_time"):
            return ("tool", f"  · {event.gate} {ended} as before the change  {ran.seconds:.1f} s{fault}")
        return ("good", f"  ✓ {event.gate} {how}  {ran.seconds:.1f} s")
    return ("bad", f"  ✗ {event.gate} {how}  {ran.seconds:.1f} s{fault}")


def _counted_line(event: Judged, evidence: CheckEvidence) -> tuple[str, str]:
    """`  ✓ pytest: 12 pass, 1 fails as before  8.2 s`, or what is broken now."""
    after = evidence.after or Standing()
    old = f", {evidence.failing.count} failing as before" if evidence.failing else ""
    fixed = f", {evidence.fixed.count} fixed" if evidence.fixed else ""
    flaky = f", {evidence.flaky.count} flaky" if evidence.flaky else ""
    why = _first_line(event.feedback)
    if event.ok and evidence.reason == "disputed":
        first = f" ({evidence.broken.first[0]})" if evidence.broken.first else ""
        stands = f"{evidence.broken.count:,} broken, which the model stands by{first}"
        return ("note", f"  ! {event.gate}: {stands}{old}{flaky}  {after.seconds:.1f} s")
    if event.ok:
        line = f"{event.gate}: {after.passed:,} pass{fixed}{old}{flaky}  {after.seconds:.1f} s"
        return ("tool", f"  · {line}\n      {why}") if evidence.reason == "unmet" else ("good", f"  ✓ {line}")
    broken = f"{evidence.broken.count:,} broken" if evidence.broken else "not there yet"
    return ("bad", f"  ✗ {event.gate}: {broken}{old}{flaky}  {after.seconds:.1f} s\n      {why}")


def _standing(figures: Mapping[str, float]) -> str:
    """`12 pass, 1 fails`, by a gate's own figures."""
    tests, failed, skipped = (int(figures.get(key, 0)) for key in ("tests", "failed", "skipped"))
    return f"{tests - failed - skipped:,} pass" + (f", {failed:,} fail" if failed else "")


def findings_text(findings: Sequence[Finding]) -> str:
    """What a review says of a change, one line each; the rest is counted."""
    lines = [
        f"  ! {each.path}:{each.line}: {_in_a_line(each.text)} ({each.by})" for each in findings[:_FINDINGS]
    ]
    more = len(findings) - _FINDINGS
    return "\n".join([*lines, f"    and {count(more, 'more finding')}"] if more > 0 else lines)


def plan_text(plan: Plan) -> str:
    """A plan, numbered, with what it takes for granted and touches."""
    lines = ["Plan"] + [f"  {n}. {_in_a_line(step)}" for n, step in enumerate(plan.steps, 1)]
    for title, items in (("Assumes", plan.assumptions), ("Reads", plan.read), ("Changes", plan.modify)):
        if items:
            lines.append(f"  {title}: " + "; ".join(map(_in_a_line, items)))
    return "\n".join(lines)


def tasks_text(tasks: tuple[BuildTask, ...]) -> str:
    """The tasks of a build, with what holds when each is done."""
    lines = ["Tasks"]
    for task in tasks:
        after = f"  (after {', '.join(task.after)})" if task.after else ""
        lines.append(f"  {task.id}. {_in_a_line(task.title)}{after}")
        lines += [f"     - {_in_a_line(criterion)}" for criterion in task.criteria]
    return "\n".join(lines)


def _advanced_line(event: Advanced) -> tuple[str, str]:
    """What a person should see of a build's finished step; the gates have lines of their own."""
    style, words = _STEPS.get((event.step, event.outcome), ("", ""))
    why = _first_line(event.text)
    return (style, words.format(task=event.task, why=why)) if words else ("", "")


def todo_text(items: tuple[TodoItem, ...]) -> str:
    """The TODO list, one line an item."""
    return "\n".join(f"  {_MARKS[item.state]} {_in_a_line(item.text)}" for item in items)


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def wrapped(text: str, stream: IO[str], indent: str = "") -> str:
    """Foreign text for a stream: made printable and broken between words on a terminal, else as it is.

    What is broken goes on at `indent`, or where its line began if that is deeper.
    """
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    lines = (_broken(line, width, indent) for line in printable(text).split("\n"))
    return "\n".join(part for parts in lines for part in parts)


def brief(task: str, beside: int, least: int = 30) -> str:
    """The beginning of a task, as much of it as fits on the line; `beside` are the columns already taken."""
    room = shutil.get_terminal_size().columns - beside if sys.stdout.isatty() else 0
    return textwrap.shorten(printable(task), max(room, least) if room else 60, placeholder=" ...")


def paragraph(
    text: str, first: str = "", others: str = "", *, width: int = WIDTH, most: int | None = None
) -> list[str]:
    """Text on at most so many lines, begun with `first` and gone on at `others`; a path stays whole."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=others,
        max_lines=most,
        placeholder=" ...",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _broken(line: str, width: int, indent: str) -> list[str]:
    """One line on as many as it takes; a word such as a command's option or a path stays whole."""
    if len(line) <= width:
        return [line]
    own = line[: len(line) - len(line.lstrip(" "))]
    return textwrap.wrap(
        line.lstrip(" "),
        width,
        initial_indent=own,
        subsequent_indent=max(indent, own, key=len),
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )


def from_home(path: str) -> str:
    """A path with `~` for the person's own folder."""
    home = os.path.expanduser("~/")  # noqa: PTH111  (Path.home() raises for users without a name)
    return f"~/{path[len(home) :]}" if path.startswith(home) else path


def _in_a_line(text: str) -> str:
    """A model's words without line breaks, behind which others could look like kith's own."""
    return " ".join(text.split())


def _first_line(text: str) -> str:
    return text.strip().split("\n")[0]
