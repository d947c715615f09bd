"""How well the time of a call is foreseen: two tiny models of different size in a real llama.cpp engine.

    python benchmarks/latency.py [--learn 30] [--then 15] [--seed 1] [--json]

Every call has a random prompt, of which a random part is cached already, and a reply of random length. What
is foreseen before a call is held against the time that it took. Cache-blind: the same, if nobody could tell
cached tokens from new ones. By CPU: the same with the seconds that the engine really computed (Linux alone),
which other work on the machine does not stretch.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from kith.core.events import Called, Event
from kith.core.model import Prompt
from kith.core.values import Message, Sampling, Text, say
from kith.features.foresight.latency import Latency
from kith.models.discovery.machine import busy
from kith.models.forecasts import Took
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from kith.models.stack import look

ROOT = Path(__file__).parent.parent
SIZES = ("small", "medium")
NOUNS = ("value", "result", "number", "index", "count", "item", "list", "file", "name", "path", "range")
LONGEST = 4_000  # tokens of a conversation, before another one begins


@dataclass(frozen=True)
class Measured:
    """What came of one model: medians of relative errors, and of what a call took (seconds).

    `cpu_error` is 0.0 where nobody tells CPU times; `busy` the processes for each core.
    """

    model: str
    error: float
    blind_error: float
    cpu_error: float
    inside: float  # share of calls between the forecast's low and high
    usual_s: float
    longest_s: float
    busy: float


@contextmanager
def engine(size: str, folder: Path) -> Iterator[tuple[str, int]]:
    """The address of an engine that runs a model of this size, and its process."""
    model = folder / f"{size}.gguf"
    make = [sys.executable, str(ROOT / "tools" / "make_tiny_gguf.py"), str(model), "--size", size]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    command = [sys.executable, str(ROOT / "tests" / "support" / "run_engine.py"), str(model)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as running:
        assert running.stdout
        yield running.stdout.readline().strip(), running.pid
        running.terminate()


def prompts(number: int, chance: random.Random) -> Iterator[Prompt]:
    """Conversations that grow by random pieces, each of random length."""

    def text(tokens: int) -> str:
        return " ".join(f"{chance.choice(NOUNS)}{chance.randrange(100)}" for _ in range(tokens // 5))

    prompt, size = Prompt("", ()), LONGEST
    for place in range(number):
        piece = chance.randrange(20, 700)
        if size + piece > LONGEST or chance.random() < 0.25:
            size = chance.randrange(50, 1_500)
            system = f"{chance.random()} {text(size)}"
            prompt = Prompt(system, (say(text(piece)),), purpose="measure", thread=f"thread {place}")
        else:
            more = Message("assistant", (Text("I see."),)), say(text(piece))
            prompt = replace(prompt, messages=(*prompt.messages, *more))
        size += piece
        yield replace(prompt, sampling=Sampling(temperature=0.0, max_tokens=chance.randrange(4, 64)))


def computed(process: int) -> float:
    """Seconds that a process has run (/proc/PID/task/TID/schedstat); 0.0 where nobody tells."""
    files = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in files) / 1e9


class ByCpu:
    """What is foreseen of CPU seconds, from those of earlier calls."""

    def __init__(self, process: int) -> None:
        self.process, self.latency, self.errors = process, Latency(), list[float]()
        self.before = computed(process)

    def take(self, called: Called) -> None:
        """Hold a call against what was foreseen of it, and learn from it."""
        before, self.before = self.before, computed(self.process)
        seconds, usage, timing = self.before - before, called.usage, called.timing
        new = usage.input - usage.cached
        forecast = self.latency.foresee(new, usage.cached, usage.output)
        if seconds and forecast:
            self.errors.append(abs(forecast.mid_s / seconds - 1))
        # The server tells how reading and writing share the time; of the seconds computed it is the same.
        share = seconds / (timing.prefill_s + timing.decode_s)
        took = Took(new, usage.cached, usage.output, timing.prefill_s * share, timing.decode_s * share)
        self.latency.take(took)


async def measure(size: str, url: str, process: int, learn: int, then: int, seed: int) -> Measured:
    """Let kith learn from `learn` calls, and hold what it foresees of the others against what they take."""
    events: list[Event] = []
    provider = OpenAILike(size, Endpoint(url), "llama-server", {"ignore_eos": True})
    opened = await look(provider, lambda digest: {}, 0, events.append)
    model, foresight = opened.metered(tells=False), opened.foresight
    assert foresight
    errors, blind, inside, seconds = [], [], [], []
    by_cpu = ByCpu(process)
    for number, prompt in enumerate(prompts(learn + then, random.Random(seed))):
        known, out = foresight.expect(prompt), prompt.sampling.max_tokens
        forecast = foresight.latency.foresee(known.new, known.cached, out) if known else None
        as_new = foresight.latency.foresee(known.new + known.cached, 0, out) if known else None
        await model(prompt, events.append)
        (*_, called) = (event for event in events if isinstance(event, Called))
        took = called.timing.total_s
        by_cpu.take(called)
        if number >= learn and forecast and as_new:
            errors.append(abs(forecast.mid_s / took - 1))
            blind.append(abs(as_new.mid_s / took - 1))
            inside.append(forecast.low_s <= took <= forecast.high_s)
            seconds.append(took)
    await opened.aclose()
    share = sum(inside) / len(inside)
    cpu = median(by_cpu.errors[-then:]) if by_cpu.errors else 0.0
    return Measured(size, median(errors), median(blind), cpu, share, median(seconds), max(seconds), busy())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learn", type=int, default=30)
    parser.add_argument("--then", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    found = []
    with TemporaryDirectory() as folder:
        for size in SIZES:
            with engine(size, Path(folder)) as (url, process):
                work = measure(size, url, process, chosen.learn, chosen.then, chosen.seed)
                found.append(asyncio.run(work))
    if chosen.json:
        print(json.dumps([asdict(each) for each in found]))
        return
    print(
        "| model | median error | cache-blind | by CPU | inside the interval | median call | longest | load |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for each in found:
        errors = f"{each.error:.1%} | {each.blind_error:.0%} | {each.cpu_error:.1%} | {each.inside:.0%}"
        print(
            f"| {each.model} | {errors} | {each.usual_s:.2f} s | {each.longest_s:.2f} s | {each.busy:.1f} |"
        )


if __name__ == "__main__":
    main()
