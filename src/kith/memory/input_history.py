"""Keep a person's typed lines in a folder for the next conversation; they are not shared."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct, field

FOLDER: Final = "typed"  # in kith's state
_MOST: Final = 1_000  # lines that are kept of one folder
_LONGEST: Final = 100_000  # characters of a line, with what was pasted into it


class Typed(Struct, frozen=True):
    """A line as it was sent in a session; `pasted` are the texts behind short marks in it."""

    text: str
    session: str = ""
    pasted: Mapping[str, str] = field(default_factory=dict)


class TypedLines:
    """The lines of one folder, in a file that nobody else may read. A file that is lost costs no work."""

    def __init__(self, state: Path, root: Path) -> None:
        name = sha256(os.fsencode(root)).hexdigest()[:16]
        self._file = state / FOLDER / f"{name}.jsonl"

    def lines(self) -> list[Typed]:
        """The oldest first. What is too much is dropped from the file, too."""
        found = list(_read(self._file))
        if len(found) > 2 * _MOST:
            _write(self._file, found[-_MOST:])
        return found[-_MOST:]

    def add(self, line: Typed) -> None:
        """One more; one that is very long is not kept."""
        row = _row(line)
        if len(row) > _LONGEST:
            return
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # One write, so that another conversation in the same folder does not break the line.
            place = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(place, row.encode())
            finally:
                os.close(place)


def forget_typed(state: Path, session: str) -> None:
    """Drop all that was typed in a session, in whichever folder."""
    for file in (state / FOLDER).glob("*.jsonl"):
        found = list(_read(file))
        kept = [line for line in found if line.session != session]
        if len(kept) < len(found):
            _write(file, kept)


def _row(line: Typed) -> str:
    data = {"text": line.text, "session": line.session} | ({"pasted": line.pasted} if line.pasted else {})
    return json.dumps(data) + "\n"


def _read(file: Path) -> Iterator[Typed]:
    """Yield the readable lines; a line that was cut by a crash is skipped."""
    try:
        rows = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for row in rows:
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            data = json.loads(row)
            pasted = {str(mark): str(text) for mark, text in data.get("pasted", {}).items()}
            yield Typed(str(data["text"]), str(data.get("session", "")), pasted)


def _write(file: Path, lines: list[Typed]) -> None:
    new = file.with_suffix(f".{os.getpid()}.new")
    with suppress(OSError):
        place = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(place, "w", encoding="utf-8") as stream:
            stream.writelines(map(_row, lines))
        new.replace(file)
