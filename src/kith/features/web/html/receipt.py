"""The receipt: what was really done, as the log tells it and no model."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kith.core.numbers import dollars
from kith.features.web.html.entries import read_event
from kith.features.web.html.meter import took
from kith.features.web.html.outputs import clipped
from kith.memory.applied import short_id
from kith.memory.live import Seen
from kith.memory.past import fold
from kith.memory.receipt import describe_run
from kith.view.evidence import evidence_lines, read_evidence
from kith.view.lines import count
from kith.view.markup import NOTHING, Html, element, joined
from kith.view.meter import Meter

# What a receipt is made of; calls are summed up by the meter.
KINDS: Final = frozenset(
    ("Applied", "Judged", "Notice", "Proposed", "Reviewed", "RunEnded", "RunStarted", "Stepped", "ToolEnded")
)
_MOST: Final = 100  # commands in a receipt; the steps show all
_WORDS: Final = {
    "done": "Done",
    "failed": "Not done",
    "rejected": "Nothing was applied",
    "held": "Held back",
    "limit": "Stopped at a limit",
    "unavailable": "No model could be asked",
    "interrupted": "Interrupted",
    "unfinished": "Not finished",
}


def word_status(status: str) -> str:
    """How a task ended, for a heading."""
    return _WORDS.get(status, status.capitalize())


def describe(session: str, seen: Iterable[Seen]) -> dict[str, Any]:
    """The receipt of a task as plain data, from those of its events that are of KINDS."""
    return describe_run(session, fold(map(read_event, seen)))


def receipt_html(report: Mapping[str, Any] | None, meter: Meter | None = None) -> Html:
    """The section `receipt`, hidden until the task is over."""
    if report is None:
        return element("section", id="receipt", hidden=True)
    parts = [element("h2", f"Receipt: {word_status(report['status'])}"), *_parts(report)]
    return element("section", *parts, _cost(meter or Meter()), id="receipt", class_="panel")


def _parts(report: Mapping[str, Any]) -> Iterator[Html]:
    receipt = report["receipt"]
    yield _files(report)
    evidence = read_evidence(report)
    checked = evidence is not None and evidence.checks
    yield _list("Evidence", evidence_lines(evidence) if evidence else ())
    yield _list("Tests and checks", () if checked else _checks(receipt["checks"]))
    yield _list("Not checked", receipt["not_checked"] if report["changes"] else (), "warn")
    yield _list("Warnings", receipt["warnings"], "warn")
    yield _commands(receipt["commands"])


def _commands(commands: Sequence[Mapping[str, Any]]) -> Html:
    """What the model ran, folded; of very many, the last ones."""
    if not commands:
        return NOTHING
    last = f", the last {_MOST} of them" if len(commands) > _MOST else ""
    summary = element("summary", f"{count(len(commands), 'command')} by the model{last}")
    rows = (element("li", _command(each)) for each in commands[-_MOST:])
    return element("details", summary, element("ul", *rows))


def _files(report: Mapping[str, Any]) -> Html:
    changes = report["changes"]
    if not changes:
        return element("p", "No file was changed.")
    how = "changed" if report["applied"] else "proposed, not changed"
    undo: Sequence[str] = ()
    if report["applied"]:
        undo = (", to take it back: ", element("code", f"kith undo {short_id(report['applied'])}"))
    head = element("p", f"{count(len(changes), 'file')} {how}", *undo, ".")
    return joined((head, files_html(changes)))


def files_html(files: Iterable[Mapping[str, Any]]) -> Html:
    """Changed files with their numbers of lines."""
    rows = (
        element(
            "li",
            element("code", clipped(file["path"], 400)),
            element("span", f" +{file['added']}", class_="good"),
            element("span", f" -{file['removed']}", class_="bad"),
        )
        for file in files
    )
    return element("ul", *rows, class_="files")


def _list(title: str, rows: Iterable[str], kind: str | None = None) -> Html:
    items = [element("li", row) for row in rows]
    return joined((element("h3", title), element("ul", *items, class_=kind))) if items else NOTHING


def _checks(checks: Mapping[str, Any]) -> Iterator[str]:
    """Each check of the change as it was proposed, and what the same one said before it."""
    before = {each["gate"]: each["ok"] for each in checks["before"]}
    for each in checks["after"]:
        if not each["of_this_change"]:
            continue
        gate, codes = each["gate"], ", ".join(_exit(command) for command in each["commands"])
        was = f"; before the change: {_passed(before[gate])}" if gate in before else ""
        yield f"{gate}: {_passed(each['ok'])} ({codes}){was}"


def _exit(command: Mapping[str, Any]) -> str:
    return f"{clipped(command['command'])} → exit {command['exit_code']}, {command['seconds']:.1f} s"


def _passed(ok: bool) -> str:
    return "passed" if ok else "failed"


def _command(command: Mapping[str, Any]) -> Html:
    code = command["exit_code"]
    end = element("span", f" exit {code}, {command['seconds']:.1f} s", class_="good" if code == 0 else "bad")
    return joined((element("code", clipped(command["command"], 400)), end))


def _cost(meter: Meter) -> Html:
    money = f", {dollars(meter.usd)} by the table of prices" if meter.usd else ""
    read = f"{meter.read:,} tokens read, {meter.written:,} written"
    words = f"{took(meter.last - meter.began)}; {count(meter.calls, 'call')}, {read}{money}."
    return element("p", words, class_="dim")
