"""What the tests of kith's own engine share: other kiths, and what they hold."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from kith.core.events import Event
from kith.features.engine.options import EngineOptions
from kith.features.engine.running import EngineAddress, running_engines
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint

HELP = Path(__file__).parent
SMALL = EngineOptions(window=2048, threads=1, extra=("--no-warmup", "--cache-ram", "64"))

Kith = subprocess.Popen[str]


def names_of(state: Path) -> list[str]:
    return sorted(engine.name for engine in running_engines(state))


def provider(address: EngineAddress, **fields: Any) -> OpenAILike:
    return OpenAILike("tiny", Endpoint(address.url, address.key), "llama-server", fields)


def another_kith(state: Path, model: Path, prefer: str, *flags: str) -> Kith:
    """Another process that opens the engine and holds on to it."""
    command = [sys.executable, str(HELP / "holder.py"), str(model), str(state), prefer, *flags]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def heard(kith: Kith, word: str) -> str:
    """The next line that it begins with a word."""
    assert kith.stdout
    return next(line for line in kith.stdout if line.startswith(word))


def kill(kith: Kith) -> None:
    """SIGKILL: it gets no chance to tidy up."""
    with kith:
        kith.kill()


def ignore(event: Event) -> None:
    """Nobody listens."""
