"""Forks a child for each point of a sweep; it does its work, and meets its fate. See `sweeping.py`."""

import asyncio
import ctypes
import errno
import mmap
import os
import struct
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from kith.core.errors import KithError
from kith.core.events import Answered, Notice
from kith.core.values import EXECUTABLE, SYMLINK, Answer, Change, Changes
from kith.memory.log import Log
from kith.memory.session import Session
from kith.trees.journal import apply_changes, list_applied, recover, undo_changes

KILL, TORN = -1, -2
READS, TAKES, CHANGES, SYNCS = 1, 2, 4, 8
# What can happen to a call, and which later calls it happens to as well.
FATES: Final = {
    "KILL": (KILL, 0),
    "TORN": (TORN, 0),
    **{name: (getattr(errno, name), 0) for name in ("ENOSPC", "EIO", "EDQUOT", "EROFS", "EACCES", "EMFILE")},
    "ENOSYS": (errno.ENOSYS, 0),
    "ENOSPC for good": (errno.ENOSPC, TAKES),
    "EROFS for good": (errno.EROFS, TAKES | CHANGES),
    "EIO for good": (errno.EIO, READS | TAKES | CHANGES | SYNCS),
}
OLD: Final = {
    "edit": (b"old edit\n" * 50, 0o644),
    "src/delete": (b"old delete\n", 0o600),
    "chmod": (b"same\n", 0o644),
    "becomes": (b"a file becomes a folder\n", 0o640),
    "untouched": (b"untouched\n", 0o755),
}
# Fates that only some calls can meet: what is torn is a write, and file systems differ in how they rename.
ONLY: Final = {"TORN": ("write", "pwrite"), "ENOSYS": ("renameat2",)}
SETS: Final[dict[str, Changes]] = {
    "one": (Change("edit", OLD["edit"][0], b"new edit\n" * 60),),
    "mixed": (
        Change("edit", OLD["edit"][0], b"new edit\n" * 60),
        Change("src/delete", OLD["src/delete"][0], None),
        Change("chmod", OLD["chmod"][0], OLD["chmod"][0], EXECUTABLE),
        Change("becomes", OLD["becomes"][0], None),
        Change("becomes/file", None, b"new file\n"),
        Change("add/deep", None, b"new deep\n"),
        Change("link", None, b"add/deep", SYMLINK),
    ),
    "sixty": tuple(Change(f"many/{number % 7}/{number}", None, b"%d\n" % number) for number in range(60)),
}
EVENTS: Final = 8  # in a session that is saved


def build(base: Path, *applied: str) -> None:
    """A fresh tree with the old files, and the changes of some sets already applied to it."""
    for name, (content, mode) in OLD.items():
        path = base / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(mode)
    (base / "state").mkdir(exist_ok=True)
    for which in applied:
        apply_changes(base / "root", base / "state", SETS[which])


@dataclass(frozen=True, slots=True)
class Armed:
    """The library that lets calls fail, loaded before libc."""

    library: ctypes.CDLL

    def arm(self, nth: int, fate: str) -> None:
        what, sorts = FATES.get(fate, (0, 0))
        self.library.faults_arm(ctypes.c_long(nth), what, sorts)

    def disarm(self) -> list[str]:
        self.library.faults_disarm.restype = ctypes.c_char_p
        return bytes(self.library.faults_disarm()).decode().split()


def act(armed: Armed, base: Path, action: str, point: tuple[int, str], board: mmap.mmap) -> str:
    """Do it and meet the fate; returns "done", or the refusal's sentence, and the calls that were made."""
    root, state = base / "root", base / "state"
    name, _, which = action.partition(" ")
    undone: Changes = ()
    last = ""
    if name == "undo":
        last = list_applied(root, state)[-1]
        undone = asyncio.run(undo_changes(root, state, last))
    words = "done"
    armed.arm(*point)
    try:
        if name == "apply":
            apply_changes(root, state, SETS[which])
        elif name == "undo":
            apply_changes(root, state, undone, undoes=last)
        elif name == "recover":
            recover(root, state)
        else:
            save_session(state, board)
    except KithError as error:
        words = str(error)
    return f"{words}\n{' '.join(armed.disarm())}"


def save_session(state: Path, board: mmap.mmap) -> None:
    """Write events and answers; what the log has acknowledged is noted on the board, in no file."""
    trouble: KithError | None = None
    log = Log(state / "log.sqlite3")
    with Session(log, "swept") as session:
        for number in range(EVENTS):
            try:
                if number % 2:
                    session.emit(Answered(f"question {number}", Answer("yes")))
                    log.post("swept", "answer", f"question {number}", "{}")
                else:
                    with session.at_once():
                        session.emit(Notice(f"notice {number}"))
                board[number] = 1
            except KithError as error:
                trouble = error  # kith goes on: the next one may be written
    log.close()
    if trouble:
        raise trouble


def nursery() -> NoReturn:
    """Read points from standard input, fork a child for each, and tell how it ended."""
    armed = Armed(ctypes.CDLL(None))
    board = mmap.mmap(-1, EVENTS)
    warm_up(armed, board)
    given, told = sys.stdin.buffer, sys.stdout.buffer
    while head := given.read(4):
        base, action, nth, fate = given.read(*struct.unpack("I", head)).decode().split("\0")
        board[:] = bytes(EVENTS)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            words = act(armed, Path(base), action, (int(nth), fate), board)
            os.write(writing, words.encode()[:60000])
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as answer:
            words_said = answer.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        told.write(struct.pack("iI", code, len(words_said)) + board[:] + words_said)
        told.flush()
    os._exit(0)


def warm_up(armed: Armed, board: mmap.mmap) -> None:
    """Do everything once, so that no module is loaded later."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        build(base)
        for action in ("apply mixed", "undo", "recover", "save"):
            act(armed, base, action, (0, ""), board)


if __name__ == "__main__":
    nursery()
