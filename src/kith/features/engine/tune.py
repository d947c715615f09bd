"""Measure ways to run a model: guessing ahead, flash attention, a smaller cache, several answers at once.

The ways take turns, each in an engine of its own: other work on the machine burdens all of them alike.
"""

import asyncio
import os
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kith.core.errors import BusyError, ModelError
from kith.core.events import Notice, Progress
from kith.core.model import Emit
from kith.features.engine.home import real_path
from kith.features.engine.model_files import OwnEngine
from kith.features.engine.options import EngineOptions, names_flag, physical_cores_but_one
from kith.features.engine.processes import processor_seconds
from kith.features.engine.running import open_engine, running_engines, stop_if_idle
from kith.features.engine.tuning import (
    DRAFT,
    PLAIN,
    SlotSpeed,
    Speed,
    Text,
    Tuning,
    Way,
    engine_version,
)
from kith.models.discovery.machine import busy, machine_name, read_memory
from kith.models.discovery.stored import Stored
from kith.models.providers.facts import ignore
from kith.models.providers.wire import Endpoint, load_http

ROUNDS: Final = 5
SLOTS: Final = (2, 4)
_WINDOW: Final = 4096
_REPLY_S: Final = 8.0  # so long a reply should take
_LEAST, _MOST = 48, 192  # tokens of a reply
_TRIAL: Final = 16  # tokens of the first reply, by which the others are sized
_STALL_S: Final = 600.0
_TICK_S: Final = 0.001  # less than this is no time
_BUSY: Final = 0.7  # processes for each core, of others, from which on the clock tells little
_PARTS: Final = ("prompt", "predicted")
_SMALL_DRAFT: Final = 4  # times smaller than the model that it guesses for
_REPEATS: Final = 0.5  # of a reply's runs of words are new in a text that does not loop
_RUN: Final = 4  # words in a run

# Two texts of the work that kith does. Each round has other names, so that no round repeats another.
_NAMES: Final = (
    ("Ledger", "entry", "amount"),
    ("Basket", "item", "price"),
    ("Garden", "plant", "height"),
    ("Library", "book", "pages"),
    ("Fleet", "truck", "mileage"),
)
_CODE: Final = """\
class {name}:
    def __init__(self):
        self.{one}_list = []
        self.total_{much} = 0

    def add_{one}(self, name, {much}):
        if {much} < 0:
            raise ValueError("{much} must not be negative")
        self.{one}_list.append((name, {much}))
        self.total_{much} = self.total_{much} + {much}

    def remove_{one}(self, name):
        for position, {one} in enumerate(self.{one}_list):
            if {one}[0] == name:
                self.total_{much} = self.total_{much} - {one}[1]
                del self.{one}_list[position]
                return {one}
        raise KeyError(name)

    def largest_{one}(self):
        largest = None
        for {one} in self.{one}_list:
            if largest is None or {one}[1] > largest[1]:
                largest = {one}
        return largest
"""
_SUBJECTS: Final = (
    "how a hash table finds a key",
    "why a database keeps an index",
    "what a compiler does with a loop",
    "how a web browser shows a page",
    "why a program needs tests",
)


class Reading(Struct, frozen=True):
    """One reply of an engine, with its own times."""

    content: str
    tokens_s: float
    read_s: float  # for each token
    drafted: int
    accepted: int


class Times(Struct, frozen=True):
    """The seconds of one request, and what the engine said of it."""

    content: str
    tokens: int
    read: int
    read_s: float
    write_s: float
    drafted: int
    accepted: int


Measured = dict[Text, Reading]  # a way in one round


def ways_for(stored: Stored, options: EngineOptions, draft: Path | None) -> tuple[Way, ...]:
    """The ways to try for a model, plain first; none against what a person's own options say."""
    ways = [Way(PLAIN)]
    if not (options.speculation or names_flag(options.extra, "--spec-*", "-md", "--model-draft")):
        ways += [Way(name, speculation=name) for name in ("ngram-mod", "ngram-map-k")]
        if stored.header.predicts:
            ways.append(Way("draft-mtp", speculation="draft-mtp"))
        if draft is not None:
            ways.append(Way(f"draft {draft.stem}", speculation=DRAFT, draft=str(draft)))
    own_cache = (
        options.cache_type_k or options.cache_type_v or names_flag(options.extra, "-ct*", "--cache-type-*")
    )
    if (
        options.flash_attn == "auto"
        and not own_cache
        and not names_flag(options.extra, "-fa", "--flash-attn")
    ):
        ways.append(Way("no flash attention", flash_attn="off"))
    if options.flash_attn != "off" and not own_cache:
        ways.append(Way("q8_0 cache", cache_type="q8_0"))
    return tuple(ways)


def find_draft(stored: Stored, all_stored: Sequence[Stored]) -> Path | None:
    """The smallest file that may guess for a model: the same vocabulary, and far fewer weights."""
    able = [
        each
        for each in all_stored
        if not each.fault
        and each.header.vocabulary == stored.header.vocabulary
        and each.header.talks
        and each.size * _SMALL_DRAFT <= stored.size
    ]
    smallest = min(able, key=lambda each: each.size, default=None)
    return real_path(smallest.path) if smallest else None


async def tune(own: OwnEngine, stored: Stored, emit: Emit, rounds: int = ROUNDS) -> Tuning:
    """Measure a model. Raises BusyError while an engine is in use, NoModelError, ModelError."""
    await load_http()
    engine = own.engine()
    used = next((each.name for each in running_engines(own.state) if each.used), "")
    if used:
        raise BusyError(f"The engine of {used} is in use, and would be measured with it. Try again later.")
    draft = real_path(Path(own.draft)) if own.draft else find_draft(stored, await own.stored())
    ways = ways_for(stored, own.options, draft)
    if own.speculation != "auto":
        ways = tuple(way for way in ways if not way.speculation)
    by = await asyncio.to_thread(_measure_by)
    trial = _Trial(own, stored, emit, by, total=len(ways) * rounds + 1)
    emit(Notice(f"Measuring file/{stored.name} in {trial.total} steps. Ctrl-C ends it, and keeps nothing."))
    if by == "processor":
        emit(Notice("Other programs keep this machine busy: kith compares processor times.", "warning"))
    results = await trial.measure_ways(ways, rounds)
    slot_speeds = await trial.measure_slots(rounds)
    return Tuning(
        stored.name,
        str(real_path(stored.path)),
        stored.header.digest,
        machine_name(),
        engine_version(engine),
        time.time(),
        rounds,
        by,
        tuple(_judge(way, results) for way in ways),
        slot_speeds,
    )


def _measure_by() -> Literal["clock", "processor"]:
    """By the clock, unless others keep the processors busy that the model runs on."""
    alone = busy() < _BUSY or read_memory(cards=True).gpu or not processor_seconds(os.getpid())
    return "clock" if alone else "processor"


class _Opened(Struct, frozen=True):
    endpoint: Endpoint
    process: int


class _Trial(Struct):
    own: OwnEngine
    stored: Stored
    emit: Emit
    by: Literal["clock", "processor"]
    total: int
    done: int = 0
    reply_tokens: int = 0

    async def measure_ways(self, ways: Sequence[Way], rounds: int) -> dict[str, list[Measured] | str]:
        """The rounds of each way by its name; for one that failed, why."""
        results: dict[str, list[Measured] | str] = {way.name: [] for way in ways}
        for round in range(rounds):
            # Another order each time; the first of all is plain, which sizes the replies.
            at = -round % len(ways)
            for way in (*ways[at:], *ways[:at]):
                told = results[way.name]
                if isinstance(told, list):
                    try:
                        told.append(await self._measure(way, round))
                    except ModelError as error:
                        if way.name == PLAIN:
                            raise
                        results[way.name] = str(error)
                self._step()
        return results

    async def _measure(self, way: Way, round: int) -> Measured:
        options = replace(
            self._options(),
            speculation=way.speculation,
            draft=way.draft,
            flash_attn=self.own.options.flash_attn if way.flash_attn == "auto" else way.flash_attn,
            cache_type_k=way.cache_type or self.own.options.cache_type_k,
            cache_type_v=way.cache_type or self.own.options.cache_type_v,
        )
        async with self._open(options) as engine:
            if not self.reply_tokens:
                first = await self._ask(engine, "new", round, _TRIAL)
                self.reply_tokens = max(_LEAST, min(_MOST, int(first.tokens * _REPLY_S / first.write_s)))
            await self._ask(engine, "new", round + 1, 1)  # reads the weights into memory
            texts: tuple[Text, ...] = ("edit", "new")
            return {text: await self._read_and_write(engine, text, round) for text in texts}

    async def _read_and_write(self, engine: _Opened, text: Text, round: int) -> Reading:
        """Let it read a prompt; then, with the prompt cached, let it write."""
        before = processor_seconds(engine.process)
        read = await self._ask(engine, text, round, 1)
        between = processor_seconds(engine.process)
        wrote = await self._ask(engine, text, round, self.reply_tokens, cached=True)
        after = processor_seconds(engine.process)
        threads = self.own.options.threads or physical_cores_but_one()
        read_s, write_s = read.read_s, wrote.write_s
        if self.by == "processor":
            read_s, write_s = (between - before) / threads, (after - between) / threads
        return Reading(
            wrote.content,
            wrote.tokens / max(write_s, _TICK_S),
            max(read_s, _TICK_S) / max(1, read.read),
            wrote.drafted,
            wrote.accepted,
        )

    async def measure_slots(self, rounds: int) -> tuple[SlotSpeed, ...]:
        """Compare several answers at once with one alone, in one engine."""
        speeds: dict[int, list[float]] = {count: [] for count in (1, *SLOTS)}
        async with self._open(replace(self._options(), slots=max(SLOTS))) as engine:

            def now() -> float:
                return time.monotonic() if self.by == "clock" else processor_seconds(engine.process)

            for round in range(rounds):
                for count in speeds:
                    began = now()
                    ask = (
                        self._ask(engine, "new", round + each, self.reply_tokens, ignore_eos=True)
                        for each in range(count)
                    )
                    replies = await asyncio.gather(*ask)
                    spent = max(now() - began, _TICK_S)
                    speeds[count].append(sum(each.tokens for each in replies) / spent)
        self._step()
        alone = speeds.pop(1)
        return tuple(SlotSpeed(count, _ratio(told, alone)) for count, told in speeds.items())

    def _options(self) -> EngineOptions:
        trained = self.stored.header.trained or _WINDOW
        return replace(self.own.options, window=min(_WINDOW, trained), slots=1)

    @asynccontextmanager
    async def _open(self, options: EngineOptions) -> AsyncIterator[_Opened]:
        """An engine for these options alone, ended afterwards."""
        prefer = "" if self.own.program == "auto" else self.own.program
        address = await open_engine(
            self.stored.path, options, self.own.state, ignore, name=self.stored.name, prefer=prefer, idle_s=5
        )
        endpoint = Endpoint(address.url, address.key, stall_s=_STALL_S, look_s=_STALL_S)
        try:
            record = address.home.read()
            yield _Opened(endpoint, record.engine if record else 0)
        finally:
            await endpoint.close()
            address.release()
            await asyncio.to_thread(stop_if_idle, address.home)

    async def _ask(
        self,
        engine: _Opened,
        text: Text,
        round: int,
        tokens: int,
        *,
        cached: bool = False,
        ignore_eos: bool = False,
    ) -> Times:
        """Let it write, always its likeliest token."""
        body: dict[str, Any] = {"temperature": 0, "top_k": 1, "seed": 1, "cache_prompt": cached}
        body |= {"ignore_eos": True} if ignore_eos else {}
        if self.stored.header.template is not None:
            asked = {"messages": [{"role": "user", "content": _request(text, round)}], "max_tokens": tokens}
            got = await engine.endpoint.post("/v1/chat/completions", {**body, **asked})
        else:  # a model that was not trained to answer: it goes on with a text
            asked = {"prompt": _beginning(text, round), "n_predict": tokens}
            got = await engine.endpoint.post("/completion", {**body, **asked})
        return _times(got)

    def _step(self) -> None:
        self.done += 1
        self.emit(Progress(f"measuring {self.stored.name}", self.done, self.total))


def _request(text: Text, round: int) -> str:
    name, code = _code(round)
    if text == "new":
        return f"Explain in a few paragraphs {_SUBJECTS[round % len(_SUBJECTS)]}."
    return (
        f"Rename the class {name} to Store in this file. Answer with the whole file.\n\n```python\n{code}```"
    )


def _beginning(text: Text, round: int) -> str:
    name, code = _code(round)
    if text == "new":
        return f"This article explains {_SUBJECTS[round % len(_SUBJECTS)]}.\n\n"
    return f"```python\n{code}```\n\nThe same file, with {name} renamed to Store:\n\n```python\n"


def _code(round: int) -> tuple[str, str]:
    name, one, much = _NAMES[round % len(_NAMES)]
    return name, _CODE.format(name=name, one=one, much=much)


def _times(got: Any) -> Times:
    """Read a reply of llama-server, in either of its forms. Raises ModelError."""
    try:
        told = got["timings"]
        if "choices" in got:
            message = got["choices"][0]["message"]
            content = f"{message.get('reasoning_content') or ''}{message.get('content') or ''}"
        else:
            content = str(got["content"])
        counts = (int(told.get(key) or 0) for key in ("prompt_n", "draft_n", "draft_n_accepted"))
        read, drafted, accepted = counts
        tokens, seconds = int(told["predicted_n"]), (float(told[f"{key}_ms"]) / 1000 for key in _PARTS)
        read_s, write_s = seconds
        return Times(content, tokens, read, read_s, max(write_s, _TICK_S), drafted, accepted)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise ModelError("The engine gave no times with its reply.") from error


def _judge(way: Way, results: dict[str, list[Measured] | str]) -> Way:
    """A way with its speeds beside the plain ones of the same rounds."""
    told, plain = results[way.name], results[PLAIN]
    if isinstance(told, str) or isinstance(plain, str):
        return replace(way, trouble=told if isinstance(told, str) else "")
    texts: tuple[Text, ...] = ("edit", "new")
    speeds = []
    for text in texts:
        mine = [each[text] for each in told]
        base = [each[text] for each in plain]
        drafted = sum(each.drafted for each in mine)
        speeds.append(
            Speed(
                text,
                statistics.median(each.tokens_s for each in mine),
                _ratio([each.tokens_s for each in mine], [each.tokens_s for each in base]),
                _ratio([1 / each.read_s for each in mine], [1 / each.read_s for each in base]),
                all(one.content == other.content for one, other in zip(mine, base, strict=True)),
                sum(each.accepted for each in mine) / drafted if drafted else 0.0,
                statistics.median(_newness(each.content) for each in base) < _REPEATS,
            )
        )
    return replace(way, speeds=tuple(speeds))


def _ratio(mine: Sequence[float], base: Sequence[float]) -> float:
    return statistics.median(one / other for one, other in zip(mine, base, strict=True))


def _newness(reply: str) -> float:
    """The share of a reply's runs of words that did not come before in it."""
    words = reply.split()
    runs = [tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)]
    return len(set(runs)) / len(runs) if runs else 1.0
