"""`kith refactor` from outside: on a small project, on a real one, and as its page of documentation says."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import toolz

from kith.agent.asking.roles import find_role
from outside import Kith
from places import ROOT
from reviewing import Here

DOCS = ROOT / "docs"
GRADE = '''\
import os


def grade(points, total, late, excused):
    """The grade in words."""
    if total == 0:
        return "none"
    share = points / total
    if late and not excused:
        if share > 0.5:
            share -= 0.1
            if share < 0.5:
                if points > 10:
                    if total > 10:
                        share = 0.5
    if share >= 0.9:
        return "very good"
    if share >= 0.75 and not late or excused and share >= 0.7:
        return "good"
    if share >= 0.5:
        return "enough"
    return "failed"
'''
LAST = 'if share >= 0.5:\n        return "enough"\n    return "failed"\n'
SHORT = 'return "enough" if share >= 0.5 else "failed"\n'
TEST_GRADE = """\
import unittest

from grades import grade


class TestGrade(unittest.TestCase):
    def test_all(self):
        self.assertEqual(grade(10, 10, False, False), "very good")

    def test_half(self):
        self.assertEqual(grade(5, 10, False, False), "enough")
"""
MANY = """\
def parcel(weight, width, height, depth, fragile, far, insured):
    price = weight + width
    return price
"""
TEST_MANY = """\
import unittest

from grades import parcel


class TestParcel(unittest.TestCase):
    def test_price(self):
        self.assertEqual(parcel(10, 2, 3, 4, False, False, False), 12)
"""
TEST_NOTHING = """\
import unittest

import grades


class TestGrades(unittest.TestCase):
    def test_that_it_loads(self):
        self.assertTrue(grades)
"""
CHECK = "python3 -m unittest -q"
DONE: dict[str, Any] = {"calls": [{"name": "done", "args": {"summary": "The end is shorter."}}]}


def edit(old: str, new: str, path: str = "grades.py") -> dict[str, Any]:
    return {"calls": [{"name": "edit", "args": {"path": path, "old": old, "new": new}}]}


def commit(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / ".gitignore").write_text("__pycache__/\n.coverage\n")
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


def changed(folder: Path) -> list[str]:
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=folder, capture_output=True, text=True, check=True
    )
    return [row[3:] for row in status.stdout.splitlines()]


@pytest.fixture
def grades(tmp_path: Path, home: Path) -> Kith:
    """kith in a project with a function that is hard to follow, and tests of it."""
    (tmp_path / "grades").mkdir()
    commit(tmp_path / "grades", {"grades.py": GRADE, "test_grades.py": TEST_GRADE})
    return Here(tmp_path / "grades")


@pytest.fixture
def replay(tmp_path: Path) -> Any:
    """Writes a script of replies; returns the model that plays it."""

    def write(*replies: Any) -> str:
        script = tmp_path / f"script{len(list(tmp_path.glob('script*')))}.json"
        script.write_text(json.dumps(replies))
        return f"replay/{script}"

    return write


# --- suggestions -----------------------------------------------------------------------------


def test_suggestions_name_the_place_the_numbers_and_the_command(grades: Kith) -> None:
    assert grades("refactor").stdout == (
        "  1  grades.py:4-22  grade: 14 ways through it, 5 levels deep\n"
        "     kith refactor --apply 1   (by the model)\n"
        "  2  grades.py:1  imports os and does not use it\n"
        "     kith refactor organise-imports grades.py\n"
    )
    found = json.loads(grades("refactor", "grades.py", "--json").stdout)
    assert [(each["kind"], each["needs_model"]) for each in found] == [("function", True), ("unused", False)]
    assert found[0]["figures"] == {"cyclomatic": 14, "nesting": 5} and found[0]["number"] == 1
    assert grades("refactor", "test_grades.py").stdout == "Nothing stands out.\n"


def test_a_suggestion_that_needs_no_model_is_applied(grades: Kith) -> None:
    done = json.loads(grades("refactor", "--apply", "2", "--yes", "--json", "--check", CHECK).stdout)
    assert done["status"] == "done" and not done["usage"]["calls"]
    assert (grades.folder / "grades.py").read_text() == GRADE.removeprefix("import os\n\n\n")
    grades("undo")
    assert not changed(grades.folder)


def test_words_that_mean_nothing_are_one_sentence(grades: Kith) -> None:
    for words, why in {
        ("--apply", "9"): "There is no suggestion 9; there are 2.",
        ("nowhere.py",): "There is no file or folder nowhere.py; a refactoring is one of rename, move,",
        ("renam", "prices.py:total", "x"): "There is no refactoring 'renam'; did you mean rename?",
        ("rename", "grades.py"): "Write kith refactor rename PATH:NAME NEW.",
        ("rename", "grades.py", "x"): "'grades.py' names no place; write PATH:NAME.",
        ("extract", "grades.py:a-b", "x"): "'a-b' are no lines; write FIRST-LAST, such as 10-24.",
        (
            "inline",
            "../grades.py:grade",
        ): "../grades.py is not in the project",
        ("inline", "none.py:grade"): "There is no file none.py.",
    }.items():
        done = grades("refactor", *words, code=None)
        assert done.returncode == 2 and why in done.stderr.replace("\n", " ").replace("  ", " "), done.stderr
        assert "Traceback" not in done.stderr


# --- by a model ------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_model_makes_what_needs_one_behind_the_tests(grades: Kith, replay: Any, sandbox: None) -> None:
    model = replay({"expect": "grade: 14 ways.*from line 4", **edit(LAST, SHORT)}, DONE)
    done = json.loads(
        grades("refactor", "--apply", "1", "--yes", "--json", "--check", CHECK, "-m", model).stdout
    )
    assert done["status"] == "done"
    assert (grades.folder / "grades.py").read_text() == GRADE.replace(LAST, SHORT)
    checks = done["receipt"]["checks"]
    assert [each["ok"] for each in checks["before"] + checks["after"]] == [True, True]


@pytest.mark.slow
def test_a_refactoring_that_breaks_a_test_is_refused(grades: Kith, replay: Any) -> None:
    model = replay(edit("share >= 0.5", "share > 0.5"), DONE, DONE)
    words = ("refactor", "simplify the end of grade", "--tries", "2", "--check", CHECK, "-m", model)
    done = grades(*words, "--yes", code=1)
    assert "Nothing was applied: after 2 tries, `python3 -m unittest -q` ends with exit code 1" in done.stderr
    assert not changed(grades.folder)


@pytest.mark.slow
def test_tests_are_locked_unless_the_person_says_otherwise(grades: Kith, replay: Any) -> None:
    touch = {"calls": [{"name": "bash", "args": {"command": "echo '# easier' >> test_grades.py"}}]}
    model = replay(touch, edit(LAST, SHORT), DONE, DONE)
    done = grades("refactor", "simplify the end of grade", "--check", CHECK, "-m", model, "--yes")
    assert changed(grades.folder) == ["grades.py"], done.stderr
    model = replay(touch, DONE)
    grades("refactor", "say it in the tests", "--with-tests", "--check", CHECK, "-m", model, "--yes")
    assert changed(grades.folder) == ["grades.py", "test_grades.py"]


def test_nothing_is_refactored_that_nothing_holds(grades: Kith, replay: Any) -> None:
    model = replay(edit(LAST, SHORT), DONE)
    broken = ("refactor", "simplify grade", "--check", "false", "--yes", "-m", model)
    assert "false already fails, so it cannot show what breaks." in grades(*broken, code=1).stderr
    for name in ("test_grades.py",):
        (grades.folder / name).unlink()
    untested = ("refactor", "simplify grade", "--yes", "-m", model)
    assert "nothing protects its behaviour" in " ".join(grades(*untested, code=1).stderr.split())
    grades(*untested, "--check", "none")
    assert SHORT in (grades.folder / "grades.py").read_text()


@pytest.mark.slow
def test_a_function_without_tests_gets_them_first(
    grades: Kith, replay: Any, home: Path, sandbox: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    (grades.folder / "grades.py").write_text(MANY)
    (grades.folder / "test_grades.py").write_text(TEST_NOTHING)
    tests = "test_more.py\n```\n" + TEST_MANY + "```\n"
    role = home / ".config" / "kith" / "roles" / "tester.md"
    role.parent.mkdir(parents=True)
    spec = find_role("tester")
    head = f"purpose: test\nmodel: {replay(tests, 'Done.', 'Done.', 'Done.')}\ntools: done\npolicy: tests"
    role.write_text(f"---\n{head}\n---\n{spec.words}")
    model = replay(edit("    price = weight + width\n    return price", "    return weight + width"), DONE)
    done = grades("refactor", "--apply", "1", "--yes", "-m", model, code=None)
    assert "No test runs parcel; write tests of what it does now first." in " ".join(done.stderr.split())
    assert done.returncode == 0, done.stderr
    assert "return weight + width" in (grades.folder / "grades.py").read_text()
    kept = [file for file in grades.folder.glob("test_*.py") if "parcel(10, 2, 3, 4" in file.read_text()]
    assert len(kept) == 1


# --- a real project --------------------------------------------------------------------------


@pytest.fixture
def real(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Kith:
    """kith in toolz, with the tests that toolz itself has of two of its modules."""
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    source = Path(toolz.__file__).parent
    shutil.copytree(source, tmp_path / "real" / "toolz", ignore=shutil.ignore_patterns("__pycache__"))
    commit(tmp_path / "real", {"README.md": "toolz\n"})
    return Here(tmp_path / "real")


TOOLZ_CHECK = (
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python3 -m pytest -q"
    " toolz/tests/test_recipes.py toolz/tests/test_curried.py"
)


@pytest.mark.slow
def test_the_real_project_keeps_its_behaviour(real: Kith) -> None:
    """A namespace that is put together by its spelling is seen by no syntax tree, but by a test."""
    done = real(
        "refactor", "rename", "toolz/recipes.py:countby", "count_by", "--yes", "--check", TOOLZ_CHECK, code=1
    )
    assert "Nothing was applied" in done.stderr and "missing functions" in " ".join(done.stderr.split())
    assert not changed(real.folder)
    real(
        "refactor", "move", "toolz/recipes.py:countby", "toolz/itertoolz.py", "--yes", "--check", TOOLZ_CHECK
    )
    assert changed(real.folder) == ["toolz/itertoolz.py", "toolz/recipes.py"]


def test_a_request_in_words_looks_at_scopes(real: Kith) -> None:
    real("run", "rename no_pad to nothing", "--yes", "--check", "none")
    assert changed(real.folder) == ["toolz/itertoolz.py"]
    assert "fillvalue=nothing" in (real.folder / "toolz" / "itertoolz.py").read_text()


def test_cpp_is_renamed_in_its_function(tmp_path: Path, home: Path) -> None:
    text = '#include <map>\n#include "b.h"\n#include <list>\n'
    text += "int f(int a) { return a; }\nint g(int a) { return a; }\n"
    (tmp_path / "cpp").mkdir()
    commit(tmp_path / "cpp", {"a.cpp": text})
    kith = Here(tmp_path / "cpp")
    kith("refactor", "rename", "a.cpp:f.a", "left", "--yes")
    kith("refactor", "organise-imports", ".", "--yes")
    assert (tmp_path / "cpp" / "a.cpp").read_text() == (
        '#include <list>\n#include <map>\n#include "b.h"\n'
        "int f(int left) { return left; }\nint g(int a) { return a; }\n"
    )


# --- the page --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_says_what_happens(tmp_path: Path, home: Path) -> None:
    """Its files make a project, its commands run in their order, and its last files are what comes out."""
    text = (DOCS / "refactoring.md").read_text()
    before, _, then = text.partition("```console")
    files, made = (dict(re.findall(r"```python\n# (\S+)\n(.*?)```", part, re.S)) for part in (before, then))
    (tmp_path / "page").mkdir()
    commit(tmp_path / "page", files)
    kith = Here(tmp_path / "page")
    for line in re.findall(r"^\$ kith (refactor .+)$", text, re.M):
        kith(*line.split(), "--yes", "--check", CHECK)
    for path, body in made.items():
        assert (kith.folder / path).read_text() == body, path
