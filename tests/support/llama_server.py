"""A program with llama-server's command line that computes nothing: the stand-in answers for it."""

import argparse
import asyncio
import json
import sys
from pathlib import Path

from kith.features.demo.standin.server import serve

FLAGS = ("--offline", "--no-webui", "--cache-ram", "--ctx-size", "--parallel", "--threads", "--flash-attn")


def main() -> None:
    if "--help" in sys.argv:
        print("usage:", *(f"{flag} N  (env: LLAMA_ARG)" for flag in FLAGS), sep="\n")
        return
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("-m", "--model", type=Path, required=True)
    parser.add_argument("--api-key-file", type=Path, required=True)
    parser.add_argument("--ctx-size", type=int, required=True)
    parser.add_argument("--load-seconds", type=float, default=0.0)
    given, _ = parser.parse_known_args()
    if given.load_seconds < 0:
        sys.exit("error: invalid argument: --load-seconds")
    # Beside the model: what it was called with.
    given.model.with_suffix(".called").write_text(json.dumps([*sys.argv[1:], given.api_key_file.read_text()]))
    asyncio.run(run(given))


async def run(given: argparse.Namespace) -> None:
    script = ["one two", "three"]
    behaviour = {"window": given.ctx_size, "loading": given.load_seconds, "model": given.model.stem}
    async with serve(script, "llama-server", port=given.port, **behaviour):
        await asyncio.Event().wait()


if __name__ == "__main__":
    main()
