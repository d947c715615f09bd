"""Processes of kith that are forked from one that is warm (warmed.py): real, and begun in milliseconds.

`python forked.py SOCKET` waits at a socket. A request is JSON (arguments, folder, environment) with three
file descriptors; its answer is the exit code, or the number of the process of a stand-in server.
How Python itself starts is tested without this.
"""

import faulthandler
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NoReturn

from kith.features.demo.standin import server as stand_in
from overdue import OUTLIVED, Watchdog, wait_watched
from warmed import Warmth, warm

_LONGEST = 1 << 20  # bytes of a request
_lock = threading.Lock()
_server: list[tuple[subprocess.Popen[bytes], str]] = []


def run_forked(
    words: tuple[str, ...], folder: Path, input: str, seconds: float
) -> subprocess.CompletedProcess[str]:
    """`kith WORDS` in a folder, with this process's environment, to its end."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(input.encode())
        given.seek(0)
        with _asked(words, folder, (given, out, err), seconds, ends=True) as connection:
            code = _code_from(connection)
        texts = [_text(file) for file in (out, err)]
        assert OUTLIVED not in texts[1], texts[1]
    return subprocess.CompletedProcess(["kith", *words], code, *texts)


def talk_forked(words: tuple[str, ...], folder: Path, files: tuple[IO[bytes], ...], seconds: float) -> int:
    """`kith WORDS` while somebody talks with it; returns its exit code.

    From here on it alone has these three streams: whoever reads them sees their end when it dies.
    """
    with _asked(words, folder, files, seconds) as connection:
        for file in files:
            file.close()
        return _code_from(connection)


class ForkedStandIn:
    """`python -m kith.features.demo.standin WORDS` in a folder: its address, and its number as a process."""

    def __init__(self, words: tuple[str, ...], folder: Path) -> None:
        reading, writing = os.pipe()
        with os.fdopen(reading) as said, os.fdopen(writing, "wb") as out, Path(os.devnull).open("rb") as none:
            request = _request(words, folder) | {"stand_in": True}
            self._connection = _ask(request, (none, out, os.fdopen(2, "wb", closefd=False)), 60)
            out.close()
            self.pid = int(self._connection.recv(16))
            self.url = said.readline().split()[-1]

    def end(self) -> None:
        """Stop it, and wait until it has gone."""
        with self._connection, suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
            assert not self._connection.recv(1)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


@contextmanager
def _asked(
    words: tuple[str, ...], folder: Path, files: tuple[IO[bytes], ...], seconds: float, *, ends: bool = False
) -> Iterator[socket.socket]:
    """A connection over which the answer to a request will come; `ends`: the command has one task."""
    with _ask(_request(words, folder) | {"ends": ends}, files, seconds) as connection:
        yield connection


def _request(words: tuple[str, ...], folder: Path) -> dict[str, Any]:
    return {"argv": list(words), "folder": str(folder), "env": dict(os.environ)}


def _ask(request: dict[str, Any], files: tuple[IO[Any], ...], seconds: float) -> socket.socket:
    data = json.dumps(request).encode()
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(seconds)
    connection.connect(_address())
    socket.send_fds(connection, [len(data).to_bytes(4, "big")], [file.fileno() for file in files])
    connection.sendall(data)
    return connection


def _code_from(connection: socket.socket) -> int:
    answer = connection.recv(16)
    assert answer, "kith was killed"
    return int(answer)


def _address() -> str:
    """Where the process waits from which others are forked; started when it is first needed."""
    with _lock:
        if not _server:
            path = str(Path(tempfile.mkdtemp(prefix="kith-forked-")) / "socket")
            process = subprocess.Popen([sys.executable, __file__, path], stdout=subprocess.PIPE)
            assert process.stdout
            process.stdout.readline()
            _server.append((process, path))
        return _server[0][1]


def serve(path: str) -> None:
    """Fork a child for every request, until whoever started this is gone."""
    parent, warmth = os.getppid(), warm()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        listener.settimeout(1.0)
        print("ready", flush=True)
        while os.getppid() == parent:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection:
                connection.setblocking(True)
                head, fds, _, _ = socket.recv_fds(connection, 4, 3)
                if os.fork() == 0:
                    listener.close()
                    _answer(connection, int.from_bytes(head, "big"), fds, warmth)
                for fd in fds:
                    os.close(fd)
            while _reap():
                pass


def _reap() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def _answer(connection: socket.socket, size: int, fds: list[int], warmth: Warmth) -> None:
    """Run one kith in a child of its own, and tell its exit code; does not return."""
    data = b""
    while len(data) < size:
        data += connection.recv(_LONGEST)
    request = json.loads(data)
    if request.get("stand_in"):  # it keeps the connection, which so ends when it does
        connection.sendall(str(os.getpid()).encode())
        _become(stand_in.main, request, fds)
    # A conversation lives on after an event that ends a task.
    watchdog = Watchdog(request["env"] if request["ends"] else {})
    child = os.fork()
    if child == 0:
        connection.close()
        warmth.tell(Path(request["folder"]), request["env"])
        _become(_kith, request, fds)
    code, late = wait_watched(child, watchdog)
    if late:
        os.write(fds[2], f"\n{OUTLIVED}\n".encode())
    connection.sendall(str(code).encode())
    os._exit(0)


def _kith() -> object:
    from kith.__main__ import main

    return main()


def _become(main: Callable[[], object], request: dict[str, Any], fds: list[int]) -> NoReturn:
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    faulthandler.enable()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["env"])
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        mode = "r" if number == 0 else "w"
        setattr(sys, name, open(number, mode, encoding="utf-8", errors="surrogateescape", closefd=False))  # noqa: SIM115
    sys.argv = ["kith", *request["argv"]]
    code: Any = 1
    try:
        code = main()
    except SystemExit as ending:
        code = ending.code or 0
    except BaseException:
        import traceback

        traceback.print_exc()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    serve(sys.argv[1])
