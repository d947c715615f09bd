"""The process that computes: the wheel in a Python of its own, or a llama-server."""

import os
import re
import secrets
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from kith.features.engine.available import WHEEL
from kith.features.engine.home import Home, Spec
from kith.features.engine.options import standing_flags
from kith.features.engine.processes import die_with_parent

HOST = "127.0.0.1"
# An engine lives long and needs little: no key of the person's shell goes into it, and no LLAMA_ARG_* either,
# for these would change what it runs behind kith's back.
_NEEDED = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|TZ|TMPDIR|SHELL|PYTHONPATH|PYTHONHOME|VIRTUAL_ENV"
    r"|(LC|LD|DYLD|XDG|CUDA|NVIDIA|HIP|HSA|ROCR|GGML|VK|OMP|KMP|MESA|SYCL)_.*"
)
_HELP_S = 20.0


@dataclass(frozen=True, slots=True)
class Engine:
    """A started engine: its process, where it will listen, and the key it asks for."""

    process: subprocess.Popen[bytes]
    url: str
    key: str


def start_engine(home: Home, spec: Spec) -> Engine:
    """Start it; it has loaded nothing yet. Its words come on `process.stdout`. Raises OSError."""
    key, port = secrets.token_urlsafe(24), _free_port()
    home.put(home.key, key + "\n")
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
    return Engine(process, f"http://{HOST}:{port}", key)


def command_line(home: Home, spec: Spec, port: int) -> list[str]:
    """The program and its arguments, llama-server's names for both engines."""
    place = ["--host", HOST, "--port", str(port), "--api-key-file", str(home.key)]
    if spec.engine == WHEEL:
        standing = [word for flag in standing_flags() for word in flag]
        program = python("run")
    else:
        known = _help(spec.engine)
        standing = [word for flag in standing_flags() if not known or flag[0] in known for word in flag]
        program = [spec.engine]
    return [*program, "--model", spec.model, *place, *standing, *spec.flags]


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
