"""The process that computes: which program it is, how it starts, how it is told from others, and its end."""

import importlib.util
import os
import platform
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.core.errors import NoModelError
from kith.core.replace_file import put_private
from kith.features.engine.home import EngineHome, EngineSpec
from kith.features.engine.options import names_flag, standing_flags
from kith.models.discovery.machine import find_program

_POLITE_S = 3.0


def birth(pid: int) -> str:
    """Identify a process beyond its number: its start and the boot; "" if it does not exist.

    On Linux field 22 of /proc/PID/stat, in clock ticks since the boot (proc(5)); elsewhere the output of
    `ps`.
    """
    if pid <= 0:
        return ""
    if not sys.platform.startswith("linux"):
        asked = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        return asked.stdout.strip()
    try:
        # The name, in brackets, may hold anything; the state follows it.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else f"{_boot()} {fields[19]}"


def lives(pid: int, born: str) -> bool:
    """True if that very process exists; False where its birth is unknown."""
    return bool(born) and birth(pid) == born


def end(pid: int, born: str) -> None:
    """End that very process: first politely, then for good."""
    if not lives(pid, born):
        return
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + _POLITE_S
        while lives(pid, born) and time.monotonic() < until:
            time.sleep(0.02)
        if lives(pid, born):
            os.kill(pid, signal.SIGKILL)


def end_child(process: subprocess.Popen[bytes]) -> int:
    """The same for a child, whose number stays its own until it is waited for; its exit code."""
    process.terminate()
    try:
        return process.wait(_POLITE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def resident_bytes(pid: int) -> int:
    """Memory that a process holds, mapped files included; 0 where the system does not say (proc(5))."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def processor_seconds(pid: int) -> float:
    """The processor time of a process and all its threads; 0.0 where the system does not say (proc(5))."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0


def die_with_parent() -> None:
    """Before a child starts: it ends when its parent does, even by SIGKILL (prctl(2), Linux only)."""
    if sys.platform.startswith("linux"):
        import ctypes

        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


def _boot() -> str:
    """The name of this boot; "" where the system gives none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


# --- the engine: the wheel in a Python of its own, or a llama-server -------------------------


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
    """Explain why the wheel cannot be used, and the remedy; "" when it can be.

    It is not loaded for this: its crash must not be kith's.
    """
    if importlib.util.find_spec(WHEEL) is None:
        return f"No engine is installed: {_HOW}"
    flags = Path("/proc/cpuinfo")
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    if x86 and flags.exists() and "avx2" not in flags.read_text().split():
        return f"This processor has no AVX2, which {WHEEL} needs: {_PUT}"
    return ""


HOST = "127.0.0.1"
# An engine lives long and needs little: no key of the person's shell goes into it, and no LLAMA_ARG_* either,
# for these would change what it runs behind kith's back.
_NEEDED = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|TZ|TMPDIR|SHELL|PYTHONPATH|PYTHONHOME|VIRTUAL_ENV"
    r"|(LC|LD|DYLD|XDG|CUDA|NVIDIA|HIP|HSA|ROCR|GGML|VK|OMP|KMP|MESA|SYCL)_.*"
)
_HELP_S = 20.0
_NEWER: Final = {"--cache-ram": 2, "--swa-full": 1}  # flags that kith can do without, and their words


class EngineProcess(Struct, frozen=True):
    """A started engine: its process, where it will listen, and the key it asks for."""

    process: subprocess.Popen[bytes]
    url: str
    key: str


def start_engine(home: EngineHome, spec: EngineSpec) -> EngineProcess:
    """Start it; it has loaded nothing yet. Its words come on `process.stdout`. Raises OSError."""
    key, port = secrets.token_urlsafe(24), _free_port()
    put_private(home.key, f"{key}\n".encode())
    process = subprocess.Popen(
        command_line(home, spec, port),
        # Its end is how the wheel learns that its keeper is gone, where the system does not see to that.
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=home.folder.parent,
        env=calm_environment(os.environ),
        preexec_fn=die_with_parent,  # the keeper has one thread: nothing can be half done here
    )
    return EngineProcess(process, f"http://{HOST}:{port}", key)


def command_line(home: EngineHome, spec: EngineSpec, port: int) -> list[str]:
    """The program and its arguments, llama-server's names for both engines."""
    place = ["--host", HOST, "--port", str(port), "--api-key-file", str(home.key)]
    known, program = frozenset[str](), python("run")
    if spec.engine != WHEEL:
        known, program = _help(spec.engine), [spec.engine]
    flags = [flag for flag in standing_flags() if not names_flag(spec.flags, flag[0])]
    standing = [word for flag in flags if not known or flag[0] in known for word in flag]
    ours = len(spec.flags) - spec.given
    chosen = _without_newer(spec.flags[:ours], known)
    return [*program, "--model", spec.model, *place, *standing, *chosen, *spec.flags[ours:]]


def _without_newer(flags: Sequence[str], known: Collection[str]) -> list[str]:
    """The flags without those that an older llama-server does not know (`known`: all flags that it knows)."""
    left = list(flags)
    for name, words in _NEWER.items():
        if known and name in left and name not in known:
            at = left.index(name)
            del left[at : at + words]
    return left


def python(verb: str, *arguments: str) -> list[str]:
    """This package as a command. `-P` keeps Python from loading modules out of the current folder."""
    return [sys.executable, "-P", "-m", __package__ or "", verb, *arguments]


def calm_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Of the variables only those that a program needs to run and to find its hardware."""
    return {name: value for name, value in variables.items() if _NEEDED.fullmatch(name)}


def _help(program: str) -> frozenset[str]:
    """The words of a program's help; none when it gives none."""
    try:
        asked = subprocess.run(
            [program, "--help"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_HELP_S,
            check=False,
            env=calm_environment(os.environ),
        )
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    text = (asked.stdout + asked.stderr).decode("utf-8", "replace")
    return frozenset(text.replace(",", " ").split()) if "--" in text else frozenset()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        port: int = found.getsockname()[1]
        return port
