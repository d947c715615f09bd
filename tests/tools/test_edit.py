"""Changing files: what is kept, what is shown, and what a model hears when it slips."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.tools.edit import EDIT, WRITE
from tools_bench import Bench

HALF = "\ud800"


# --- write -----------------------------------------------------------------------------------


def test_write_creates_and_overwrites(bench: Bench) -> None:
    created = bench.use(WRITE, path="./src/new.txt", content="one\ntwo\n")
    assert created.text == "Created src/new.txt with 2 lines."
    assert created.detail["line"] == "src/new.txt +2, new"
    assert bench.read("src/new.txt") == b"one\ntwo\n"
    over = bench.use(WRITE, path="src/new.txt", content="three")
    assert over.text == "Overwrote src/new.txt: 1 line now, 2 before."
    assert over.detail["line"] == "src/new.txt +1 -2"
    assert bench.read("src/new.txt") == b"three"


def test_append_begins_a_line_of_its_own(bench: Bench) -> None:
    bench.write("a.txt", "one")
    assert bench.use(WRITE, path="a.txt", content="two\n", append=True).text == "Appended 1 line to a.txt."
    assert bench.use(WRITE, path="a.txt", content="three\n", append=True).ok
    assert bench.read("a.txt") == b"one\ntwo\nthree\n"
    bench.write("empty", b"")
    bench.use(WRITE, path="empty", content="first\n", append=True)
    assert bench.read("empty") == b"first\n"


def test_append_never_creates(bench: Bench) -> None:
    result = bench.use(WRITE, path="a.txt", content="x", append=True)
    assert not result.ok
    assert result.text == "a.txt does not exist. To create a file, write it without append."
    assert not (bench.folder / "a.txt").exists()


def test_line_ends_and_encoding_of_the_file_are_kept(bench: Bench) -> None:
    bench.write("dos.txt", b"one\r\ntwo\r\n")
    bench.use(WRITE, path="dos.txt", content="three\nfour\r\n", append=True)
    assert bench.read("dos.txt") == b"one\r\ntwo\r\nthree\r\nfour\r\n"
    bench.use(WRITE, path="dos.txt", content="new\n")
    assert bench.read("dos.txt") == b"new\r\n"
    bench.write("latin.txt", b"caf\xe9\n")
    bench.use(WRITE, path="latin.txt", content="thé\n", append=True)
    assert bench.read("latin.txt") == b"caf\xe9\nth\xe9\n"


def test_binary_files_are_not_written(bench: Bench) -> None:
    bench.write("logo", b"\xff\0")
    for path, content in (("logo", "x"), ("new", "a\0b")):
        result = bench.use(WRITE, path=path, content=content)
        assert not result.ok and path in result.text and "binary" in result.text
        assert not result.ok
    assert bench.read("logo") == b"\xff\0" and not (bench.folder / "new").exists()


def test_characters_that_do_not_fit_are_refused(bench: Bench) -> None:
    bench.write("latin.txt", b"caf\xe9\n")
    result = bench.use(WRITE, path="latin.txt", content="€", append=True)
    assert not result.ok and bench.read("latin.txt") == b"caf\xe9\n"
    assert not bench.use(WRITE, path="a.txt", content=HALF).ok
    assert not (bench.folder / "a.txt").exists()


@pytest.mark.parametrize("path", ["..", "../a", "/tmp/a", ".git/hooks/x", ".", "", "src", "a\0b", HALF])
def test_paths_that_no_file_may_have_are_refused(bench: Bench, path: str) -> None:
    bench.write("src/a.py", "x = 1\n")
    for result in (
        bench.use(WRITE, path=path, content="x"),
        bench.use(WRITE, path=path, content="x", append=True),
        bench.use(EDIT, path=path, old="x", new="y"),
    ):
        assert not result.ok and result.text.endswith(".")
    assert sorted(file.name for file in bench.folder.rglob("*")) == ["a.py", "src"]


# --- edit ------------------------------------------------------------------------------------


def test_an_exact_edit_says_where_it_was_made(bench: Bench) -> None:
    bench.write("a.py", "".join(f"v{n} = {n}\n" for n in range(1, 21)))
    result = bench.use(EDIT, path="a.py", old="v9 = 9\n", new="v9 = 90\nv9b = 91\n")
    assert result.ok and result.text == "Changed lines 9-10."
    assert result.detail["line"] == "a.py +2 -1"
    result = bench.use(EDIT, path="a.py", old="v1 = 1\nv2 = 2\nv3 = 3\n", new="v1 = 0\nv2 = 2\nv3 = 0\n")
    assert result.text == "Changed lines 1-3."
    result = bench.use(EDIT, path="a.py", old="v", new="w", all=True)
    assert result.text.startswith("Changed line 1 (+21 -21).")


def test_an_edit_in_many_places_names_the_first_of_them(bench: Bench) -> None:
    bench.write("a.py", "x\ny\n" * 7)
    result = bench.use(EDIT, path="a.py", old="x", new="z", all=True)
    assert result.text.startswith("Changed lines 1, 3, 5, 7, 9 and 2 more (+7 -7).")


def test_an_edit_that_took_other_indentation_shows_what_stands_there_now(bench: Bench) -> None:
    bench.write("a.py", "class A:\n    def f(self):\n        return 1\n")
    result = bench.use(
        EDIT, path="a.py", old="def f(self):\n    return 1\n", new="def f(self):\n    return 2\n"
    )
    assert result.ok and result.text == (
        "Changed line 3 (+1 -1).\n1\tclass A:\n2\t    def f(self):\n3\t        return 2"
    )


def test_edit_keeps_every_other_byte(bench: Bench) -> None:
    bench.write("dos.txt", b"\xef\xbb\xbfone\r\ntwo\r\nthree")
    assert bench.use(EDIT, path="dos.txt", old="two\n", new="2\n2b\n").ok
    assert bench.read("dos.txt") == b"\xef\xbb\xbfone\r\n2\r\n2b\r\nthree"
    bench.write("latin.txt", b"caf\xe9 noir\nth\xe9\n")
    assert bench.use(EDIT, path="latin.txt", old="café noir", new="café crème").ok
    assert bench.read("latin.txt") == b"caf\xe9 cr\xe8me\nth\xe9\n"
    refused = bench.use(EDIT, path="latin.txt", old="thé", new="€")
    assert not refused.ok and bench.read("latin.txt") == b"caf\xe9 cr\xe8me\nth\xe9\n"


def test_all_replaces_everywhere_and_a_long_change_is_shortened(bench: Bench) -> None:
    bench.write("a.txt", "x\n" * 100)
    result = bench.use(EDIT, path="a.txt", old="x", new="y", all=True)
    assert bench.read("a.txt") == b"y\n" * 100
    rows = result.text.split("\n")
    assert rows[0] == "Changed line 1 (+100 -100)."
    assert rows[13] == "[76 lines left out]" and len(rows) == 26


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            {"path": "srcs/a.py", "old": "x", "new": "y"},
            "does not exist. Similar: src/a.py. To create a file,",
        ),
        ({"path": "src", "old": "x", "new": "y"}, "src is a folder."),
        ({"path": "src/a.py", "old": "nothing like it", "new": "y"}, "src/a.py was not changed"),
        ({"path": "src/a.py", "old": "x", "new": "y"}, "2 times, at lines 1 and 2"),
        ({"path": "src/a.py", "old": "", "new": "y"}, "is empty"),
        ({"path": "src/a.py", "old": "x = 1", "new": "x = 1"}, "nothing to change"),
        ({"path": "src/a.py", "old": "x = 1", "new": HALF}, "half a character"),
        ({"path": "logo.png", "old": "x", "new": "y"}, "binary"),
    ],
)
def test_an_edit_that_does_not_fit_changes_nothing(bench: Bench, args: dict[str, str], words: str) -> None:
    bench.write("src/a.py", "x = 1\nx = 2\n")
    bench.write("logo.png", b"x\0")
    result = bench.use(EDIT, **args)
    assert not result.ok and words in result.text
    assert bench.read("src/a.py") == b"x = 1\nx = 2\n" and bench.read("logo.png") == b"x\0"


LINES = st.lists(st.sampled_from(["a", "b", "", "c d"]), min_size=1, max_size=12)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(LINES, LINES, LINES)
def test_the_lines_shown_are_the_lines_of_the_file(
    above: list[str], new: list[str], below: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), Path(folder) / ".kith")
        bench.write("f", "\n".join((*above, "<here>", *below)))
        result = bench.use(EDIT, path="f", old="<here>", new="\n".join(new), all=True)
        now = bench.read("f").decode().split("\n")
    assert now == [*above, *new, *below]
    rows = [row.split("\t") for row in result.text.split("\n") if "\t" in row]
    assert all(now[int(number) - 1] == line for number, line in rows)
    shown = {int(number) for number, _ in rows}
    changed = [len(above) + offset + 1 for offset, line in enumerate(new) if line]
    assert len(rows) >= 24 or shown >= set(changed)


# --- syntax ----------------------------------------------------------------------------------


def test_a_syntax_error_that_came_with_the_change_is_told(bench: Bench) -> None:
    bench.write("a.py", "def f():\n    return 1\n")
    result = bench.use(EDIT, path="a.py", old="    return 1", new="    return (1")
    assert result.ok and bench.read("a.py") == b"def f():\n    return (1\n"
    note = result.text.split("\n")[-1]
    assert note.startswith("Note: this is saved, but Python 3.")
    assert note.endswith("now finds a syntax error in line 2: '(' was never closed.")
    again = bench.use(EDIT, path="a.py", old="def f", new="def g")
    assert "Note" not in again.text  # it was broken before
    mended = bench.use(EDIT, path="a.py", old="(1", new="1")
    assert "Note" not in mended.text
    written = bench.use(WRITE, path="b.py", content="if True\n")
    assert written.text.startswith("Created b.py with 1 line.\nNote: this is saved, but Python 3.")


@pytest.mark.parametrize("source", ["(" * 10_000, "x = '\\N{no such}'", "# coding: nonsense\n"])
def test_no_python_file_is_too_strange_to_write(bench: Bench, source: str) -> None:
    result = bench.use(WRITE, path="a.py", content=source)
    assert result.ok and "syntax error" in result.text


def test_other_files_are_not_parsed(bench: Bench) -> None:
    assert bench.use(WRITE, path="a.txt", content="if True\n").text == "Created a.txt with 1 line."
    assert bench.use(WRITE, path="a.py", content="'\\d'\n").text == "Created a.py with 1 line."
