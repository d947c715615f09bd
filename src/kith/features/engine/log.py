"""What an engine says, kept in a file that does not grow without end."""

import os
from collections import deque
from pathlib import Path

_LARGEST = 1 << 20  # bytes of a log; beyond it, the older part goes
_KEPT = _LARGEST // 4
_TAIL = 80  # lines remembered for an explanation


class EngineLog:
    """The log at `path`, and its last lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tail: deque[str] = deque(maxlen=_TAIL)
        self._rest = b""
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def add(self, data: bytes) -> None:
        """Write what was said; cut the log's older part when it is full."""
        os.write(self._file, data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-4096:]
        self.tail.extend(line.decode("utf-8", "replace") for line in lines)
        if os.fstat(self._file).st_size > _LARGEST:
            newest = self.path.read_bytes()[-_KEPT:]
            os.ftruncate(self._file, 0)
            os.write(self._file, newest)

    def last_lines(self) -> list[str]:
        """The last lines, one that is not ended included."""
        return [*self.tail, self._rest.decode("utf-8", "replace")]

    def copy_to(self, path: Path) -> None:
        """Keep what was said so far beyond the engine's own life."""
        new = path.with_suffix(".new")
        new.write_bytes(self.path.read_bytes())
        new.chmod(0o600)
        new.replace(path)
