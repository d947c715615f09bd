"""Somebody else writes at the same time: an editor, git, another kith. No save of theirs is ever lost."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kith.core.errors import TreeError
from kith.core.values import Change
from kith.trees.journal import apply_changes, recover

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's renameat2 and leases")

# Saves a growing list of its own lines, by turns through a rename, in place, and in place with a pause. Each
# save must still be there afterwards, whatever else the file holds; it says how many were not.
EDITOR = """
import os, random, sys, time
path, saves, lost, mine = sys.argv[1], int(sys.argv[2]), 0, []
chance = random.Random(7)
for number in range(saves):
    mine.append(f"editor {number}\\n")
    text = "".join(mine)
    if number % 3 == 0:
        with open(path + "~", "w") as file:
            file.write(text)
        os.replace(path + "~", path)
    else:
        with open(path, "w") as file:
            if number % 3 == 1:
                time.sleep(chance.uniform(0, 0.003))
            file.write(text)
    until = time.monotonic() + 2
    while text not in open(path).read():
        if time.monotonic() > until:
            lost += 1
            break
    time.sleep(chance.uniform(0, 0.006))
print(lost)
"""


@contextmanager
def editor(path: Path, saves: int) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-I", "-c", EDITOR, str(path), str(saves)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process


def race(root: Path, state: Path, saves: int) -> tuple[int, int, int]:
    """Apply changes while an editor saves: how many were applied, refused, and how many saves were lost."""
    file, applied, refused = root / "file", 0, 0
    file.write_text("")
    with editor(file, saves) as process:
        while process.poll() is None:
            now = file.read_bytes()
            try:
                apply_changes(root, state, (Change("file", now, now + b"kith %d\n" % applied),))
                applied += 1
            except TreeError as error:
                assert "file" in str(error), error
                refused += 1
        assert process.stdout
        return applied, refused, int(process.stdout.read())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@linux
@pytest.mark.slow
def test_an_editor_that_saves_all_the_time_loses_nothing(root: Path, state: Path) -> None:
    applied, refused, lost = race(root, state, 500)
    assert lost == 0
    assert applied and refused, "both must have happened, or there was no race"
    assert recover(root, state) == ()
    assert [path.name for path in root.iterdir()] == ["file"]


if __name__ == "__main__":  # python tests/trees/test_editors.py FOLDER SAVES
    base = Path(sys.argv[1])
    (base / "root").mkdir(parents=True)
    print("applied, refused, lost:", race(base / "root", base / "state", int(sys.argv[2])))
