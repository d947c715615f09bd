"""`kith plan`: the files that a task needs with their scores and reasons, or how well they are found here."""

import argparse
import json
import shutil
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from fnmatch import fnmatchcase
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.project import Project
from kith.context.rank_files import Scored, Signal, kind_of, rank
from kith.context.task_words import find_words
from kith.core.errors import EXIT_DONE, UsageError
from kith.core.event_loop import run_until_signal
from kith.features.plan import PlanSettings
from kith.features.plan.measure import Found, choose_requests, order_by, order_of, place_of, summarise
from kith.memory.index import Index, open_index, refresh
from kith.memory.past_tasks import past_tasks, weigh_files
from kith.terminal.options import find_root
from kith.terminal.streams import write_output
from kith.trees.history import read_commits
from kith.view.lines import paragraph
from kith.view.printing import on_one_line

_REQUESTS: Final = 200  # commits that `--measure` ranks
_CLEAR: Final = 1.5  # times the score of the next file: the first one stands out
_FEW: Final = 3  # files that are close to the best: one of them may well be meant
_MODIFIED: Final = 0.5  # of the best score: files that the task likely changes
_INDENT: Final = 15  # columns before a path
_REASONS: Final[dict[Signal, str]] = {
    "path": "path",
    "names": "names in the code",
    "said": "comments",
    "defines": "defines a name",
    "holds": "uses a name",
    "history": "similar commits",
    "recent": "changed lately",
    "tasks": "earlier tasks",
}


class Measured(Struct, frozen=True):
    """The quality of the ranking here: with all signals, and with the names in files alone (BM25)."""

    kith: Found
    names: Found
    seconds: float


class Confidence(Struct, frozen=True):
    """The confidence in the first file: `named` by the task, or one of some `close` to the best score."""

    level: Literal["high", "medium", "low", "none"]
    close: int = 1
    named: bool = False


def plan_command(args: argparse.Namespace) -> int:
    if bool(args.task) == args.measure:
        raise UsageError("Give a task, or --measure to rank your own commits' messages.")
    project = Project.open(find_root(args.folder), {})
    if args.measure and args.save:
        raise UsageError("--measure has no files to save.")
    if args.measure:
        measured = run_until_signal(_measure(project))
        print(json.dumps(_figures(measured)) if args.json else "\n".join(_measured_lines(measured)))
    else:
        chosen = project.settings.section(PlanSettings)
        limit = args.limit or chosen.limit
        ranked = choose(run_until_signal(_rank(project, args.task)), chosen)
        answer = _as_json(ranked, limit)
        if args.save:
            write_output(args.save, json.dumps({"task": args.task, **answer}, indent=2) + "\n")
        print(json.dumps(answer) if args.json else "\n".join(_lines(ranked, limit)))
    return EXIT_DONE


def choose(ranked: Sequence[Scored], settings: PlanSettings) -> tuple[Scored, ...]:
    """The files that the settings allow; one that the task names needs no allowed extension."""
    return tuple(
        each
        for each in ranked
        if (not settings.extensions or each.named or each.path.endswith(settings.extensions))
        and not any(fnmatchcase(each.path, pattern) for pattern in settings.deny)
    )


def judge_confidence(ranked: Sequence[Scored]) -> Confidence:
    """Tell from a ranking how sure its first file is."""
    if not ranked:
        return Confidence("none")
    if ranked[0].named:
        return Confidence("high", named=True)
    close = 1 + sum(each.score > ranked[0].score / _CLEAR for each in ranked[1:])
    return Confidence("high" if close == 1 else "medium" if close <= _FEW else "low", close)


async def _rank(project: Project, task: str) -> tuple[Scored, ...]:
    async with _index(project) as index:
        words = find_words(task)
        tasks = weigh_files(words, past_tasks(project.log, str(project.root)))
        ranked = rank(task, await project.tree.files(), replace(index.fitting(words), tasks=tasks))
    # A file that was only changed lately has nothing to do with the task.
    return tuple(each for each in ranked if each.named or each.parts.keys() - {"recent"})


@asynccontextmanager
async def _index(project: Project) -> AsyncIterator[Index]:
    with closing(open_index(project.settings.cache, project.root)) as index:
        if not index.complete:
            print("Reading the project for the first time ...", file=sys.stderr, flush=True)
        await refresh(index, project.tree)
        yield index


async def _measure(project: Project) -> Measured:
    """Rank the newest commits' messages by today's contents, each with the history before it."""
    files = await project.tree.files()
    _, commits = await read_commits(project.root, ())
    requests = choose_requests(commits, frozenset(files), _REQUESTS)
    if not requests:
        raise UsageError("No commit here changed one to three source files and says what was asked for.")
    tasks = past_tasks(project.log, str(project.root))
    ours, names, began = list[int](), list[int](), time.perf_counter()
    async with _index(project) as index:
        for each in requests:
            words = find_words(each.words)
            signals = index.fitting(words, before=each.at)
            signals = replace(signals, tasks=weigh_files(words, tasks, before=each.at))
            ours.append(place_of(order_of(rank(each.words, files, signals)), each.files))
            names.append(place_of(order_by(signals.names), each.files))
    return Measured(summarise(ours), summarise(names), (time.perf_counter() - began) / len(requests))


# --- words -----------------------------------------------------------------------------------


def _lines(ranked: Sequence[Scored], limit: int) -> Iterator[str]:
    if not ranked:
        yield "No file matches. Name a file, a function or a word from the code."
        return
    columns = shutil.get_terminal_size().columns
    for each in ranked[:limit]:
        use = "modify" if _is_modified(each, ranked[0].score) else "read"
        yield f"{use:6}  {each.score:5.1f}  {_short_path(on_one_line(each.path), columns - _INDENT)}"
        indent = " " * _INDENT
        yield from paragraph(_why(each), indent, indent, width=columns)
    if len(ranked) > limit:
        yield f"and {len(ranked) - limit:,} more files"
    yield f"Confidence: {_word_confidence(judge_confidence(ranked))}"


def _short_path(path: str, room: int) -> str:
    """A path, or its end after dots where it is longer than the line; whole where nobody reads it."""
    if len(path) <= room or not sys.stdout.isatty():
        return path
    return f"...{path[-max(room - 3, 1) :]}"


def _is_modified(each: Scored, best: float) -> bool:
    return each.named or (kind_of(each.path) == "source" and each.score >= _MODIFIED * best)


def _why(each: Scored) -> str:
    """The signals that add most, the strongest first."""
    strongest = sorted(each.parts.items(), key=lambda part: -part[1])[:3]
    reasons = ["named in the task"] if each.named else []
    for signal, amount in strongest:
        told = f"{_REASONS[signal]} ({', '.join(each.words)})" if signal == "path" else _REASONS[signal]
        reasons.append(f"{told} +{amount:.1f}")
    return ", ".join(reasons)


def _word_confidence(confidence: Confidence) -> str:
    if confidence.named:
        return "high, the task names the file"
    told = "one file stands out" if confidence.close == 1 else f"{confidence.close} files are close"
    return f"{confidence.level}, {told}"


def _measured_lines(measured: Measured) -> Iterator[str]:
    yield f"{measured.kith.requests} commits as requests, with today's files and the history before each:"
    for name, found in (("kith", measured.kith), ("names in files (BM25)", measured.names)):
        yield f"  {name:22} top five {found.top:4.0%}   mean reciprocal rank {found.reciprocal:.2f}"
    yield f"  {measured.seconds * 1e3:.0f} ms for each ranking"


def _figures(measured: Measured) -> dict[str, object]:
    told = {"kith": measured.kith, "names": measured.names}
    return {"requests": measured.kith.requests, "seconds": round(measured.seconds, 4)} | {
        name: {"top_five": round(found.top, 4), "reciprocal_rank": round(found.reciprocal, 4)}
        for name, found in told.items()
    }


def _as_json(ranked: Sequence[Scored], limit: int) -> dict[str, object]:
    best = ranked[0].score if ranked else 0.0
    files = [
        {
            "path": each.path,
            "score": each.score,
            "use": "modify" if _is_modified(each, best) else "read",
            "parts": dict(each.parts),
            "named": each.named,
        }
        for each in ranked[:limit]
    ]
    return {"files": files, "confidence": judge_confidence(ranked).level}
