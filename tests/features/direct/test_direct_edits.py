"""Requests that need no model: how they are read, and what they change."""

import asyncio
import codecs
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kith.core.errors import UsageError
from kith.core.run import Run
from kith.core.values import EXECUTABLE, Answer, Changes, Question
from kith.features.direct.edits import make_direct
from kith.features.direct.words import parse_direct
from kith.trees.local import open_tree


async def nobody(question: Question) -> Answer:
    raise AssertionError(f"nobody should be asked: {question.text}")


@pytest.fixture
def change(tmp_path: Path) -> Callable[[Path, str], Changes]:
    """What a request in words would change in a folder, which must stay as it is."""

    def made(root: Path, task: str) -> Changes:
        direct = parse_direct(task)
        assert direct is not None, f"not understood: {task}"
        tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
        before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        changes = asyncio.run(make_direct(direct, Run(lambda event, path: None, nobody, tree))).changes
        assert before == {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
        return changes

    return made


Change = Callable[[Path, str], Changes]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def after(changes: Changes) -> dict[str, bytes | None]:
    return {each.path: each.after for each in changes}


# --- changing --------------------------------------------------------------------------------


def test_replace_is_everywhere_in_the_file(folder: Path, change: Change) -> None:
    (folder / "a.txt").write_bytes(b"one two one")
    assert after(change(folder, 'replace "one" with "1" in a.txt')) == {"a.txt": b"1 two 1"}


def test_a_pattern_takes_each_file_that_holds_the_text(folder: Path, change: Change) -> None:
    (folder / "src").mkdir()
    for name, content in {"a.py": b"x", "src/b.py": b"x", "src/c.py": b"y", "d.txt": b"x"}.items():
        (folder / name).write_bytes(content)
    (folder / "e.py").write_bytes(b"x\0")
    changes = change(folder, "replace 'x' with 'z' in *.py")
    assert after(changes) == {"a.py": b"z", "src/b.py": b"z"}


@pytest.mark.parametrize(
    ("before", "task", "expected"),
    [
        (b"a\r\nb\r\nc", r'replace "a\nb" with "a\n1\nb" in f.txt', b"a\r\n1\r\nb\r\nc"),
        (b"a\nb", r'replace "b" with "c\nd" in f.txt', b"a\nc\nd"),
        (b"\xef\xbb\xbfa\n", 'replace "a" with "b" in f.txt', b"\xef\xbb\xbfb\n"),
        (b"caf\xe9 a", 'replace "café" with "thé" in f.txt', b"th\xe9 a"),
        (
            codecs.BOM_UTF16_LE + "a\r\n".encode("utf-16-le"),
            'replace "a" with "é" in f.txt',
            codecs.BOM_UTF16_LE + "é\r\n".encode("utf-16-le"),
        ),
        (b"a\x0cb\xc2\x85a", 'replace "a" with "x" in f.txt', b"x\x0cb\xc2\x85x"),
        (b"a\n", 'append "b" to f.txt', b"a\nb\n"),
        (b"a\n", 'append "b\\n" to f.txt', b"a\nb\n"),
        (b"a", 'append "b" to f.txt', b"a\nb"),
        (b"a\r\nb\r\n", r'append "c\nd" to f.txt', b"a\r\nb\r\nc\r\nd\r\n"),
        (b"", 'append "b" to f.txt', b"b\n"),
        (b"a\n  b\nc\n", 'insert "x" before "b" in f.txt', b"a\n  x\n  b\nc\n"),
        (b"a\n  b\nc\n", 'insert "x" after "b" in f.txt', b"a\n  b\n  x\nc\n"),
        (b"a\nb", 'insert "x" after "b" in f.txt', b"a\nb\nx"),
        (b"a\r\nb\r\n", r'insert "x\ny" before "b" in f.txt', b"a\r\nx\r\ny\r\nb\r\n"),
        (b"f(a, b)\n", 'insert "x, " before "b" in f.txt', b"f(a, x, b)\n"),
        (b"f(a, b)\n", 'insert ", c" after "b" in f.txt', b"f(a, b, c)\n"),
        (
            b"def f():\n    pass\n",
            'insert "    x = 1" after "def f():" in f.txt',
            b"def f():\n    x = 1\n    pass\n",
        ),
        (b"import sys\n", r'insert "import os\n" before "import sys" in f.txt', b"import os\nimport sys\n"),
        (b"import os\n", r'insert "\nimport sys" after "import os" in f.txt', b"import os\nimport sys\n"),
        (b"\xef\xbb\xbfa\n", 'insert "x" before "a" in f.txt', b"\xef\xbb\xbfx\na\n"),
        (b"\xef\xbb\xbfa\n", 'prepend "x" to f.txt', b"\xef\xbb\xbfx\na\n"),
        (b"#!/bin/sh\na\n", 'prepend "x" to f.txt', b"#!/bin/sh\nx\na\n"),
        (b"a\r\n", 'prepend "x" to f.txt', b"x\r\na\r\n"),
        (b"", 'prepend "x" to f.txt', b"x\n"),
        (b"a\nb\n", 'insert "x" at line 2 of f.txt', b"a\nx\nb\n"),
        (b"a\nb\n", 'insert "x" after line 2 of f.txt', b"a\nb\nx\n"),
        (b"a\nb", 'insert "x" after line 2 of f.txt', b"a\nb\nx"),
        (b"a\r\nb\r\n", 'insert "x" before line 1 of f.txt', b"x\r\na\r\nb\r\n"),
        (b"a\nb\nc\n", "delete line 2 of f.txt", b"a\nc\n"),
        (b"a\nb\nc\n", "delete lines 2 to 3 of f.txt", b"a\n"),
        (b"a b\nc\nb\n", 'delete all lines containing "b" from f.txt', b"c\n"),
        (b"a.b\nacb\n", 'delete "a.b" from f.txt', b"\nacb\n"),
        (b"v1 v22\n", r'replace the regex "v(\d+)" with "w\\1" in f.txt', b"w1 w22\n"),
        (b"a  \nb \n", r'delete the regex " +$" in f.txt', b"a\nb\n"),
    ],
)
def test_only_what_was_asked_for_changes(
    before: bytes, task: str, expected: bytes, folder: Path, change: Change
) -> None:
    (folder / "f.txt").write_bytes(before)
    assert after(change(folder, task)) == {"f.txt": expected}


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ('replace "a" with "b" in src/ap.py', "no file src/ap.py; the nearest is src/app.py"),
        ('replace "a" with "b" in app.py', "nearest is src/app.py"),
        ('replace "zebra" with "b" in src/app.py', "'zebra' is not in"),
        ('replace "zebra" with "b" in *.py', "'zebra' is not in"),
        ('replace "a" with "b" in *.rs', "No file matches"),
        ('replace "a" with "a" in src/app.py', "nothing to do"),
        ('replace "" with "a" in src/app.py', "nothing to do"),
        ('replace "a" with "b" in picture.bin', "not a text file"),
        ('replace "t" with "☃" in latin.txt', "cannot hold '☃'"),
        ('append "" to src/app.py', "nothing to do"),
        ('append "x" to ../outside', "no file ../outside"),
        ('insert "x" before "greet" in src/app.py', "occurs 3 times in src/app.py (lines 1, 5, 5)"),
        ('insert "x" before "zebra" in src/app.py', "'zebra' is not in"),
        (r'replace the regex "(" with "x" in src/app.py', "cannot be used as a regular expression"),
        (r'replace the regex "a" with "\\2" in src/app.py', "cannot be used as a regular expression"),
        ("delete line 9 of src/app.py", "src/app.py has 5 lines"),
        ('insert "x" at line 0 of src/app.py', "src/app.py has 5 lines"),
        ("delete the file gone.txt", "no file gone.txt"),
        ("rename latin.txt to src/app.py", "src/app.py exists already"),
        ("rename src/app.py to src/main.py", "source code"),
        ("rename zebra to horse", "No source file uses the name zebra"),
        ("rename Cls.greet to hi", "not a plain name"),
        ("rename greet to other", "src/app.py: other is already a name in line 4"),
        ("rename greet to class", "src/app.py: class is a keyword"),
        ("rename app to main", "app is also the module src/app.py"),
        ("rename only_comment to x", "No source file uses the name only_comment"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(task: str, words: str, folder: Path, change: Change) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "app.py").write_text("def greet(): pass\n\n# only_comment\nother = 1\ngreet(greet)\n")
    (folder / "picture.bin").write_bytes(b"a\0b")
    (folder / "latin.txt").write_bytes(b"th\xe9")
    with pytest.raises(UsageError) as refused:
        change(folder, task)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_moved_file_keeps_its_mode(folder: Path, change: Change) -> None:
    (folder / "run.txt").write_bytes(b"x")
    (folder / "run.txt").chmod(0o755)
    gone, new = sorted(change(folder, "move run.txt to tools/"), key=lambda each: each.path)
    assert (gone.path, gone.after) == ("run.txt", None)
    assert (new.path, new.after, new.mode) == ("tools/run.txt", b"x", EXECUTABLE)


def test_a_file_is_deleted(folder: Path, change: Change) -> None:
    (folder / "old.txt").write_bytes(b"x")
    assert after(change(folder, "delete the file old.txt")) == {"old.txt": None}


def test_several_files_are_edited_at_once(folder: Path, change: Change) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (folder / name).write_bytes(b"x\n")
    assert after(change(folder, 'append "y" to a.txt and b.txt')) == {"a.txt": b"x\ny\n", "b.txt": b"x\ny\n"}
    assert len(change(folder, 'replace "x" with "z" everywhere')) == 3


def test_a_symbol_is_renamed_across_files_and_languages(repository: Path, change: Change) -> None:
    (repository / "native.cpp").write_text("int mean(int a) { return a; } // mean\n")
    (repository / "notes.md").write_text("mean\n")
    changes = change(repository, "rename mean to average")
    assert sorted(after(changes)) == ["native.cpp", "tests/test_utils.py", "utils.py"]
    assert after(changes)["native.cpp"] == b"int average(int a) { return a; } // mean\n"
    tests = after(changes)["tests/test_utils.py"]
    assert tests and b"import clamp, average" in tests and b"average([2, 4])" in tests
    assert b"def test_mean(self)" in tests


def test_in_a_large_tree_git_finds_the_files_and_none_is_missed(repository: Path, change: Change) -> None:
    for number in range(120):
        (repository / f"part_{number}.py").write_text(f"value = {number}\n")
    (repository / "used.py").write_text("from utils import mean\n")
    (repository / ".gitattributes").write_text("used.py binary\n")
    subprocess.run(["git", "add", "utils.py", "used.py"], cwd=repository, check=True)
    changes = change(repository, "rename mean to average")
    assert sorted(after(changes)) == ["tests/test_utils.py", "used.py", "utils.py"]


@pytest.mark.skipif(os.name == "nt", reason="needs permission bits and links")
def test_modes_and_links_are_kept(folder: Path, change: Change) -> None:
    (folder / "run.py").write_text("greet = 1\n")
    (folder / "run.py").chmod(0o755)
    (folder / "link.py").symlink_to("run.py")
    (folder / "dangling.py").symlink_to("nowhere.py")
    (one,) = change(folder, "rename greet to salute")
    assert (one.path, one.after, one.mode, one.mode_before) == (
        "run.py",
        b"salute = 1\n",
        EXECUTABLE,
        EXECUTABLE,
    )
