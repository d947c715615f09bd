"""The order of a bench: speed, tool calls, edits, then small tasks, each within its share of the time."""

import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

from kith.core.errors import ModelError
from kith.core.events import Stepped
from kith.core.model import Model
from kith.core.run import Run
from kith.features.measure.bench.answers import CALLS, FORMS, TOOLS, edits, try_all
from kith.features.measure.bench.exercises import Exercise, find_exercises
from kith.features.measure.bench.result import BenchResult, mean
from kith.features.measure.bench.solve import TASKS, Place, Worker, solve_all
from kith.features.measure.bench.speed import DEPTHS, Paces
from kith.features.measure.probe.bench import Bench, thinking_of, thinking_tokens
from kith.features.measure.probe.exercises import QUESTION

# Shares of the whole time that have passed when a part must end; what a part leaves is for the next ones.
_SPEED_ENDS, _CALLS_END, _EDITS_END = 0.25, 0.4, 0.6
_FIRST_SHARE: Final = 0.5  # of the time, for the first answer
_FIRST_REPLY: Final = 48  # tokens
_TASK_SHARE: Final = 0.3  # of the time, for one task
_LEAST_TASK_S: Final = 45.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Subject:
    """The model that is measured: as its server speaks, and at work; `about` is what is known of it.

    `deepest`: as many tokens come first at most, where speed is measured.
    """

    model: Model
    worker: Worker
    place: Place
    about: BenchResult
    deepest: int = DEPTHS[-1]
    exercises: tuple[Exercise, ...] = field(default_factory=find_exercises)


async def bench(run: Run, subject: Subject, budget_s: float) -> BenchResult:
    """Measure a model in about `budget_s` seconds; what there is no time for is left out, and said.

    Raises ModelError when it does not answer at all.
    """
    began, emit = time.monotonic(), run.emit
    table = Bench(subject.model, emit, began + budget_s, uuid.uuid4().hex[:12], purpose="bench")
    await _step(run, "a first answer", partial(_greet, table, budget_s))
    track = Paces(subject.model, emit, began + _SPEED_ENDS * budget_s, subject.about.window, subject.deepest)
    speeds, notes = await _step(run, "speed", track.measure)
    if speeds:
        table.read_rate = table.read_rate or mean(speeds[0].read)
        table.write_rate = mean(speeds[0].written) or table.write_rate
    table.until = began + _CALLS_END * budget_s
    scores = [await _step(run, TOOLS, partial(try_all, table, TOOLS, CALLS))]
    for number, (form, name) in enumerate(FORMS.items(), 1):
        share = _CALLS_END + (_EDITS_END - _CALLS_END) * number / len(FORMS)
        table.until = began + share * budget_s
        scores.append(await _step(run, name, partial(try_all, table, name, tuple(edits(form)))))
    each_s = max(_LEAST_TASK_S, _TASK_SHARE * budget_s)
    scores.append(
        await _step(
            run,
            TASKS,
            partial(
                solve_all, run, subject.exercises, subject.place, subject.worker, began + budget_s, each_s
            ),
        )
    )
    seconds = round(time.monotonic() - began, 1)
    return replace(subject.about, seconds=seconds, speeds=speeds, scores=tuple(scores), notes=notes)


async def _step(run: Run, name: str, work: Callable[[], Awaitable[T]]) -> T:
    began = time.monotonic()
    run.emit(Stepped(f"measuring {name}", "began"))
    found = await work()
    run.emit(Stepped(f"measuring {name}", "ended", time.monotonic() - began))
    return found


async def _greet(table: Bench, budget_s: float) -> None:
    """A trivial question: it loads what must be loaded, and shows whether the model thinks first."""
    whole, table.until = table.until, time.monotonic() + _FIRST_SHARE * budget_s
    try:
        reply = await table.ask(QUESTION, _FIRST_REPLY)
        if thinking_of(reply):
            quiet = await table.ask(QUESTION, _FIRST_REPLY, think=False)
            table.think = None if thinking_of(quiet) else False
            table.thinking = 0 if table.think is False else max(512, thinking_tokens(reply))
    except TimeoutError:
        text = f"{table.model.name} did not answer a trivial question in {_FIRST_SHARE * budget_s:.0f} s"
        raise ModelError(f"{text}; nothing was measured", retryable=True) from None
    table.until = whole
