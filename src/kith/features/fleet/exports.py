"""The report of a batch as text, Markdown, CSV and JSON."""

import csv
import io
from collections.abc import Iterator
from typing import Final

import msgspec

from kith.core.numbers import dollars
from kith.features.fleet.batches import Report, RunRow, failures_first
from kith.view.document import DataTable, inert, markdown
from kith.view.lines import count

_COLUMNS: Final = (
    *("key", "state", "verdict", "code", "reason", "attempts", "worker", "repository", "request", "model"),
    *("seconds", "turns", "read", "written", "usd", "files", "added", "removed", "published", "unpublished"),
)


def as_json(report: Report) -> str:
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode()


def as_csv(report: Report) -> str:
    """One row a task, in the order of its keys."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(_COLUMNS)
    for run in report.runs:
        writer.writerow([_cell(getattr(run, name)) for name in _COLUMNS])
    return out.getvalue()


def _cell(value: object) -> object:
    """A value that no spreadsheet takes for a formula."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t")):
        return f"'{value}"
    return "" if value is None else value


def summary_lines(report: Report) -> Iterator[str]:
    """A batch in a few lines: solved, verdicts, cost, and what failed."""
    batch = report.batch
    share = f"{report.solved} of {batch.done} solved"
    if batch.done:
        share += f" (95 % interval {report.solved_low:.0%} to {report.solved_high:.0%})"
    yield f"{batch.name} ({batch.id}): {share}"
    verdicts = [f"{number} {verdict}" for verdict, number in sorted(report.verdicts.items())]
    if verdicts:
        yield f"Changes: {', '.join(verdicts)}"
    open_runs = [(batch.waiting, "waiting"), (batch.running, "running")]
    others = [*open_runs, (batch.set_aside, "set aside"), (batch.cancelled, "cancelled")]
    if rest := ", ".join(f"{number} {what}" for number, what in others if number):
        yield f"Others: {rest}"
    longest = f", longest task {report.seconds:.0f} s" if report.seconds is not None else ""
    money = f", {dollars(report.usd)}" if report.usd else ""
    yield f"Tokens: {report.read:,} read, {report.written:,} written{money}{longest}"
    for reason, number in sorted(report.failures.items(), key=lambda each: -each[1])[:5]:
        yield f"Failed {number} times: {reason}" if number > 1 else f"Failed: {reason}"


def run_line(run: RunRow) -> str:
    """One task in a line."""
    state = run.verdict or run.state if run.state == "done" else run.state
    files = f", {count(run.files, 'file')}, +{run.added} -{run.removed}" if run.files else ""
    seconds = f", {run.seconds:.0f} s" if run.seconds is not None else ""
    tries = f", attempt {run.attempts}" if run.attempts > 1 else ""
    why = f": {run.reason}" if run.reason and (run.code or run.state == "set aside") else ""
    branch = f", {run.published}" if run.published else ""
    lost = f" (not published: {run.unpublished})" if run.unpublished else ""
    return f"{run.key}  {state}{files}{seconds}{tries}{branch}{why}{lost}"


def as_text(report: Report) -> str:
    lines = [*summary_lines(report), "", *map(run_line, failures_first(report.runs))]
    return "\n".join(lines) + "\n"


def as_markdown(report: Report) -> str:
    rows = [
        (
            run.key,
            run.verdict if run.state == "done" else run.state,
            str(run.files),
            f"+{run.added} -{run.removed}",
            "" if run.seconds is None else f"{run.seconds:.0f} s",
            str(run.attempts),
            run.reason,
        )
        for run in failures_first(report.runs)
    ]
    summary = "\n".join(f"- {inert(line)}" for line in summary_lines(report))
    table = DataTable(("task", "verdict", "files", "lines", "time", "tries", "reason"), rows)
    return f"# {inert(report.batch.name)}\n\n{summary}\n\n{markdown(table)}\n"
