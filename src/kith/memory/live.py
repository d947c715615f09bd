"""Share live output with other processes, without storing it: pieces of a reply, reading progress.

Between two logged events, the writer keeps a file named after the first of them. It is finished when the
next one is logged. So a reader at event N of the log reads the file of N, and nothing is lost or doubled.
The last finished files stay for a while, for readers that are about to look. When a file is gone, the log
holds its content.
"""

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.context.redact import Redactor
from kith.core.codec import decode_event, encode_event
from kith.core.events import Called, Delta, Event, Notice, RunEnded, Said
from kith.core.patterns import lazy_pattern
from kith.memory.log import Log

FOLDER = "live"  # in the folder for state
_MOST = 4_000_000  # bytes of one file: beyond, what is shown waits for the log
_AT_ONCE = 1_000  # logged events that one look reads
_PIECE = 1 << 16  # bytes, about, that one look reads: a flood costs each of many readers no more at a time
_KEPT = 2  # finished files of a session
_STAY_S = 60.0  # so long they stay when the session is left


def _file(log: Log, session: str, seq: int) -> Path:
    return log.path.parent / FOLDER / f"{session}-{seq}.jsonl"


class LiveTail:
    """The writer's side; a disk that refuses only costs others the view of pieces."""

    def __init__(self, log: Log, session: str) -> None:
        self._log, self._session = log, session
        self._file: IO[bytes] | None = None
        self._size = 0
        self._finished: list[Path] = []

    def show(self, event: Event, path: tuple[str, ...], after: int) -> None:
        """Write an event that is not stored; `after` is the number of the session's last stored one."""
        kind = type(event).__name__
        line = f'{{"path":{json.dumps(path)},"kind":"{kind}","event":{encode_event(event)}}}\n'.encode()
        with suppress(OSError):
            self._file = self._file or self._open(_file(self._log, self._session, after))
            if self._size + len(line) <= _MOST:
                self._size += self._file.write(line)

    def _open(self, place: Path) -> IO[bytes]:
        place.parent.mkdir(mode=0o700, exist_ok=True)
        # What a process that died had shown stays: readers count bytes from its beginning.
        file = place.open("ab", buffering=0)
        self._size = file.tell()
        if self._size:
            self._size += file.write(b"\n")  # it may have died in the midst of a line
        self._finished = [each for each in self._finished if each != place]
        return file

    def end(self) -> None:
        """Something was stored (or the session is left): the log tells what comes of what was shown."""
        if self._file is not None:
            self._file.close()
            self._finished.append(Path(self._file.name))
            self._file = None
        while len(self._finished) > _KEPT:
            _remove(self._finished.pop(0))


def sweep(log: Log) -> None:
    """Remove what was shown in sessions that nobody works on, once everybody has had the time to look."""
    with suppress(OSError):
        for file in (log.path.parent / FOLDER).iterdir():
            age = abs(time.time() - file.stat().st_mtime)  # of a clock that was set back, too
            if age > _STAY_S and not log.is_open(file.stem.rpartition("-")[0]):
                _remove(file)


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink()


class Position(Struct, frozen=True):
    """A reader's position in a session: events up to number `seq`, and bytes of live output after it."""

    seq: int = 0
    byte: int = 0

    def __str__(self) -> str:
        return f"{self.seq}.{self.byte}" if self.byte else str(self.seq)

    @classmethod
    def parse(cls, text: str) -> "Position":
        """The position that was written so. Raises ValueError."""
        seq, _, byte = text.partition(".")
        if not (_is_number(seq) and (not byte or _is_number(byte))):
            raise ValueError(f"{text!r} is not a position in a session; one looks like 123 or 123.456.")
        return cls(int(seq), int(byte or 0))


def _is_number(text: str) -> bool:
    """True if the text is a number that SQLite and files can count to."""
    return text.isascii() and text.isdecimal() and len(text) < 19


class Seen(Struct, frozen=True):
    """One event of the log, still encoded; `position` is the reader's position after it.

    `at` is 0.0 for events that are only shown.
    """

    position: Position
    at: float
    path: tuple[str, ...]
    kind: str
    body: str

    @property
    def stored(self) -> bool:
        return not self.position.byte


def read_seen(seen: Seen) -> Event:
    """The event itself; one that cannot be read says so."""
    try:
        return decode_event(seen.kind, seen.body)
    except (ValueError, TypeError, KeyError):
        return Notice(f"An event of kind {seen.kind} cannot be read.", "warning")


class LiveReader:
    """A reader of one session, which may be at work in any process. It never holds the writer up.

    `more`: the last look left something for the next one. A look that finds nothing has left nothing.
    """

    def __init__(self, log: Log, session: str, position: Position = Position()) -> None:
        self.log, self.session, self.position = log, session, position
        self.more = False
        self._changed = -1
        self._room = 0  # bytes that the present look may still read

    def look(self) -> tuple[Seen, ...]:
        """Return the events since the last look, a bounded piece of them at once."""
        seen = self._look()
        while self.more and not seen:  # nothing in this piece could be read
            seen = self._look()
        return seen

    def _look(self) -> tuple[Seen, ...]:
        seen: list[Seen] = []
        self._room, self.more = _PIECE, False
        changed = self.log.changed()
        if changed != self._changed:
            rows = self.log.rows(self.session, self.position.seq, _AT_ONCE, _PIECE)
            finished = self._files() if rows else ()
            for seq, at, path, kind, body in rows:
                if self.position.seq in finished:
                    self._show(seen)
                if not self.more:
                    self.position = Position(seq)
                    seen.append(Seen(self.position, at, tuple(path.split("/")) if path else (), kind, body))
                    self._room -= len(body)
                    self.more = self._room <= 0
                if self.more:
                    return tuple(seen)
            if len(rows) == _AT_ONCE:
                self.more = True
                return tuple(seen)
            self._changed = changed
        self._show(seen)
        return tuple(seen)

    def _files(self) -> frozenset[int]:
        """The events after which something was shown that is still there."""
        head, end = f"{self.session}-", ".jsonl"
        try:
            names = os.listdir(self.log.path.parent / FOLDER)  # noqa: PTH208
        except OSError:
            return frozenset()
        ours = (name.removeprefix(head).removesuffix(end) for name in names if name.startswith(head))
        return frozenset(int(number) for number in ours if _is_number(number))

    def _show(self, seen: list[Seen]) -> None:
        """Add the whole lines that the live file has beyond the position, as far as they fit."""
        try:
            with _file(self.log, self.session, self.position.seq).open("rb") as file:
                file.seek(self.position.byte)
                data = file.read(self._room)
                full = len(data) == self._room
                data += file.readline() if full else b""
        except OSError:
            return
        whole = data[: data.rfind(b"\n") + 1]  # an unfinished line waits
        byte = self.position.byte
        for line in whole.splitlines(keepends=True):
            byte += len(line)
            self.position = Position(self.position.seq, byte)
            try:
                told = json.loads(line)
            except ValueError:  # cut short by the death of who wrote it
                continue
            seen.append(
                Seen(self.position, 0.0, tuple(told["path"]), told["kind"], json.dumps(told["event"]))
            )
        self._room -= len(whole)
        self.more = full and bool(whole)


# --- pieces of a reply: a word once it is whole, and no secret -------------------------------


_LONGEST: Final = 2_000  # characters of a line, or a word, that is waited for
_SHORT: Final = 12  # characters of a word that tell nothing of a secret that it may be the beginning of
_KEY: Final = "PRIVATE KEY-----"
# Up to the last place where a word is whole: a blank, or a letter of a language that writes without any.
_WORDS: Final = lazy_pattern(r"(?s).*[\s\u2e80-\U0003ffff]")


class _Line(Struct):
    """The present line of what a reply says, thinks or calls: `seen` characters of it were looked at.

    `told`: so many characters of what that left were shown. `one` is any piece of it.
    """

    one: Delta
    text: str = ""
    seen: int = 0
    told: int = 0


class Pieces(Struct):
    """The replies that are coming in; several may at once, each in a step of its own."""

    redactor: Redactor = field(default_factory=Redactor)
    _lines: dict[tuple[str, ...], dict[str, _Line]] = field(default_factory=dict)

    def take(self, event: Event, path: tuple[str, ...]) -> Event | None:
        """The event as it may be shown; None while it is part of a word."""
        if not isinstance(event, Delta):
            return event
        line = self._lines.setdefault(path, {}).setdefault(event.kind, _Line(event))
        line.text += event.text
        shown = self._show(line, self._whole(line.text))
        return replace(event, text=shown) if shown else None

    def turn(self, event: Event, path: tuple[str, ...]) -> tuple[Event, ...]:
        """The last word of the text before the reply continues with another kind; a long one waits."""
        lines = self._lines.get(path, {}) if isinstance(event, Delta) else {}
        others = (line for kind, line in lines.items() if kind != getattr(event, "kind", ""))
        short = (line for line in others if len(line.text) - line.seen <= _SHORT and _KEY not in line.text)
        rests = [(line.one, self._show(line, len(line.text))) for line in short]
        return tuple(replace(one, text=rest) for one, rest in rests if rest)

    def end(self, event: Event, path: tuple[str, ...]) -> tuple[Event, ...]:
        """The last pieces of the reply that this event ends."""
        if isinstance(event, RunEnded):  # what was cut off with it is told no more
            self._lines.clear()
        lines = self._lines.pop(path, {}).values() if isinstance(event, Called | Said) else ()
        rests = [(line.one, self._show(line, len(line.text))) for line in lines]
        return tuple(replace(one, text=rest) for one, rest in rests if rest)

    def _whole(self, text: str) -> int:
        """Up to where nothing that is still to come can make a secret of it."""
        if text.count(_KEY) % 2:  # until its end has come
            return 0
        words = None if self.redactor.has_phrases else _WORDS.match(text)
        end = words.end() if words else 1 + text.rfind("\n")
        return end if len(text) - end <= _LONGEST else len(text)

    def _show(self, line: _Line, end: int) -> str:
        """Return the new text of the line up to `end`."""
        if end <= line.seen:
            return ""
        shown = self.redactor.clean(line.text[:end])[0]
        news, line.told, line.seen = shown[line.told :], len(shown), end
        begin = 1 + line.text.rfind("\n", 0, end) or (end if end > _LONGEST else 0)
        if begin:
            line.text, line.seen = line.text[begin:], end - begin
            line.told = len(self.redactor.clean(line.text[: line.seen])[0])
        return news
