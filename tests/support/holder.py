"""Open kith's own engine, say how that goes, and hold on to it until standard input ends."""

import asyncio
import sys
from pathlib import Path

from kith.core.events import Event
from kith.features.engine.options import EngineOptions
from kith.features.engine.running import open_engine

IDLE_S = 0.5


def tell(event: Event) -> None:
    print("event", event, flush=True)


async def main(model: str, state: str, prefer: str, *flags: str) -> None:
    options = EngineOptions(window=2048, threads=1, extra=flags)
    address = await open_engine(Path(model), options, Path(state), tell, prefer=prefer, idle_s=IDLE_S)
    print("open", address.url, flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
