"""Compare the speeds that `kith bench` shows with llama-server's own `timings` of the same calls.

    python benchmarks/bench_speeds.py [--rounds 3] [--deepest 4096] [--threads 1] [--json] [MODEL.gguf ...]

Without a file: SmolLM2 135M Instruct and Gemma 3 270M of the dependency group `trained`. A relay between kith
and the server notes its figures. In each round kith measures twice: as it always does, and by its own
clock, for which the relay takes the timings out of the answers. Ratios are kith's figure over the server's.
"""

import argparse
import asyncio
import json
import re
import statistics
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from engine_ways import ignore, trained

from kith.features.engine.options import EngineOptions
from kith.features.engine.running import open_engine, stop_if_idle
from kith.features.measure.bench.bench import DEPTHS, Paces
from kith.features.measure.bench.result import BenchSpeed
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from kith.models.stack import look

TIMINGS = re.compile(rb'"timings":(\{[^{}]*\})')
LIMIT_S = 3_600.0


class Pair(NamedTuple):
    """One call: tokens a second as kith shows them and as the server says."""

    depth: int
    read: tuple[float, float]
    written: tuple[float, float]


class Relay:
    """Hands bytes on between kith and a server, and keeps the server's timings; `hides` them from kith."""

    def __init__(self, url: str) -> None:
        self.address, self.hides, self.noted = urlsplit(url), False, list[dict[str, Any]]()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either side closes it."""
        host, port = self.address.hostname, self.address.port
        there, back = await asyncio.open_connection(host, port)
        with suppress(ConnectionError, asyncio.CancelledError):  # the end of the benchmark
            await asyncio.gather(self._pass(reader, back, False), self._pass(there, writer, True))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, notes: bool) -> None:
        said = b""
        while data := await reader.read(1 << 16):
            if notes:  # the last event of a stream, which may come in pieces
                said = (said + data)[-(1 << 14) :]
                for found in TIMINGS.finditer(said):
                    self.noted.append(json.loads(found[1]))
                    said = said[found.end() :]
                data = data.replace(b'"timings"', b'"timingz"') if self.hides else data
            writer.write(data)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def relaying(url: str) -> AsyncIterator[tuple[Relay, str]]:
    """A relay before this server, and its address."""
    relay = Relay(url)
    server = await asyncio.start_server(relay.take, "127.0.0.1", 0)
    async with server:
        yield relay, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{relay.address.path}"


def pair(speeds: Sequence[BenchSpeed], noted: Sequence[dict[str, Any]]) -> list[Pair]:
    """The figures of both, call by call; the calls that only begin a prompt write one token."""
    measured = iter(each for each in noted if each["predicted_n"] > 1)
    found = []
    for depth, speed in zip(DEPTHS, speeds, strict=False):  # tokenizers count other tokens
        for read, written in zip(speed.read, speed.written, strict=True):
            told = next(measured)
            own = told["prompt_per_second"], told["predicted_per_second"]
            found.append(Pair(depth, (read, own[0]), (written, own[1])))
    assert next(measured, None) is None, "a call that kith does not show"
    return found


async def measure(
    model: Path, folder: Path, rounds: int, deepest: int, threads: int
) -> dict[str, list[Pair]]:
    """All pairs, by kith's source of its figures."""
    options = EngineOptions(deepest + 1_024, threads=threads)
    address = await open_engine(model, options, folder, ignore, prefer="xllamacpp", idle_s=60)
    found: dict[str, list[Pair]] = {"server": [], "clock": []}
    async with relaying(address.url) as (relay, url):
        endpoint = Endpoint(url, address.key, stall_s=600)
        opened = await look(OpenAILike(address.name, endpoint, "llama-server"), lambda digest: {}, 0, ignore)
        asked = opened.metered(tells=False)  # as `kith bench` asks
        for number in range(rounds):
            for by, pairs in found.items():
                relay.hides, relay.noted = by == "clock", []
                until = time.monotonic() + LIMIT_S
                speeds, _ = await Paces(asked, ignore, until, options.window or 0, deepest).measure()
                assert {speed.by for speed in speeds} == {by}
                pairs += pair(speeds, relay.noted)
                print(f"round {number + 1}, by {by}: {len(pairs)} calls", file=sys.stderr, flush=True)
        await opened.aclose()
    address.release()
    await asyncio.to_thread(stop_if_idle, address.home)
    return found


def show(found: dict[str, list[Pair]]) -> None:
    print("| figures by | tokens before | calls | reads tokens/s | ratio | writes tokens/s | ratio |")
    print("|---|---|---|---|---|---|---|")
    for by, pairs in found.items():
        for depth in sorted({each.depth for each in pairs}):
            some = [each for each in pairs if each.depth == depth]
            cells = [by, f"{depth:,}", str(len(some))]
            for column in ([each.read for each in some], [each.written for each in some]):
                ratios = [kith / server for kith, server in column]
                spread = f"{min(ratios):.4f} to {max(ratios):.4f}"
                cells += [f"{statistics.median(kith for kith, _ in column):.1f}", spread]
            print(f"| {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL.gguf")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--deepest", type=int, default=4_096, metavar="TOKENS")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        found = {
            model.name: asyncio.run(measure(model, folder, args.rounds, args.deepest, args.threads))
            for model in args.models or [*trained(folder)]
        }
    if args.json:
        rows = {
            model: {by: [each._asdict() for each in pairs] for by, pairs in each.items()}
            for model, each in found.items()
        }
        print(json.dumps(rows, indent=2))
        return
    for model, each in found.items():
        print(f"\n{model}\n")
        show(each)


if __name__ == "__main__":
    main()
