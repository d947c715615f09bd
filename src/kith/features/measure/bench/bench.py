"""Measure one model: speed, tool calls and edits, then small tasks, each within its share of the time."""

import asyncio
import json
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.errors import ModelError
from kith.core.model import Emit, Model, Prompt
from kith.core.run import Run
from kith.core.values import Sampling, say
from kith.features.measure.bench.exercises import (
    TASK_READ,
    TASK_WRITTEN,
    TASKS,
    Exercise,
    Place,
    TaskPace,
    Worker,
    find_exercises,
    solve_all,
)
from kith.features.measure.bench.result import (
    BenchResult,
    BenchSpeed,
    Lack,
    LeftDepth,
    Score,
    TriedExercise,
    mean,
)
from kith.features.measure.probe import exercises as probed
from kith.features.measure.probe import judge
from kith.features.measure.probe.exercises import QUESTION, Form, ProbeExercise, edit_in_words, speed_text
from kith.features.measure.probe.probe import TimedModel, thinking_of, thinking_tokens, timed_step
from kith.features.measure.probe.result import BLOCK, DIFF, WHOLE
from kith.models.forecasts import Took
from kith.tools.edit import EDIT, WRITE
from kith.tools.files import READ_LIMITS, make_read

# How fast a model reads and writes behind ever more tokens, with no help of what was cached before.

DEPTHS: Final = (0, 1_024, 4_096, 8_192, 16_384, 32_768, 65_536)
NEW: Final = 512  # tokens that are read at each depth
FEW: Final = 128  # where there is no time for so many
OUT: Final = 32  # tokens that are written at most
REPEATS: Final = 3
_ROOM: Final = 256  # tokens of the window that stay free
_LEAST_OUT: Final = 5  # fewer tokens say nothing of the speed of writing
_QUICK: Final = 0.75  # of the time that a whole prompt takes: in less, only a part of it was read


class Paces(Struct, frozen=True):
    """The model on the track: `until` is on the monotonic clock, `window` in tokens (0: unknown).

    `deepest`: no prompt has more tokens that come first, for who pays for each. `new` are read behind them.
    `read_rate`, `write_rate`: tokens a second that it was seen to read and write before (0.0: unknown).
    `latest`: until then the first figure of all may take, if that is later.
    """

    model: Model
    emit: Emit
    until: float
    window: int = 0
    deepest: int = DEPTHS[-1]
    new: int = NEW
    read_rate: float = 0.0
    write_rate: float = 0.0
    latest: float = 0.0

    async def measure(
        self, known: Sequence[BenchSpeed] = (), least: int = 0
    ) -> tuple[tuple[BenchSpeed, ...], tuple[LeftDepth, ...]]:
        """The speed at each depth that time and window allow, and the depths that they did not.

        Each is planned by what was measured so far. `known` speeds come first, where it goes on at the depth
        `least`. Raises ModelError if the model does not answer at all.
        """
        found = list(known)
        for depth in (each for each in DEPTHS if each >= least):
            if why := self._why_not(depth, found):
                return tuple(found), self._leave(depth, why, found)
            try:
                if speed := await self._at(depth, min(found[0].read) if found else 0.0):
                    found.append(speed)
            except TimeoutError:
                return tuple(found), self._leave(depth, "time", found)
            except ModelError as error:
                if not found:
                    raise
                return tuple(found), self._leave(depth, "trouble", found, str(error))
        return tuple(found), ()

    def _why_not(self, depth: int, found: Sequence[BenchSpeed]) -> Lack | None:
        if self.window and found and depth + self.new + OUT + _ROOM > self.window:
            return "window"
        if depth > self.deepest:
            return "price"
        if self.latest and not found:  # the one figure that there is to be, whatever was seen before
            return None
        return "time" if self.needs(depth, found) > self.until - time.monotonic() else None

    def needs(self, depth: int, found: Sequence[BenchSpeed]) -> float:
        """Seconds of one figure behind so many tokens; 0.0 while no speed is known."""
        read, write = self.read_rate, self.write_rate
        if found:
            read, write = min(found[-1].read), min(found[-1].written, default=write)
        if not read:
            return 0.0
        return (depth + self.new) / read + (OUT / write if write else 0.0)

    def _leave(
        self, depth: int, why: Lack, found: Sequence[BenchSpeed], trouble: str = ""
    ) -> tuple[LeftDepth, ...]:
        """This depth and the deeper ones, for which there is no more time or room either."""
        left = (each for each in DEPTHS if each >= depth)
        return tuple(LeftDepth(each, why, round(self.needs(each, found), 1), trouble) for each in left)

    async def _at(self, depth: int, rate: float) -> BenchSpeed | None:
        """Several calls that share nothing but their first `depth` tokens; None when none told its time.

        `rate`: tokens a second that are read behind nothing; 0.0 while that is not known.
        """
        end = self.until if rate else max(self.until, self.latest)
        beginning = f"{uuid.uuid4().hex}\n{speed_text(depth)}" if depth else ""
        begun = (await self._ask(beginning, "Begin.", 1, end))[0].new if depth else 0
        # Without a common beginning each system prompt differs from its first token on.
        tooks: list[tuple[Took, bool]] = []
        for number in range(REPEATS):
            if number and self.until - time.monotonic() < tooks[-1][0].seconds * 2:
                break
            begin = beginning or uuid.uuid4().hex
            took, timed = await self._ask(begin, f"{uuid.uuid4().hex}\n{speed_text(self.new)}", OUT, end)
            tooks.append((_spared(took, begun, rate), timed))
        return _speed(tooks)

    async def _ask(self, system: str, words: str, limit: int, end: float) -> tuple[Took, bool]:
        """One call as it was measured, and whether the server did that."""
        sampling = Sampling(temperature=0.2, seed=1, max_tokens=limit)
        prompt = Prompt(system, (say(words),), purpose="bench", sampling=sampling, thread=uuid.uuid4().hex)
        async with asyncio.timeout(max(0.0, end - time.monotonic())):
            reply = await self.model(prompt, self.emit)
        usage = reply.usage
        took = Took.from_timing(usage.new, usage.cached, usage.output, reply.timing)
        return took, reply.timing.prefill_s > 0


def _spared(took: Took, begun: int, rate: float) -> Took:
    """The call; `begun` tokens are taken as cached where the server counts none, and was too quick for them.

    Ollama reports all tokens of a prompt, and the time that only the new ones took.
    """
    quick = took.read_s * rate < _QUICK * took.new
    if took.cached or not quick or not 0 < begun < took.new:
        return took
    return replace(took, new=took.new - begun, cached=begun)


def _speed(tooks: list[tuple[Took, bool]]) -> BenchSpeed | None:
    """One row of several calls; what was cached is as the server says, whatever was hoped for."""
    reads = [took for took, _ in tooks if took.new > 0 and took.read_s > 0]
    writes = [took for took, _ in tooks if took.out >= _LEAST_OUT and took.write_s > 0]
    if not reads:
        return None
    return BenchSpeed(
        min(took.cached for took in reads),
        max(took.new for took in reads),
        tuple(round(took.new / took.read_s, 3) for took in reads),
        max((took.out for took in writes), default=0),
        tuple(round((took.out - 1) / took.write_s, 3) for took in writes),
        "server" if tooks[0][1] else "clock",
    )


# What a model is asked on the bench with one right answer each: calls of tools, and edits in three
# forms.

TOOLS: Final = "tool calls"
FORMS: Final[dict[Form, str]] = {"block": BLOCK, "whole": WHOLE, "diff": DIFF}

_READ: Final = make_read(READ_LIMITS)
_OFFERED: Final = (_READ, EDIT, WRITE)
_POEM: Final = "He said: \"no\".\n\n    She said:\t'yes'.\n"

_TARGETS: Final = (
    (judge.INVOICE, "Change it so that the result is rounded to 2 digits in place of 1."),
    (
        judge.Target(
            "greeting.py",
            'def greet(name):\n    return "Hello, " + name + "!"\n\n\n'
            'def part(name):\n    return "Goodbye, " + name + "!"\n',
            'def greet(name):\n    return "Hello, " + name + "!"\n\n\n'
            'def part(name):\n    return "Farewell, " + name + "!"\n',
        ),
        'Let `part` say "Farewell" in place of "Goodbye".',
    ),
    (
        judge.Target(
            "counter.py",
            "class Counter:\n    def __init__(self):\n        self.value = 0\n\n"
            "    def up(self):\n        self.value += 1\n        return self.value\n",
            "class Counter:\n    def __init__(self):\n        self.value = 0\n\n"
            "    def up(self):\n        self.value += 1\n        return self.value\n\n"
            "    def down(self):\n        self.value -= 1\n        return self.value\n",
        ),
        "Below `up`, add a method `down` that takes 1 off the value and returns it, in the style of `up`.",
    ),
    (
        judge.Target(
            "shapes.py",
            "def area(width, height):\n    print(width, height)\n    return width * height\n\n\n"
            "def outline(width, height):\n    print(width, height)\n    return 2 * (width + height)\n",
            "def area(width, height):\n    print(width, height)\n    return width * height\n\n\n"
            "def outline(width, height):\n    return 2 * (width + height)\n",
        ),
        "Remove the print from `outline`, and only from there.",
    ),
)


def _call(name: str, ask: str, tool: str, args: dict[str, object]) -> ProbeExercise:
    """One call that is wanted, with a choice of three tools."""
    answer = json.dumps({"name": tool, "arguments": args})
    wanted = next(each for each in _OFFERED if each.name == tool)
    return ProbeExercise(name, ask, answer, judge.expect_call(wanted, args), _OFFERED)


CALLS: Final = (
    probed.ONE,
    _call(
        "two files",
        "Look at src/main.py and at README.md, with one call.",
        "read",
        {"paths": ["src/main.py", "README.md"]},
    ),
    probed.CHOOSE,
    probed.EDIT_BY_TOOL,
    _call(
        "text with quotes",
        f"Create the file poem.txt with exactly this content:\n\n{_POEM}",
        "write",
        {"path": "poem.txt", "content": _POEM},
    ),
    _call(
        "edit of a line",
        "The file limits.py holds the line `MAX_SIZE = 10`, once. Make it `MAX_SIZE = 25`.",
        "edit",
        {"path": "limits.py", "old": "MAX_SIZE = 10", "new": "MAX_SIZE = 25"},
    ),
    probed.NEST,
    probed.CODE_THERE_AND_BACK,
)


def edits(form: Form) -> Iterator[ProbeExercise]:
    """The same changes, each wanted in this form."""
    for target, change in _TARGETS:
        yield replace(edit_in_words(form, target, change), name=target.path)


async def try_all(bench: TimedModel, name: str, exercises: tuple[ProbeExercise, ...]) -> Score:
    """One exercise after the other, as far as the time goes; a server in trouble ends it."""
    tried: list[TriedExercise] = []
    for number, exercise in enumerate(exercises):
        if (needed_s := bench.cost(exercise)) > bench.left:
            return Score(name, tuple(tried), len(exercises) - number, needed_s=round(needed_s, 1))
        left = bench.left
        try:
            reply = await bench.solve(exercise)
        except TimeoutError:
            return Score(name, tuple(tried), len(exercises) - number, needed_s=round(needed_s, 1))
        except ModelError as error:
            # A tool call that its own server cannot read is the model's fault; a server in trouble is not.
            if error.retryable and "tool call" not in str(error):
                skipped = "" if tried else str(error)
                return Score(name, tuple(tried), len(exercises) - number, skipped, trouble=str(error))
            tried.append(TriedExercise(exercise.name, str(error), round(left - bench.left, 2)))
        else:
            why, tokens = exercise.judge(reply), reply.usage.output
            tried.append(TriedExercise(exercise.name, why, round(left - bench.left, 2), tokens))
    return Score(name, tuple(tried))


# How the time that is left is divided among the parts that are left.
_SPEED_PART, _CALLS_PART, _FORM_PART, _TASKS_PART = 15, 9, 4, 24
_FIRST_SHARE: Final = 0.5  # of the time, for the first answer
_FIRST_REPLY: Final = 48  # tokens
_TASK_SHARE: Final = 0.3  # of the time, for one task
_LEAST_TASK_S: Final = 45.0

T = TypeVar("T")


class Subject(Struct, frozen=True):
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

    Raises ModelError when it does not answer at all, or nothing could be measured.
    """
    began, emit = time.monotonic(), run.emit
    end = began + budget_s
    table = TimedModel(subject.model, emit, end, uuid.uuid4().hex[:12], purpose="bench")
    await _step(run, "a first answer", partial(_greet, table, budget_s))
    rest = _TASKS_PART if subject.exercises else 0
    until = _share(end, _SPEED_PART, _CALLS_PART + len(FORMS) * _FORM_PART + rest)
    track = Paces(subject.model, emit, until, subject.about.window, subject.deepest)
    track = replace(track, read_rate=table.read_rate, write_rate=table.write_rate)
    speeds, left_depths = await _step(run, "speed", track.measure)
    notes: tuple[str, ...] = ()
    if not speeds:  # on a slow machine one figure is worth the time of the rest
        track = replace(track, latest=end, new=FEW)
        speeds, left_depths = await _step(run, f"speed with {FEW} tokens", track.measure)
        notes = (f"speed with {NEW} new tokens: no time, so {FEW} were read",) if speeds else ()
    if speeds:
        table.read_rate = mean(speeds[0].read)
        table.write_rate = mean(speeds[0].written) or table.write_rate
    task_s = table.seconds(TASK_READ, TASK_WRITTEN + table.thinking) if speeds else 0.0
    if task_s > end - time.monotonic():
        rest = 0  # not one small task fits, so the others get its time
    table.until = _share(end, _CALLS_PART, len(FORMS) * _FORM_PART + rest)
    scores = [await _step(run, TOOLS, partial(try_all, table, TOOLS, CALLS))]
    for left, (form, name) in zip(reversed(range(len(FORMS))), FORMS.items(), strict=True):
        table.until = _share(end, _FORM_PART, left * _FORM_PART + rest)
        scores.append(await _step(run, name, partial(try_all, table, name, tuple(edits(form)))))
    if subject.exercises:
        each_s = max(_LEAST_TASK_S, _TASK_SHARE * budget_s, 2 * task_s)
        pace = TaskPace(end, each_s, task_s or each_s / 4)
        solving = partial(solve_all, run, subject.exercises, subject.place, subject.worker, pace)
        scores.append(await _step(run, TASKS, solving))
    # What one part did not need is time for what another had to leave.
    speeds, left_depths = await _go_deeper(run, replace(track, until=end), speeds, left_depths)
    table.until = end
    asked = (CALLS, *(tuple(edits(form)) for form in FORMS))
    again = [await _go_on(run, table, *each) for each in zip(scores, asked, strict=False)]
    scores = [*again, *scores[len(again) :]]
    if not speeds and not any(score.tried for score in scores):
        why = next(filter(None, (score.skipped for score in scores)), "no call ended in time")
        raise _nothing(budget_s, why)
    seconds = round(time.monotonic() - began, 1)
    about = replace(subject.about, seconds=seconds, speeds=speeds, left_depths=left_depths)
    return replace(about, scores=tuple(scores), notes=notes)


async def _go_deeper(
    run: Run, track: Paces, speeds: tuple[BenchSpeed, ...], left: tuple[LeftDepth, ...]
) -> tuple[tuple[BenchSpeed, ...], tuple[LeftDepth, ...]]:
    """Measure depths for which there was no time before, if there is now."""
    if not speeds or not left or left[0].why != "time":
        return speeds, left
    if track.needs(left[0].depth, speeds) > track.until - time.monotonic():
        return speeds, left
    return await _step(run, "speed", partial(track.measure, speeds, left[0].depth))


async def _go_on(run: Run, table: TimedModel, score: Score, exercises: tuple[ProbeExercise, ...]) -> Score:
    """Try what there was no time for before, if there is now."""
    rest = exercises[len(exercises) - score.left :]
    if not rest or score.trouble or table.cost(rest[0]) > table.left:
        return score
    more = await _step(run, score.name, partial(try_all, table, score.name, rest))
    tried = (*score.tried, *more.tried)
    return replace(more, tried=tried, skipped="" if tried else more.skipped)


def _share(end: float, part: int, rest: int) -> float:
    """Return the end of a part; parts with the weight of `rest` follow it."""
    now = time.monotonic()
    return now + (end - now) * part / (part + rest)


def _nothing(budget_s: float, why: str) -> ModelError:
    """No failure of the server: it is slow."""
    minutes = max(2, round(3 * budget_s / 60))
    return ModelError(f"Nothing was measured in {budget_s:.0f} s: {why}. Try --minutes {minutes}")


async def _step(run: Run, name: str, work: Callable[[], Awaitable[T]]) -> T:
    return await timed_step(run.emit, f"measuring {name}", work)


async def _greet(table: TimedModel, budget_s: float) -> None:
    """A trivial question: it loads what must be loaded, and shows whether the model thinks first."""
    whole, table.until = table.until, time.monotonic() + _FIRST_SHARE * budget_s
    try:
        reply = await table.ask(QUESTION, _FIRST_REPLY)
        if reply.timing.prefill_s > 0:  # by the clock, loading the model would count
            table.read_rate = reply.usage.new / reply.timing.prefill_s
        if thinking_of(reply):
            quiet = await table.ask(QUESTION, _FIRST_REPLY, think=False)
            table.think = None if thinking_of(quiet) else False
            table.thinking = 0 if table.think is False else max(512, thinking_tokens(reply))
    except TimeoutError:
        why = f"a trivial question had no answer after {_FIRST_SHARE * budget_s:.0f} s"
        raise _nothing(budget_s, why) from None
    table.until = whole
