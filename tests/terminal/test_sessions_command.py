"""`kith sessions` from outside: found by words, copied from a turn, named, exported, forgotten."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from outside import Kith

WRITE = {"calls": [{"name": "write", "args": {"path": "new.txt", "content": "new\n"}}]}


@pytest.fixture
def kith(repository: Path) -> Kith:
    return Kith(repository)


@pytest.fixture
def session(kith: Kith) -> str:
    script = kith.folder.parent / "script.json"
    script.write_text(json.dumps([WRITE, "Wrote it."]))
    return str(kith.run("-m", f"replay/{script}", "--check", "none", "--yes", "write a file")["session"])


def rows(kith: Kith, *words: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(kith("sessions", "--json", *words).stdout)
    return found


def test_from_the_list_to_oblivion(kith: Kith, session: str) -> None:
    assert kith("sessions", "write").stdout.split()[0] == session[:6]
    assert "No sessions with read" in kith("sessions", "read").stderr
    assert kith("sessions", "turns", session[:5]).stdout.split()[-5:] == ["write", "a", "file", "(1", "file)"]
    done = kith("sessions", "fork", session, "--before", "1", "--files")
    assert "new.txt  +0 -1" in done.stderr and f"kith -r {done.stdout.strip()[:6]}" in done.stderr
    assert not (kith.folder / "new.txt").exists()
    copy = kith("sessions", "fork", session).stdout.strip()
    assert kith("sessions", "rename", copy, "A", "copy").stdout == f"{copy[:6]} is called A copy.\n"
    named, _, _ = rows(kith)
    assert (named["title"], named["task"], named["source"], named["kind"]) == (
        "A copy",
        "write a file",
        session,
        "fork",
    )
    kith("sessions", "delete", session, code=2)
    assert "is gone" in kith("sessions", "delete", "--yes", session).stdout
    page, text = kith("export", copy).stdout, kith("export", "--format", "md", copy).stdout
    assert "<h1>A copy</h1>" in page and "Wrote it." in page
    assert "## You\n\n> write a file" in text and "> Wrote it." in text
    assert "no session" in kith("sessions", "turns", session, code=2).stderr


def test_what_is_wrong_is_said(kith: Kith, session: str) -> None:
    assert "did you mean `kith sessions rename`?" in kith("sessions", "renam", "x", code=2).stderr
    assert "has one turn, and no turn 2" in kith("sessions", "fork", session, "--before", "2", code=2).stderr
    assert "--files goes with --before" in kith("sessions", "fork", session, "--files", code=2).stderr


def test_a_damaged_log_is_mended_and_said(kith: Kith, session: str, home: Path) -> None:
    log = home / ".local/state/kith/log.sqlite3"
    with closing(sqlite3.connect(log)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with log.open("r+b") as file:
        file.write(bytes(100))
    assert "The log was damaged:" in kith("sessions").stderr
    assert [row["id"] for row in rows(kith)] == [session]
    assert kith("undo").returncode == 0
