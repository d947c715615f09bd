"""Which engine can run a model file on this machine, and if none can, why."""

import importlib.util
import platform
import shutil
import sys
from pathlib import Path
from typing import Final

from kith.core.errors import NoModelError, UsageError

WHEEL: Final = "xllamacpp"
BINARY: Final = "llama-server"
_HOW = f'`pip install "kith-agent[engine]"`, or put {BINARY} on the PATH.'


def find_engine(prefer: str = "") -> str:
    """The engine to use: "xllamacpp", or the path of a llama-server.

    `prefer` is "xllamacpp", "llama-server" or a path; without it the wheel comes first: it is the one that
    kith was tested with. Raises NoModelError with the reason and the remedy, UsageError for a path that is
    no program.
    """
    if sys.platform == "win32":
        raise NoModelError(
            f"kith's own engine runs on Linux and macOS only; start {BINARY} yourself, and kith finds it."
        )
    if prefer not in ("", WHEEL, BINARY):
        program = shutil.which(str(Path(prefer).expanduser().absolute()))
        if program is None:
            raise UsageError(f"{prefer!r} is no program; an engine is {WHEEL!r} or the path of a {BINARY}.")
        return program
    no_wheel, binary = _why_no_wheel(), find_binary()
    if prefer != BINARY and not no_wheel:
        return WHEEL
    if prefer == WHEEL:
        raise NoModelError(f"{no_wheel}: {_HOW}")
    if not binary:
        raise NoModelError(f"{no_wheel or 'There is no engine on the PATH'}: {_HOW}")
    return binary


def find_binary() -> str:
    """The path of a llama-server on the PATH, "" without one.

    A PATH relative to the current folder does not count: that folder may be anybody's repository.
    """
    found = shutil.which(BINARY)
    return found if found and Path(found).is_absolute() else ""


def _why_no_wheel() -> str:
    """Why the wheel cannot be used, "" when it can. It is not loaded: a crash of it must not be kith's."""
    if importlib.util.find_spec(WHEEL) is None:
        return "No engine is installed"
    flags = Path("/proc/cpuinfo")
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    if x86 and flags.exists() and " avx2 " not in flags.read_text():
        return f"This processor has no AVX2, which {WHEEL} needs"
    return ""
