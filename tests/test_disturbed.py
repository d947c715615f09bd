"""Only tests with the mark `disturbed` are tried again; all others fail at once."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT, SUPPORT

MARKED = 19  # this number may only fall: a test that fails now and then has a fault, or shows one
EACH = """
from pathlib import Path

import pytest

disturbed = pytest.mark.disturbed("by the weather")


def tried(name, fails):
    file = Path(__file__).with_name(name)
    with file.open("a") as tries:
        tries.write(".")
    assert len(file.read_text()) > fails, "rain"


@pytest.fixture
def prepared(tmp_path):
    tried("prepared", 1)
    return tmp_path


@disturbed
def test_well():
    tried("well", 0)


@disturbed
def test_once():
    tried("once", 1)


@disturbed
def test_twice():
    tried("twice", 2)


@disturbed
def test_fixture(prepared):
    assert not list(prepared.iterdir())


@disturbed
def test_skipped():
    tried("skipped", 0)
    pytest.skip("no sun")


def test_plain():
    tried("plain", 1)
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "disturbed", "-p", "no:cacheprovider", *words]
    environ = {**os.environ, "PYTHONPATH": str(SUPPORT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environ.pop("PYTEST_XDIST_WORKER", None)
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)


@pytest.mark.parametrize(
    "words",
    [(), pytest.param(("-p", "xdist.plugin", "-n", "2"), marks=pytest.mark.slow)],
    ids=["alone", "xdist"],
)
def test_only_marked_tests_are_tried_again(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "test_each.py").write_text(EACH)
    done = run(tmp_path, "--strict-markers", "-rf", *words)
    tries = {
        file.name: len(file.read_text()) for file in tmp_path.iterdir() if not file.suffix and file.is_file()
    }
    assert tries == {"well": 1, "once": 2, "twice": 2, "prepared": 2, "skipped": 1, "plain": 1}
    assert done.returncode == 1
    assert "2 failed, 3 passed, 1 skipped, 3 tried again" in done.stdout
    failed = re.findall(r"^FAILED test_each.py::(\w+)", done.stdout, re.MULTILINE)
    assert sorted(failed) == ["test_plain", "test_twice"]
    named = re.findall(r"^TRIED AGAIN test_each.py::(\w+) \(by the weather\)", done.stdout, re.MULTILINE)
    assert sorted(named) == ["test_fixture", "test_once", "test_twice"]


def test_a_second_try_that_passes_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "test_each.py").write_text(EACH)
    done = run(tmp_path, "-k", "once or well")
    assert done.returncode == 0 and "2 passed, 4 deselected, 1 tried again" in done.stdout
    assert "AssertionError: rain" in done.stdout, "the first failure is shown"


def test_the_mark_needs_a_reason(tmp_path: Path) -> None:
    (tmp_path / "test_bare.py").write_text("import pytest\n@pytest.mark.disturbed\ndef test(): pass\n")
    done = run(tmp_path)
    assert done.returncode == 4 and "test_bare.py::test: disturbed() needs one sentence" in done.stderr


def test_few_tests_are_marked() -> None:
    files = [file for file in (ROOT / "tests").rglob("test_*.py") if file != Path(__file__)]
    assert sum(file.read_text().count("mark.disturbed(") for file in files) == MARKED
