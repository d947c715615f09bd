"""`kith bench tasks`: run a suite for several models, resume it, and show shares with intervals."""

import argparse
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from kith import __version__
from kith.core.errors import EXIT_DONE, KithError, UsageError
from kith.core.event_loop import run_until_signal
from kith.core.numbers import dollars
from kith.features.suites.attempts import Attempted, Elsewhere, SuiteTask, do_here, grade
from kith.features.suites.results import (
    SuiteResult,
    add_result,
    compare_pairs,
    name_of,
    read_results,
    sum_up,
)
from kith.features.suites.suite import Suite
from kith.settings.features import check_extra, parts_for
from kith.view.lines import count
from kith.view.printing import printable

_PREPARED: Final = 20  # folders for each job that are there at the same time
_SURE: Final = 0.05  # a smaller probability of chance tells two apart


def suite_command(args: argparse.Namespace) -> int:
    """Run what the results lack, then show what they say."""
    suite = Suite(Path(args.suite))
    results = Path(args.results or f"{suite.program.stem}.results.jsonl")
    if not args.report:
        run_until_signal(_run(suite, results, args))
    rows = read_results(results)
    if not rows:
        raise UsageError(f"{results} has no results yet.")
    if args.json:
        told = {"contenders": sum_up(rows), "pairs": compare_pairs(rows), "rows": rows}
        print(msgspec.json.encode(told).decode())
    else:
        _show(rows)
    return EXIT_DONE


async def _run(suite: Suite, results: Path, args: argparse.Namespace) -> None:
    models = [name.strip() for name in args.models.split(",") if name.strip()] or [""]
    ids = await suite.list_ids(args.only or (), args.limit)
    done = {(row.task, row.asked) for row in read_results(results) if row.kith == __version__}
    wanted = [(id, model) for id in ids for model in models if (id, model) not in done]
    if not ids:
        raise UsageError("No task of the suite is like that.")
    _say(f"{count(len(ids), 'task')}, {count(len(models), 'model')}: {len(wanted)} to do.")
    at_once = len(wanted) if args.fleet else _PREPARED * args.jobs
    for first in range(0, len(wanted), at_once or 1):
        with TemporaryDirectory(prefix="kith-suite-") as place:
            tasks = list[SuiteTask]()
            for number, (id, model) in enumerate(wanted[first : first + at_once]):
                folder = Path(place) / str(number)
                prepared = await suite.prepare(id, folder)
                tasks.append(SuiteTask(id, model, folder, prepared, args.max_task_seconds))
            async for attempted in _attempts(tasks, args.jobs, args.fleet):
                await _take(suite, results, attempted)


def _attempts(tasks: Sequence[SuiteTask], jobs: int, fleet: bool) -> AsyncIterator[Attempted]:
    if not fleet:
        return do_here(tasks, jobs)
    check_extra("fleet", "--fleet")
    found: tuple[Elsewhere, ...] = parts_for("suites")
    if not found:
        raise UsageError("--fleet needs the feature fleet; see kith features.")
    return found[0](tasks)


async def _take(suite: Suite, results: Path, attempted: Attempted) -> None:
    """Grade one, and keep its row; what cannot be graded is said, and run again the next time."""
    try:
        row = await grade(suite, attempted)
    except KithError as error:
        _say(f"{attempted.task.id}: {error}")
        return
    add_result(results, row)
    _say(f"{row.task}  {'passed' if row.passed else 'failed'}  {row.seconds:.0f} s  {row.model}")


def _say(text: str) -> None:
    print(printable(text), file=sys.stderr, flush=True)


def _show(rows: Sequence[SuiteResult]) -> None:
    for each in sum_up(rows):
        share = f"{each.solved} of {each.tasks} ({each.solved / each.tasks:.0%}"
        share += f", 95 % interval {each.low:.0%} to {each.high:.0%})"
        money = f", {dollars(each.usd)}" if each.usd else ""
        print(printable(f"{name_of(each)}"))
        print(f"  solved {share}; {each.seconds / each.tasks:.0f} s a task")
        print(f"  {each.read:,} tokens read, {each.written:,} written{money}")
        if each.claimed:
            print(f"  {count(each.claimed, 'task')} proven or held for kith, failed by the hidden tests")
    for pair in compare_pairs(rows):
        told = "told apart" if pair.chance < _SURE else "not told apart"
        print(
            printable(
                f"{pair.first} beside {pair.second}: of {count(pair.tasks, 'task')} only the first solves "
                f"{pair.only_first}, only the second {pair.only_second}; {told} (p = {pair.chance:.3f})"
            )
        )
