"""Somebody else writes at the same time: an editor, git, another kith. No save of theirs is ever lost."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from kith.core.errors import TreeError
from kith.core.values import FILE, Change
from kith.trees.journal import apply_changes, list_applied, recover
from kith.trees.records import ChangeRecord, load_record, open_journal, save_record

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's renameat2 and leases")
AT_ONCE = ("a", "b/c", "b/d")  # files that every kith changes together

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
# Counts up in all files at once, until it has done so often enough or is killed.
COUNTER = """
import sys
from pathlib import Path
from kith.core.errors import KithError
from kith.core.values import Change
from kith.trees.journal import apply_changes, recover
root, state, times, names = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
while times:
    try:
        recover(root, state)
        now = [(root / name).read_bytes() for name in names]
        wanted = b"%d" % (int(now[0]) + 1)
        apply_changes(root, state, tuple(Change(name, old, wanted) for name, old in zip(names, now)))
        print("done", flush=True)
        times -= 1
    except (KithError, OSError):
        continue
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
@pytest.mark.parametrize("after", [b"new", None])
def test_a_file_that_is_being_written_is_left_to_its_writer(
    root: Path, state: Path, after: bytes | None
) -> None:
    (root / "file").write_bytes(b"old")
    other = Change("other", None, b"x")
    with (root / "file").open("r+b") as writing:
        with pytest.raises(TreeError, match="file was changed by another program meanwhile; nothing was"):
            apply_changes(root, state, (Change("file", b"old", after), other))
        writing.write(b"mine")
    assert {path.name: path.read_bytes() for path in root.iterdir()} == {"file": b"mine"}
    assert apply_changes(root, state, (Change("file", b"mine", after), other))


@pytest.mark.parametrize("change", [Change("file", b"old", b"new"), Change("file", b"old", None)])
@pytest.mark.parametrize("how", ["swapping", "failing"])
def test_a_save_that_a_crash_had_put_aside_comes_back(
    root: Path, state: Path, change: Change, how: str
) -> None:
    """kith was killed after it had taken a file out of its place, and before it looked at what it was."""
    cut_short(root, state, change, how)
    if change.after is not None:
        (root / "file").write_bytes(change.after)
    (root / ".aside").write_bytes(b"saved at the last moment")
    recover(root, state)
    assert {path.name: path.read_bytes() for path in root.iterdir()} == {"file": b"saved at the last moment"}
    assert list_applied(root, state) == () == recover(root, state)


@pytest.mark.parametrize("change", [Change("file", b"old", b"new"), Change("file", b"old", None)])
@pytest.mark.parametrize("how", ["staging", "swapping", "failing"])
@pytest.mark.parametrize("there", [b"saved once more", None])
def test_recovery_leaves_no_temporary_and_loses_no_save(
    root: Path, state: Path, change: Change, how: str, there: bytes | None
) -> None:
    """An editor saved before kith was killed, and wrote to the file again (or deleted it) after that."""
    if there is None and change.after is None:
        there = b"new file"  # else the save just comes back
    for aside in (b"saved", b"old"):
        cut_short(root, state, change, how)
        (root / "file").unlink(missing_ok=True)
        if there is not None:
            (root / "file").write_bytes(there)
        (root / ".aside").write_bytes(aside)
        (recovered,) = recover(root, state)
        assert {path.name: path.read_bytes() for path in root.iterdir()} == ({"file": there} if there else {})
        assert [path.read_bytes() for path in recovered.saved] == ([aside] if aside == b"saved" else [])
        assert recover(root, state) == ()


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes with names")
@pytest.mark.parametrize("what", ["pipe", "folder"])
def test_what_is_no_file_any_more_does_not_stop_recovery(root: Path, state: Path, what: str) -> None:
    cut_short(root, state, Change("file", b"old", b"new"), "swapping")
    (root / "file").write_bytes(b"new")
    if what == "pipe":
        os.mkfifo(root / ".aside")
    else:
        (root / ".aside").mkdir()
    assert [each.outcome for each in recover(root, state)] == ["taken back"]
    assert not (root / "file").is_file()
    assert [path.name for path in root.iterdir()] == ["file"]


def cut_short(root: Path, state: Path, change: Change, how: str) -> None:
    """What a kith leaves that was killed while it changed one file, whose temporary was `.aside`."""
    (root / "file").write_bytes(b"old")
    made = apply_changes(root, state, (change,))
    journal = open_journal(state)
    record = load_record(journal, made)
    (journal / f"{made}.applied").unlink()
    save_record(journal, ChangeRecord(made, (replace(record.entries[0], temporary=".aside"),)))
    (journal / f"{made}.staging").rename(journal / f"{made}.{how}")


def test_a_checkout_in_between_is_noticed(root: Path, state: Path, home: Path) -> None:
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "1")):
        (root / "file").write_bytes(b"one\n")
        subprocess.run(["git", *words], cwd=root, check=True)
    (root / "file").write_bytes(b"two\n")
    seen = (root / "file").read_bytes()
    subprocess.run(["git", "checkout", "-q", "."], cwd=root, check=True)
    with pytest.raises(TreeError, match="file was edited meanwhile"):
        apply_changes(root, state, (Change("file", seen, b"three\n", FILE),))
    assert (root / "file").read_bytes() == b"one\n"


@linux
@pytest.mark.slow
def test_an_editor_that_saves_all_the_time_loses_nothing(root: Path, state: Path) -> None:
    applied, refused, lost = race(root, state, 500)
    assert lost == 0
    assert applied and refused, "both must have happened, or there was no race"
    assert recover(root, state) == ()
    assert [path.name for path in root.iterdir()] == ["file"]


def count_together(root: Path, state: Path, times: int, kills: int) -> tuple[int, int]:
    """Two kiths count in the same files and are killed now and then: (what they said was done, the count)."""
    for name in AT_ONCE:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"0")
    chance, said = random.Random(5), 0
    for number in range(kills + 1):
        left = times if number == kills else 1_000_000
        command = [sys.executable, "-c", COUNTER, str(root), str(state), str(left), *AT_ONCE]
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        if number < kills:
            assert both[0].stdout
            both[0].stdout.readline()
            said += 1
            time.sleep(chance.uniform(0, 0.03))
            both[0].kill()
            time.sleep(chance.uniform(0, 0.03))  # the other one repairs what the first has left
            both[1].kill()
        said += sum(process.communicate()[0].count("done") for process in both)
        recover(root, state)
        counts = {(root / name).read_bytes() for name in AT_ONCE}
        assert len(counts) == 1, f"the sets were mixed: {counts}"
    return said, int(counts.pop())


@linux
@pytest.mark.slow
def test_two_kiths_that_are_killed_now_and_then_count_right(root: Path, state: Path) -> None:
    said, counted = count_together(root, state, 60, 6)
    assert said <= counted <= said + 2 * 6, "what was said to be done is done; the last of each may be unsaid"
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()) == sorted(
        AT_ONCE
    )


if __name__ == "__main__":  # python tests/trees/test_journal_beside_editors.py FOLDER SAVES SETS KILLS
    base, saves, sets, kills = Path(sys.argv[1]), *map(int, sys.argv[2:])
    for folder in ("raced", "counted"):
        (base / folder).mkdir(parents=True)
    print("applied, refused, lost:", race(base / "raced", base / "state", saves))
    print("said, counted:", count_together(base / "counted", base / "state", sets, kills))
