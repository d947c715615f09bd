"""The engine inside: llama.cpp's server from the wheel `xllamacpp`, in a process that may crash alone."""

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from kith.core.errors import UsageError
from kith.features.engine.available import WHEEL
from kith.features.engine.flags import set_flags

_HTTP_THREADS = 4  # one answers, the others are asked how it goes


def run_engine(words: Sequence[str]) -> None:
    """Load a model and serve it until standard input ends. `words` are as for llama-server."""
    # Loaded by name: the wheel is an extra, and without types.
    xllamacpp = importlib.import_module(WHEEL)
    place, flags = _place(words)
    params = xllamacpp.CommonParams()
    params.model.path = place["--model"]
    params.hostnames, params.port = [place["--host"]], int(place["--port"])
    params.api_keys = [Path(place["--api-key-file"]).read_text("utf-8").strip()]
    params.n_threads_http = _HTTP_THREADS
    try:
        set_flags(xllamacpp, params, flags)
        server = xllamacpp.Server(params)
    except (RuntimeError, ValueError, UsageError) as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(1)
    sys.stdin.buffer.read()
    del server
    os._exit(0)  # nothing is worth waiting for: the keeper is gone, and with it everybody who asked


def _place(words: Sequence[str]) -> tuple[dict[str, str], Sequence[str]]:
    """What kith sets itself, four pairs at the beginning, and the other flags."""
    return dict(zip(words[:8:2], words[1:8:2], strict=True)), words[8:]
