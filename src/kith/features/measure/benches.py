"""`kith bench`: models are measured in sessions of their own, runs compared, llama-bench's figures read."""

import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from kith import __version__
from kith.agent.asking.roles import find_role
from kith.agent.asking.terms import Terms
from kith.agent.models import end_of
from kith.agent.project import Project
from kith.agent.roles import Player, is_small, make_role
from kith.core.errors import KithError, UsageError
from kith.core.events import Carded, Notice, RunEnded, RunStarted
from kith.core.options import Options
from kith.core.run import Answerer, Run, new_id
from kith.core.workspace import Workspace
from kith.features.measure.bench.bench import Subject, bench
from kith.features.measure.bench.compare import Line as Line
from kith.features.measure.bench.compare import compare as compare
from kith.features.measure.bench.compare import flips as flips
from kith.features.measure.bench.exercises import Exercise, find_exercises
from kith.features.measure.bench.llama_bench import format_of as format_of
from kith.features.measure.bench.llama_bench import read_calls
from kith.features.measure.bench.llama_bench import rows_of as rows_of
from kith.features.measure.bench.llama_bench import write_rows as write_rows
from kith.features.measure.bench.result import BenchResult as BenchResult
from kith.features.measure.bench.result import Score as Score
from kith.memory.session import Listener, Session
from kith.models.account import Budget
from kith.models.stack import Opened
from kith.tools import ReadLimits, standard_tools
from kith.tools.repeats import watch_repeats
from kith.trees.trials import open_tree

KIND = "bench"
_CARD_KEY = "bench"
_DEEPEST_PAID = 4_096  # tokens that come first, where each is paid for


@dataclass(frozen=True, slots=True)
class Allowance:
    """How long a bench may take for each model, and whether it does the small tasks, too."""

    seconds: float = 180.0
    tasks: bool = True


async def bench_model(
    project: Project, name: str, allowance: Allowance, answerer: Answerer, listeners: Sequence[Listener] = ()
) -> BenchResult:
    """Measure the model called `name` ("": the chosen one), and keep the result.

    It stands in a session of its own, and on the model's card. Raises KithError.
    """
    with Session(project.log, new_id()) as session:
        session.listeners += listeners
        run = project.begin(session, answerer)
        wanted = name or project.settings.model
        run.emit(RunStarted(f"measure {wanted or 'a model'}", "", wanted, __version__, Options(KIND)))
        try:
            async with aclosing(await project.open_model(run.emit, name)) as opened:
                result = await _measure(project, run, session.id, opened, allowance)
                run.emit(Carded(opened.facts.digest, opened.facts.name, {_CARD_KEY: result.facts}))
                project.learn(run, session.id, opened)
        except KithError as error:
            run.emit(end_of(error))
            raise
        run.emit(RunEnded("done", f"{result.model} was measured."))
    return result


async def _measure(project: Project, run: Run, id: str, opened: Opened, allowance: Allowance) -> BenchResult:
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
        if isinstance(record.event, Carded) and _CARD_KEY in record.event.facts:
            return BenchResult.from_facts(record.event.facts[_CARD_KEY])
    return None


def _from_file(path: Path) -> BenchResult:
    try:
        data = json.loads(path.read_text("utf-8"))
        (facts,) = data if isinstance(data, list) else [data]
        return BenchResult.from_facts(facts)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is no single run that `kith bench --json` wrote: {error}.") from error


# --- llama-bench -----------------------------------------------------------------------------


async def take_over(project: Project, name: str, path: Path, listeners: Sequence[Listener] = ()) -> str:
    """Let what llama-bench measured of a model stand on its card, as what to foresee its times by.

    Returns a sentence on what was done. Raises UsageError for a file that cannot be read, and KithError.
    """
    try:
        calls = read_calls(path.read_text("utf-8"), format_of(path.name), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    with Session(project.log, new_id()) as session:
        session.listeners += listeners
        session.emit(RunStarted(f"take over {path.name}", "", name, __version__, Options("import")))
        try:
            async with aclosing(await project.open_model(session.emit, name)) as opened:
                if opened.foresight is None or not opened.facts.digest:
                    raise UsageError(f"{opened.facts.name} has no card that this could stand on.")
                opened.foresight.believe(calls)
                digest, model = opened.facts.digest, opened.facts.name
                session.emit(Carded(digest, model, opened.learned(())))
        except KithError as error:
            session.emit(end_of(error))
            raise
        said = f"{len(calls)} measurements stand on the card of {model}."
        session.emit(RunEnded("done", said))
    return said
