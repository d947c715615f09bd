"""Processes of `kith serve` that are forked from one with its modules loaded: real, and begun quickly.

`python begetter.py` takes requests as lines of JSON on stdin: one that has `argv` is answered by the number
of a new process, one that has `wait` by an exit code, null while the process runs. All end with stdin.
"""

import atexit
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from warmed import Warmth, warm

LOADED = (
    *("kith.cli", "kith.features.web.command", "kith.features.web.server", "kith.agent.tasks"),
    *("kith.features.gateway.runtime", "kith.features.gateway.runtime", "kith.agent.models"),
    *(
        "uvicorn.protocols.http.h11_impl",
        "kith.terminal.questions",
        "kith.settings",
        "sqlite3",
        "platformdirs",
    ),
)
_lock = threading.Lock()
_begetter: list[subprocess.Popen[str]] = []


class Begotten:
    """A process that was forked so; what it says is in a file."""

    def __init__(self, words: list[str], folder: Path, environ: dict[str, str], out: Path) -> None:
        out.touch()
        request = {"argv": words, "folder": str(folder), "env": environ, "out": str(out)}
        self.pid, self.returncode = int(_ask(request)), None
        self.out = out

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = _ask({"wait": self.pid})
        return self.returncode

    def wait(self, seconds: float) -> int:
        until = time.monotonic() + seconds
        while (code := self.poll()) is None:
            assert time.monotonic() < until, f"it does not end:\n{self.out.read_text()}"
            time.sleep(0.01)
        return code

    def send_signal(self, how: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, how)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _ask(request: dict[str, Any]) -> Any:
    with _lock:
        if not _begetter:
            pipe = subprocess.PIPE
            _begetter.append(subprocess.Popen([sys.executable, __file__], stdin=pipe, stdout=pipe, text=True))
            atexit.register(_begetter[0].stdin.close)  # type: ignore[union-attr]
        one = _begetter[0]
        assert one.stdin and one.stdout
        one.stdin.write(json.dumps(request) + "\n")
        one.stdin.flush()
        return json.loads(one.stdout.readline())


def beget() -> None:
    """Fork a child for every request, until stdin ends."""
    for name in LOADED:
        importlib.import_module(name)
    from kith.features.web.app import _ROUTES
    from kith.settings.features import parts_for

    for name in _ROUTES:
        importlib.import_module(f"kith.features.web.{name}")
    parts_for("web")
    warmth = warm()
    codes: dict[int, int | None] = {}
    for line in sys.stdin:
        request = json.loads(line)
        if "argv" in request:
            told = os.fork() or _become_kith(request, warmth)
            codes[told] = None
        else:
            told = _code_of(request["wait"], codes)
        print(json.dumps(told), flush=True)
    for pid, code in codes.items():
        if code is None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _code_of(pid: int, codes: dict[int, int | None]) -> int | None:
    if codes[pid] is None:
        found, status = os.waitpid(pid, os.WNOHANG)
        codes[pid] = os.waitstatus_to_exitcode(status) if found else None
    return codes[pid]


def _become_kith(request: dict[str, Any], warmth: Warmth) -> int:
    warmth.tell(Path(request["folder"]), request["env"])
    out = os.open(request["out"], os.O_WRONLY | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nothing, out, out)):
        os.dup2(descriptor, number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["kith", *request["argv"]]
    from kith.__main__ import main

    code: Any = 1
    try:
        code = main()
    except SystemExit as ending:
        code = ending.code or 0
    except BaseException:
        import traceback

        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    beget()
