"""The receipt of a task, and the meter of its cost, as the log tells it and no model."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kith.core.numbers import dollars
from kith.features.web.html.outputs import clipped
from kith.view.evidence import evidence_lines, read_evidence
from kith.view.lines import count, figure
from kith.view.markup import NOTHING, Html, element, joined
from kith.view.meter import Meter
from kith.view.wording import word_result

_MOST: Final = 100  # commands in a receipt; the steps show all


def receipt_html(report: Mapping[str, Any] | None) -> Html:
    """The section `receipt`, hidden until the task is over; the meter tells what the task took."""
    if report is None:
        return element("section", id="receipt", hidden=True)
    parts = [element("h2", f"Receipt: {word_result(report['status'])}"), *_parts(report)]
    return element("section", *parts, id="receipt", class_="panel")


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
    """The model's commands, folded; of very many, the last ones."""
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
    head = element("p", f"{count(len(changes), 'file')} {how}.")
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


# --- the meter -------------------------------------------------------------------------------


def meter_html(meter: Meter) -> Html:
    """The section `meter`."""
    rows = (joined((element("dt", name), element("dd", value))) for name, value in _rows(meter))
    return element("section", element("h2", "Meter"), element("dl", *rows), id="meter", class_="panel")


def _rows(meter: Meter) -> Iterator[tuple[str, Html | str]]:
    if meter.model:
        yield "model", meter.model
    if meter.window and meter.held:
        share = element(
            "meter", value=min(meter.held, meter.window), max=meter.window, aria_label="window used"
        )
        yield "window", joined((f"{meter.held:,} of {meter.window:,} ", share))
    if meter.reused is not None:
        yield "cache hit", f"{100 * meter.reused:.0f} %"
    if meter.read_rate:
        yield "reading", f"{figure(meter.read_rate)} tokens/s"
    if meter.write_rate:
        yield "writing", f"{figure(meter.write_rate)} tokens/s"
    if meter.calls:
        yield "calls", f"{meter.calls:,}"
        yield "tokens", f"{meter.read:,} prompt, {meter.written:,} output"
    if meter.usd:
        yield "cost", f"{dollars(meter.usd)} by the table of prices"
    if meter.began:
        yield "elapsed", _elapsed(meter)


def _elapsed(meter: Meter) -> Html:
    """Seconds of the task; while it runs, the page may count on from `data-since`."""
    since = f"{meter.began:.3f}" if meter.running else None
    return element("time", took(meter.last - meter.began), class_="elapsed", data_since=since)


def took(seconds: float) -> str:
    """`4.2 s`, `3 min 5 s`, `2 h 10 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
