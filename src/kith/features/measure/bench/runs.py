"""Runs of `kith bench`: in sessions of their own, compared, and held against llama-bench's figures."""

import json
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from math import exp, log, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kith import __version__
from kith.agent.asking.roles import find_role
from kith.agent.asking.terms import Terms
from kith.agent.failed_runs import telling_end
from kith.agent.project import Project
from kith.agent.roles import Player, is_small, make_role
from kith.core.errors import UsageError
from kith.core.events import Carded, Notice, Options, RunEnded, RunStarted
from kith.core.run import Answerer, Run, new_id
from kith.core.workspace import Workspace
from kith.features.measure.bench.bench import Subject, bench
from kith.features.measure.bench.exercises import Exercise, find_exercises
from kith.features.measure.bench.llama_bench import format_of, read_calls
from kith.features.measure.bench.result import CARD_KEY, BenchResult, BenchSpeed, Score, deviation, mean
from kith.features.measure.intervals import Interval, share_difference
from kith.memory.session import Listener, Session
from kith.models.account import Budget
from kith.models.stack import Opened
from kith.tools import ReadLimits, standard_tools
from kith.tools.wrappers import watch_repeats
from kith.trees.local import open_tree

# Two runs of a bench side by side: what is different, and what may as well be chance.

Finding = Literal["better", "worse", "no difference shown", "one value each"]
# Student's t for 95 of 100, by degrees of freedom; further on that of ten will do.
_T: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


class Line(Struct, frozen=True):
    """One figure of both runs. Of speeds `change` is a factor, of scores a difference of shares (0 to 1).

    `interval`: where the change lies with 95 % confidence, None where nothing tells.
    """

    name: str
    before: float
    after: float
    change: float
    interval: Interval | None
    finding: Finding
    unit: Literal["tokens/s", "share"]
    counts: tuple[str, str] = ("", "")  # "5 of 8", for scores


def compare(before: BenchResult, after: BenchResult) -> tuple[Line, ...]:
    """Every figure that both runs have."""
    lines = list(_speed_lines(before.speeds, after.speeds))
    later = {score.name: score for score in after.scores}
    lines += [
        _score_line(score, later[score.name])
        for score in before.scores
        if score.tried and score.name in later and later[score.name].tried
    ]
    return tuple(lines)


def flips(before: BenchResult, after: BenchResult) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Compare two runs' outcomes: those gained, and those lost."""
    one, two = _outcomes(before), _outcomes(after)
    both = [name for name in one if name in two]
    gained = tuple(name for name in both if two[name] and not one[name])
    lost = tuple(name for name in both if one[name] and not two[name])
    return gained, lost


def _outcomes(run: BenchResult) -> dict[str, bool]:
    return {f"{score.name}: {each.name}": not each.why for score in run.scores for each in score.tried}


def _speed_lines(before: tuple[BenchSpeed, ...], after: tuple[BenchSpeed, ...]) -> Iterator[Line]:
    # Tokenizers differ: the depths are those that were asked for, one after the other.
    for one, two in zip(before, after, strict=False):
        where = f"at {one.depth:,}"
        if one.read and two.read:
            yield _rate_line(f"reads {where}", one.read, two.read)
        if one.written and two.written:
            yield _rate_line(f"writes {where}", one.written, two.written)


def _rate_line(name: str, one: tuple[float, ...], two: tuple[float, ...]) -> Line:
    before, after = mean(one), mean(two)
    interval = ratio_interval(one, two)
    finding: Finding = "one value each"
    if interval:
        finding = "better" if interval[0] > 1 else "worse" if interval[1] < 1 else "no difference shown"
    return Line(name, before, after, after / before, interval, finding, "tokens/s")


def _score_line(one: Score, two: Score) -> Line:
    before, after = one.share.share or 0.0, two.share.share or 0.0
    interval = share_difference(one.share, two.share)
    finding: Finding = "no difference shown"
    if interval:
        finding = "better" if interval[0] > 0 else "worse" if interval[1] < 0 else "no difference shown"
    counts = tuple(f"{each.share.good} of {each.share.number}" for each in (one, two))
    return Line(one.name, before, after, after - before, interval, finding, "share", (counts[0], counts[1]))


def ratio_interval(one: tuple[float, ...], two: tuple[float, ...]) -> Interval | None:
    """The 95 % interval of the second mean divided by the first; None for fewer than two values each.

    Of logarithms, by the delta method, with the degrees of freedom of both samples together.
    """
    if min(len(one), len(two)) < 2:
        return None
    spread = sqrt(sum((deviation(each) / mean(each)) ** 2 / len(each) for each in (one, two)))
    freedom = len(one) + len(two) - 2
    half = _T[min(freedom, len(_T)) - 1] * spread
    middle = log(mean(two) / mean(one))
    return exp(middle - half), exp(middle + half)


KIND = "bench"
_DEEPEST_PAID = 4_096  # tokens that come first, where each is paid for


class BenchAllowance(Struct, frozen=True):
    """The time limit of a benchmark for each model, and if it includes the small tasks."""

    seconds: float = 180.0
    tasks: bool = True


async def bench_model(
    project: Project,
    name: str,
    allowance: BenchAllowance,
    answerer: Answerer,
    listeners: Sequence[Listener] = (),
) -> BenchResult:
    """Measure the model called `name` ("": the chosen one), and keep the result.

    It is logged in a session of its own, and stored on the model's card. Raises KithError.
    """
    with Session(project.log, new_id(), listeners) as session:
        run = project.begin(session, answerer)
        wanted = name or project.settings.model
        run.emit(RunStarted(f"measure {wanted or 'a model'}", "", wanted, __version__, Options(KIND)))
        with telling_end(run.emit):
            async with aclosing(await project.open_model(run.emit, name)) as opened:
                result = await _measure(project, run, session.id, opened, allowance)
                run.emit(Carded(opened.facts.digest, opened.facts.name, {CARD_KEY: result.facts}))
                project.learn(run, session.id, opened)
        run.emit(RunEnded("done", f"{result.model} was measured."))
    return result


async def _measure(
    project: Project, run: Run, id: str, opened: Opened, allowance: BenchAllowance
) -> BenchResult:
    facts, terms = opened.facts, Terms(project, run, id)
    await terms.admit(opened)

    async def worker(seconds: float) -> Player:
        # What is paid counts together, the time of each begins now.
        model = terms.wrap(opened, budget=Budget(seconds=seconds), tells=False)
        tools = standard_tools(repository=False, limits=ReadLimits.of_window(opened.window))
        chosen, small = project.settings, is_small(opened.window)
        sampling = replace(chosen.sampling, think=chosen.think, think_tokens=chosen.think_tokens)
        role = make_role(find_role("worker"), model, watch_repeats(tools), sampling, small=small)
        return Player(role, opened.window, small)

    # In the cloud every call needs consent; here the model is measured as its server speaks.
    player = await worker(allowance.seconds)
    model = player.role.model if facts.cloud else opened.metered(tells=False)
    about = BenchResult(
        facts.name,
        opened.machine,
        round(time.time()),
        digest=facts.digest,
        window=opened.window,
        quantisation=facts.quantisation,
        parameters=facts.parameters,
        session=id,
    )
    run.emit(Notice(f"Measuring {facts.name}; that takes about {_minutes(allowance.seconds)}."))
    deepest = _DEEPEST_PAID if facts.cloud else sys.maxsize
    exercises = find_exercises() if allowance.tasks else ()
    subject = Subject(model, worker, _place, about, deepest, exercises)
    return await bench(run, subject, allowance.seconds)


def _minutes(seconds: float) -> str:
    minutes = seconds / 60
    return (
        f"{minutes:.0f} minutes" if minutes >= 1.5 else "a minute" if minutes > 0.75 else f"{seconds:.0f} s"
    )


@asynccontextmanager
async def _place(exercise: Exercise) -> AsyncIterator[Workspace]:
    """A folder with the files of an exercise, as a tree with a journal of its own."""
    with TemporaryDirectory(prefix="kith-bench-", ignore_cleanup_errors=True) as folder:
        root = Path(folder) / exercise.name
        for path, text in exercise.files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        yield open_tree(root, Path(folder) / "state", Path(folder) / "cache")


# --- earlier runs ----------------------------------------------------------------------------


def find_run(project: Project, key: str) -> BenchResult:
    """An earlier run: the file that `--json` wrote, a session's id or its beginning, or a model's last run.

    Raises UsageError where there is none.
    """
    if key.endswith(".json"):
        return _from_file(Path(key))
    runs = project.log.of_kind(KIND)
    ids = [id for id in runs if id.startswith(key)]
    if len(ids) == 1 and (found := _from_session(project, ids[0])):
        return found
    for id in runs:
        found = _from_session(project, id)
        if found and (key in (found.model, found.model.rpartition("/")[2])):
            return found
    raise UsageError(
        f"There is no run {key!r}: a model's name, a session's id, or a file of `kith bench --json`."
    )


def _from_session(project: Project, id: str) -> BenchResult | None:
    for record in project.log.events(id):
        if isinstance(record.event, Carded) and CARD_KEY in record.event.facts:
            return BenchResult.from_facts(record.event.facts[CARD_KEY])
    return None


def _from_file(path: Path) -> BenchResult:
    try:
        data = json.loads(path.read_text("utf-8"))
        (facts,) = data if isinstance(data, list) else [data]
        return BenchResult.from_facts(facts)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is not a single run that `kith bench --json` wrote: {error}.") from error


# --- llama-bench -----------------------------------------------------------------------------


async def take_over(project: Project, name: str, path: Path, listeners: Sequence[Listener] = ()) -> str:
    """Store llama-bench results on a model's card, for forecasts.

    Returns a sentence on what was done. Raises UsageError for a file that cannot be read, and KithError.
    """
    try:
        calls = read_calls(path.read_text("utf-8"), format_of(path.name), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    with Session(project.log, new_id(), listeners) as session:
        session.emit(RunStarted(f"take over {path.name}", "", name, __version__, Options("import")))
        with telling_end(session.emit):
            async with aclosing(await project.open_model(session.emit, name)) as opened:
                if opened.foresight is None or not opened.facts.digest:
                    raise UsageError(f"{opened.facts.name} has no card to store this on.")
                opened.foresight.believe(calls)
                digest, model = opened.facts.digest, opened.facts.name
                session.emit(Carded(digest, model, opened.learned(())))
        said = f"Stored {len(calls)} measurements on the card of {model}."
        session.emit(RunEnded("done", said))
    return said
