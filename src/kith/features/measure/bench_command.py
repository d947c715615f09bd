"""`kith bench`: what a model can do here and how fast, two runs side by side, and llama-bench's files."""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Final

from kith.agent.project import Project
from kith.core.errors import EXIT_DONE, KithError, UsageError
from kith.core.event_loop import run_until_signal
from kith.core.events import Answered, Asked, Event, Progress, Stepped
from kith.features.measure.bench.chart import bar_lines
from kith.features.measure.bench.llama_bench import format_of, rows_of, write_rows
from kith.features.measure.bench.result import BenchResult, LeftDepth, Score
from kith.features.measure.bench.runs import (
    BenchAllowance,
    Line,
    bench_model,
    compare,
    find_run,
    flips,
    take_over,
)
from kith.features.measure.probe_command import tell_steps
from kith.features.measure.profile_command import choose_glyphs
from kith.memory.session import Listener
from kith.terminal.options import find_root, settings_flags
from kith.terminal.streams import is_lively
from kith.terminal.terminal import choose_voice
from kith.view.lines import WIDTH, paragraph
from kith.view.printing import printable

QUICK_MINUTES, MINUTES = 1.0, 3.0
_NAMES: Final = {
    "tool calls": "tool calls",
    "search/replace": "edits: search/replace",
    "whole file": "edits: whole file",
    "diff": "edits: unified diff",
    "tasks": "small tasks with tests",
}
_WRONG: Final = 12  # lines of what went wrong


def bench_command(args: argparse.Namespace) -> int:
    """Measure models, compare two runs, or read a file of llama-bench; tables go to stdout."""
    project = Project.open(find_root(args.folder), settings_flags(args))
    models: list[str] = args.models
    if args.compare:
        if len(args.compare) != 2 or models:
            raise UsageError("--compare takes two runs: kith bench --compare A B.")
        before, after = (find_run(project, key) for key in args.compare)
        _show_comparison(before, after, args.json)
        return EXIT_DONE
    if args.output:
        format_of(args.output)  # a wrong name is better said before anything is measured
    if args.imported and len(models) > 1:
        raise UsageError("--import takes one model: that which llama-bench has measured.")
    voice, answerer, _ = choose_voice(not args.json, False)
    listeners = [_tell_parts(voice.hear)]
    results, code = list[BenchResult](), EXIT_DONE
    with closing(voice):
        if args.imported:
            name = models[0] if models else ""
            print(run_until_signal(take_over(project, name, Path(args.imported), listeners)))
            return EXIT_DONE
        minutes = args.minutes or (QUICK_MINUTES if args.quick else MINUTES)
        allowance = BenchAllowance(60.0 * minutes, args.tasks)
        for name in models or [""]:
            try:
                results.append(run_until_signal(bench_model(project, name, allowance, answerer, listeners)))
            except KithError as error:
                if len(models) < 2:
                    raise
                print(f"kith: {printable(f'{name}: {error}')}", file=sys.stderr)
                code = error.code  # the others are still measured
    _show(results, args.json)
    if args.output:
        rows = [row for result in results for row in rows_of(result)]
        Path(args.output).write_text(write_rows(rows, format_of(args.output)), "utf-8")
    return code


def _tell_parts(hear: Listener) -> Listener:
    """A listener that says what is measured, and leaves out what the model does and says meanwhile."""
    tell = tell_steps(hear, is_lively(sys.stderr))

    def listen(event: Event, path: tuple[str, ...]) -> None:
        at_work = len(path) > 1 or (path and not isinstance(event, Stepped))
        if not at_work or isinstance(event, Progress | Asked | Answered):
            tell(event, path)

    return listen


def _show(results: Sequence[BenchResult], as_json: bool) -> None:
    if as_json:
        print(json.dumps([result.facts for result in results], indent=2))
        return
    for number, result in enumerate(results):
        print("\n" * bool(number) + "\n".join(describe(result)))


def describe(result: BenchResult) -> Iterator[str]:
    """One run, in lines of 80 columns at most."""
    about = [result.quantisation, result.parameters, f"window {result.window:,}" if result.window else ""]
    yield from _wrap(printable(", ".join([result.model, *filter(None, about)])))
    yield from _wrap(f"on {printable(result.machine or 'this machine')}")
    yield from _wrap(f"{result.seconds:.0f} s, session {result.session[:8]}")
    yield from _speeds(result)
    yield from _scores(result.scores)
    wrong = [
        f"{score.name}, {each.name}: {each.why}"
        for score in result.scores
        for each in score.tried
        if each.why
    ]
    if wrong:
        yield "\nwhat went wrong"
        for line in wrong[:_WRONG]:
            yield from _wrap(printable(line), "  ", "    ", most=3)
        if len(wrong) > _WRONG:
            yield f"  and {len(wrong) - _WRONG} more: --json shows all"
    left_out = [*_left_depths(result), *result.notes, *filter(None, map(_left_out, result.scores))]
    if left_out:
        yield "\nwhat was not measured"
        for line in left_out:
            yield from _wrap(printable(line), "  ", "    ", most=3)


def _speeds(result: BenchResult) -> Iterator[str]:
    if not result.speeds:
        return
    clock = ", by the clock" if any(each.by == "clock" for each in result.speeds) else ""
    yield f"\n{'tokens before':>14}{'reads tokens/s':>22}{'writes tokens/s':>22}{clock}"
    for speed in result.speeds:
        yield f"{speed.depth:14,}{_rates(speed.read):>22}{_rates(speed.written):>22}"
    yield from bar_lines(result.speeds, choose_glyphs(sys.stdout).parts[0])


def _rates(values: Sequence[float]) -> str:
    """The mean of some rates, and how far they lie apart."""
    if not values:
        return "-"
    middle = sum(values) / len(values)
    digits = 0 if middle >= 100 else 1
    spread = f" ± {(max(values) - min(values)) / 2:,.{digits}f}" if len(values) > 1 else ""
    return f"{middle:,.{digits}f}{spread}"


def _scores(scores: Sequence[Score]) -> Iterator[str]:
    if not any(score.tried for score in scores):
        return
    yield f"\n{'':24}{'right':>10}{'95 of 100':>18}{'left out':>12}"
    for score in scores:
        share, left = score.share, str(score.left or "")
        right, where = "-", ""
        if share.interval:
            low, high = share.interval
            right, where = f"{share.good} of {share.number}", f"{low:.0%} to {high:.0%}"
        yield f"{_NAMES.get(score.name, score.name):24}{right:>10}{where:>18}{left:>12}".rstrip()


def _left_depths(result: BenchResult) -> Iterator[str]:
    """The depths without a speed, those with the same reason in one line."""
    for _, some in groupby(result.left_depths, key=lambda each: each.why):
        first, *deeper = some
        where = f"speed at {first.depth:,} tokens" + " and deeper" * bool(deeper)
        yield f"{where}: {_lack(first, result.window)}"


def _lack(left: LeftDepth, window: int) -> str:
    match left.why:
        case "window":
            return f"the window of {window:,} tokens is too small"
        case "price":
            return "each token of such prompts is paid"
        case "trouble":
            return left.trouble
        case "time":
            return "no time" + (f", it takes about {_duration(left.needed_s)}" if left.needed_s else "")


def _left_out(score: Score) -> str:
    name = _NAMES.get(score.name, score.name)
    if score.skipped:
        return f"{name}: {score.skipped}"
    if score.trouble:
        return f"{name}: {score.left} left out: {score.trouble}"
    takes = f", the next takes about {_duration(score.needed_s)}" if score.needed_s else ""
    return f"{name}: no time for {score.left} more{takes}" if score.left else ""


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


# --- two runs --------------------------------------------------------------------------------


def _show_comparison(before: BenchResult, after: BenchResult, as_json: bool) -> None:
    lines = compare(before, after)
    gained, lost = flips(before, after)
    if as_json:
        rows = [
            {
                "name": line.name,
                "unit": line.unit,
                "before": line.before,
                "after": line.after,
                "change": line.change,
                "interval": line.interval,
                "finding": line.finding,
            }
            for line in lines
        ]
        print(json.dumps({"lines": rows, "gained": gained, "lost": lost}, indent=2))
        return
    for title, run in (("A", before), ("B", after)):
        about = f"{title}: {run.model} on {run.machine or 'this machine'}, session {run.session[:8]}"
        print("\n".join(_wrap(printable(about), "", "   ")))
    if not lines:
        print("\nThe two runs have no figure in common.")
        return
    print(f"\n{'':22}{'A':>9}{'B':>10}  {'change, 95 of 100':20}  B is")
    for line in lines:
        print(_comparison(line))
    for title, names in (("only B did", gained), ("only A did", lost)):
        if names:
            print("\n".join(_wrap(printable(f"{title}: {', '.join(names)}"), "", "  ")))


def _comparison(line: Line) -> str:
    """One figure of both runs: at most 80 columns."""
    if line.unit == "share":
        one, two = line.counts
        low, high = line.interval or (0.0, 0.0)
        change = f"{low * 100:+.0f} to {high * 100:+.0f} points" if line.interval else ""
    else:
        one, two = (f"{each:,.{0 if each >= 100 else 1}f}" for each in (line.before, line.after))
        low, high = line.interval or (0.0, 0.0)
        change = f"x {low:.2f} to {high:.2f}" if line.interval else f"x {line.change:.2f}"
    finding = "" if line.finding == "one value each" else line.finding
    short = "not told apart" if finding == "no difference shown" else finding
    return f"{_NAMES.get(line.name, line.name)[:22]:22}{one:>9}{two:>10}  {change:20}  {short}".rstrip()


def _wrap(text: str, first: str = "", others: str = "  ", most: int | None = None) -> list[str]:
    width = max(50, min(WIDTH, shutil.get_terminal_size().columns))
    return paragraph(text, first, others, width=width, most=most)
