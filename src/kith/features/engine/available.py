"""Which engine can run a model file on this machine, and if none can, why."""

import importlib.util
import platform
import sys
from pathlib import Path
from typing import Final

from kith.core.errors import NoModelError
from kith.models.discovery.machine import find_program

WHEEL: Final = "xllamacpp"
BINARY: Final = "llama-server"
_PUT = f"put {BINARY} on the PATH."
_HOW = f'`pip install "kith-agent[engine]"`, or {_PUT}'


def find_engine(prefer: str = "") -> str:
    """The engine to use: "xllamacpp", or the path of a llama-server.

    `prefer` is "xllamacpp" or "llama-server"; without it the wheel comes first: it is the one that kith was
    tested with. Raises NoModelError with the reason and the remedy.
    """
    if sys.platform == "win32":
        raise NoModelError(
            f"kith's own engine runs on Linux and macOS only; start {BINARY} yourself, and kith finds it."
        )
    no_wheel, binary = _why_no_wheel(), find_program(BINARY)
    if prefer != BINARY and not no_wheel:
        return WHEEL
    if prefer != WHEEL and binary:
        return binary
    raise NoModelError(f"There is no {BINARY}: {_PUT}" if prefer == BINARY else no_wheel)


def _why_no_wheel() -> str:
    """Why the wheel cannot be used, and what helps; "" when it can be.

    It is not loaded to find out: a crash of it must not be kith's.
    """
    if importlib.util.find_spec(WHEEL) is None:
        return f"No engine is installed: {_HOW}"
    flags = Path("/proc/cpuinfo")
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    if x86 and flags.exists() and "avx2" not in flags.read_text().split():
        return f"This processor has no AVX2, which {WHEEL} needs: {_PUT}"
    return ""
