"""The format of llama-bench, read and written: speeds as JSON, JSON lines, CSV or a Markdown table."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from kith.core.errors import UsageError
from kith.features.measure.bench.result import BenchResult, deviation, mean
from kith.models.forecasts import Took

FORMATS: Final = ("json", "jsonl", "csv", "md")
Row = Mapping[str, Any]

_NS: Final = 1e9  # nanoseconds
# A cell of the Markdown table: "pp512 @ d4096" and "123.45 +- 0.67", with the sign that it writes.
_TEST: Final = re.compile(r"(pp|tg)(\d+)(?:\s*@\s*d(\d+))?")
_RATE: Final = re.compile(r"([\d.]+)(?:\s*±\s*([\d.]+))?")


def format_of(path: str) -> str:
    """The format that a file's name ends in. Raises UsageError for any other."""
    ending = path.rpartition(".")[2].lower()
    if ending not in FORMATS:
        raise UsageError(f"{path} must end in one of .{', .'.join(FORMATS)}, which names the format.")
    return ending


def rows_of(result: BenchResult) -> list[dict[str, Any]]:
    """A run's speeds as llama-bench's rows: reading and writing at each depth.

    Field names: README of llama.cpp's tools/llama-bench. Unlike its own, these times are of real requests.
    """
    made = datetime.fromtimestamp(result.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {
        "cpu_info": result.machine,
        "model_filename": result.model,
        "model_type": f"{result.parameters} {result.quantisation}".strip() or result.model,
        "test_time": made,
    }
    rows = []
    for speed in result.speeds:
        rows.append({**about, **_figures(speed.new, 0, speed.depth, speed.read, speed.new)})
        if speed.written:
            # The first token comes out of the reading: one less was timed.
            steps = speed.out - 1
            rows.append({**about, **_figures(0, steps, speed.depth + speed.new, speed.written, steps)})
    return rows


def _figures(prompt: int, out: int, depth: int, rates: Sequence[float], tokens: int) -> dict[str, Any]:
    times = [round(_NS * tokens / rate) for rate in rates]
    return {
        "n_prompt": prompt,
        "n_gen": out,
        "n_depth": depth,
        "avg_ns": round(mean(times)),
        "stddev_ns": round(deviation(times)),
        "avg_ts": round(mean(rates), 6),
        "stddev_ts": round(deviation(rates), 6),
        "samples_ns": times,
        "samples_ts": list(rates),
    }


def write_rows(rows: Sequence[Row], format: str) -> str:
    """The text of a file in one of FORMATS."""
    match format:
        case "json":
            return json.dumps(rows, indent=2) + "\n"
        case "jsonl":
            return "".join(json.dumps(row) + "\n" for row in rows)
        case "csv":
            return _csv(rows)
        case _:
            return _markdown(rows)


def _csv(rows: Sequence[Row]) -> str:
    # llama-bench leaves the samples out of its CSV.
    names = [name for name in (rows[0] if rows else ()) if not name.startswith("samples")]
    text = io.StringIO()
    writer = csv.DictWriter(text, names, extrasaction="ignore", quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _markdown(rows: Sequence[Row]) -> str:
    lines = ["| model | test | t/s |", "| --- | ---: | ---: |"]
    for row in rows:
        depth = f" @ d{row['n_depth']}" if row["n_depth"] else ""
        test = f"pp{row['n_prompt']}" if row["n_prompt"] else f"tg{row['n_gen']}"
        lines.append(
            f"| {row['model_type']} | {test}{depth} | {row['avg_ts']:.2f} ± {row['stddev_ts']:.2f} |"
        )
    return "\n".join(lines) + "\n"


def read_calls(text: str, format: str, where: str) -> tuple[Took, ...]:
    """Read times from a file of llama-bench. Raises UsageError naming the file if unreadable."""
    try:
        calls = tuple(took for row in _rows(text, format) for took in _calls(row))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"{where} is not what llama-bench writes: {error}.") from error
    if not calls:
        raise UsageError(f"{where} holds no row with a time of reading (pp) or of writing (tg).")
    return calls


def _calls(row: Row) -> Iterator[Took]:
    """A row as one call for each of its samples; rows that read and write in one (pg) tell neither apart."""
    prompt, out, depth = (int(row.get(name) or 0) for name in ("n_prompt", "n_gen", "n_depth"))
    times = row.get("samples_ns") or [row.get("avg_ns")]
    for time in times:
        seconds = float(time or 0) / _NS
        if seconds > 0 and prompt > 0 and not out:
            yield Took(prompt, depth, 0, seconds, 0.0)
        elif seconds > 0 and out > 0 and not prompt:
            yield Took(0, depth, out + 1, 0.0, seconds)


def _rows(text: str, format: str) -> Iterable[Row]:
    match format:
        case "json":
            rows: list[Row] = json.loads(text)
            return rows
        case "jsonl":
            return (json.loads(line) for line in text.splitlines() if line.strip())
        case "csv":
            return csv.DictReader(io.StringIO(text))
        case _:
            return _from_markdown(text)


def _from_markdown(text: str) -> Iterator[Row]:
    """Rows of the table: its two last columns are the test and the tokens a second."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        test, rate = (
            (_TEST.fullmatch(cells[-2]), _RATE.fullmatch(cells[-1])) if len(cells) > 1 else (None, None)
        )
        if test and rate and float(rate[1]) > 0:
            tokens = int(test[2])
            name = "n_prompt" if test[1] == "pp" else "n_gen"
            yield {name: tokens, "n_depth": int(test[3] or 0), "avg_ns": _NS * tokens / float(rate[1])}
