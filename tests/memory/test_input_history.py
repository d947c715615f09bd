"""Lines that were typed in a folder: kept for their person alone, and forgotten with their session."""

import json
import stat
import sys
from pathlib import Path

import pytest

from kith.memory.input_history import FOLDER, Typed, TypedLines, forget_typed


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def file_in(state: Path) -> Path:
    (file,) = (state / FOLDER).glob("*.jsonl")
    return file


def test_each_folder_has_its_own(state: Path) -> None:
    one, other = TypedLines(state, Path("/one")), TypedLines(state, Path("/other"))
    first = Typed("fix it\nnow", "a", {"[paste 1: 9 lines]": "x\n" * 9})
    one.add(first)
    other.add(Typed("elsewhere"))
    assert one.lines() == [first] and other.lines() == [Typed("elsewhere")]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_nobody_else_may_read_them(state: Path) -> None:
    TypedLines(state, Path("/one")).add(Typed("hello"))
    file = file_in(state)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_torn_file_is_read_as_far_as_it_goes(state: Path) -> None:
    lines = TypedLines(state, Path("/one"))
    lines.add(Typed("before"))
    with file_in(state).open("a") as stream:
        stream.write('{"text": "to\n[1]\n{"text": "x", "pasted": 3}\nnull\n')
    lines.add(Typed("after"))
    assert [line.text for line in lines.lines()] == ["before", "after"]


def test_the_newest_thousand_are_kept(state: Path) -> None:
    lines = TypedLines(state, Path("/one"))
    lines.add(Typed("first"))
    row = json.dumps({"text": "again"}) + "\n"
    with file_in(state).open("a") as stream:
        stream.write(row * 2_500)
    assert len(lines.lines()) == 1_000
    assert file_in(state).read_text().count("\n") == 1_000
    lines.add(Typed("huge", pasted={"[paste 1: 1 lines]": "x" * 200_000}))
    assert lines.lines()[-1].text == "again"


def test_what_was_typed_in_a_session_is_forgotten_with_it(state: Path) -> None:
    one, other = TypedLines(state, Path("/one")), TypedLines(state, Path("/other"))
    for lines in (one, other):
        lines.add(Typed("private", "gone"))
        lines.add(Typed("kept", "stays"))
    forget_typed(state, "gone")
    assert [line.text for line in (*one.lines(), *other.lines())] == ["kept", "kept"]
    forget_typed(state / "nowhere", "gone")
