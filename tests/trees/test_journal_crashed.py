"""Whatever kills an apply or an undo, and wherever: the tree is wholly old or wholly new afterwards."""

import json
import os
import random
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kith.core.errors import TreeError
from kith.core.values import EXECUTABLE, FILE, SYMLINK, Change
from kith.trees.journal import apply_changes, list_applied, recover
from kith.trees.records import find_records, open_journal
from places import SUPPORT
from sweeping import quick_place

OLD = {
    "edit": (b"old edit\n" * 50, 0o644),
    "src/delete": (b"old delete\n", 0o600),
    "chmod": (b"same\n", 0o644),
    "becomes": (b"a file becomes a folder\n", 0o640),
    "untouched": (b"untouched\n", 0o755),
}
CHANGES = (
    Change("edit", OLD["edit"][0], b"new edit\n" * 60),
    Change("src/delete", OLD["src/delete"][0], None),
    Change("chmod", OLD["chmod"][0], OLD["chmod"][0], EXECUTABLE),
    Change("becomes", OLD["becomes"][0], None),
    Change("becomes/file", None, b"new file\n"),
    Change("add/deep", None, b"new deep\n"),
    Change("link", None, b"add/deep", SYMLINK),
)

# Forks once per line of standard input: the fork applies CHANGES (or undoes them, or recovers) and meets its
# fate at the Nth call that touches the disk, or is killed after `delay` seconds. Answers in one line each.
NURSERY = """
import asyncio, errno, json, os, signal, sys, time
from pathlib import Path
sys.path[:0] = sys.argv[1:]
from test_journal_crashed import CHANGES
from kith.core.errors import TreeError
from kith.trees.journal import apply_changes, list_applied, recover
from kith.trees.journal import undo_changes

TOUCHING = ("open", "write", "fsync", "rename", "replace", "unlink", "mkdir", "rmdir", "symlink", "fchmod")
calls = 0

def meet_fate(name, real, nth, fate):
    def call(*args, **kwargs):
        global calls
        calls += 1
        if calls == nth:
            if name == "write" and fate in ("torn", "error"):
                real(args[0], bytes(args[1])[: len(args[1]) // 2])
            if fate != "error":
                os._exit(9)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(*args, **kwargs)
    return call

def act(root, state, action, nth, fate):
    last = list_applied(root, state)[-1] if action == "undo" else ""
    undo = asyncio.run(undo_changes(root, state, last)) if last else ()
    for name in TOUCHING:
        setattr(os, name, meet_fate(name, getattr(os, name), nth, fate))
    try:
        if action == "recover":
            recover(root, state)
        else:
            apply_changes(root, state, undo or CHANGES, undoes=last)
        return f"done {calls}"
    except TreeError as error:
        return f"refused {error}"

for line in sys.stdin:
    root, state, action, nth, fate, delay = json.loads(line)
    answer, tell = os.pipe()
    began = time.monotonic()
    pid = os.fork()
    if not pid:
        words = act(Path(root), Path(state), action, nth, fate)
        write_back = os.fdopen(tell, "w")
        write_back.write(words)
        write_back.flush()
        os._exit(0)
    os.close(tell)
    if fate == "kill":
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with os.fdopen(answer) as file:
        print(json.dumps([code, file.read(), time.monotonic() - began]), flush=True)
"""

Tree = dict[str, tuple[bytes, int]]
Sides = tuple[Tree, Tree]


def build(base: Path) -> tuple[Path, Path]:
    root, state = base / "root", base / "state"
    for name, (content, mode) in OLD.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
        (root / name).chmod(mode)
    return root, state


def snapshot(root: Path) -> Tree:
    found: Tree = {}
    for path in root.rglob("*"):
        mode = path.lstat().st_mode
        content = os.fsencode(path.readlink()) if stat.S_ISLNK(mode) else b""
        found[str(path.relative_to(root))] = (path.read_bytes() if stat.S_ISREG(mode) else content, mode)
    return found


Run = Callable[..., tuple[int, str, float]]


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: the calls are the same, and nobody waits for a disk."""
    with tempfile.TemporaryDirectory(dir=quick_place() or tmp_path) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Carries out one action in a process of its own; gives its exit code, last words and seconds."""
    command = [sys.executable, "-c", NURSERY, str(Path(__file__).parent), str(SUPPORT)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
        assert nursery.stdin and nursery.stdout

        def carry_out(
            root: Path, state: Path, action: str, nth: int = 0, fate: str = "exit", delay: float = 0.0
        ) -> tuple[int, str, float]:
            assert nursery.stdin and nursery.stdout
            nursery.stdin.write(json.dumps([str(root), str(state), action, nth, fate, delay]) + "\n")
            nursery.stdin.flush()
            code, words, seconds = json.loads(nursery.stdout.readline())
            return code, words, seconds

        yield carry_out
        nursery.stdin.close()


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Sides:
    """The tree before and after the change."""
    root, state = build(tmp_path_factory.mktemp("sides"))
    old = snapshot(root)
    apply_changes(root, state, CHANGES)
    return old, snapshot(root)


def prepare(base: Path, action: str) -> tuple[Path, Path]:
    root, state = build(base)
    if action == "undo":
        apply_changes(root, state, CHANGES)
    return root, state


def files(tree: Tree) -> Tree:
    """A snapshot without its folders: a folder that cannot be removed may stay."""
    return {name: file for name, file in tree.items() if not stat.S_ISDIR(file[1])}


def check(
    root: Path, state: Path, action: str, sides: Sides, view: Callable[[Tree], Tree] = lambda tree: tree
) -> None:
    """All of it or nothing, no temporaries, and the journal says the same as the tree."""
    recover(root, state)
    now, applied = view(snapshot(root)), list_applied(root, state)
    assert now in sides, sorted(now.items() ^ sides[0].items())
    assert len(applied) == (action == "undo") + ((now == sides[1]) == (action == "apply"))
    assert {found[1] for found in find_records(root, open_journal(state))} <= {"applied"}
    assert recover(root, state) == ()
    assert view(snapshot(root)) == now


@pytest.mark.slow
@pytest.mark.parametrize("fate", ["exit", "torn"])
@pytest.mark.parametrize("action", ["apply", "undo"])
def test_every_call_that_touches_the_disk_may_be_the_last(
    tmp_path: Path, run: Run, sides: Sides, action: str, fate: str
) -> None:
    for nth in range(1, 1000):
        root, state = prepare(tmp_path / str(nth), action)
        code, words, _ = run(root, state, action, nth, fate)
        check(root, state, action, sides)
        if code == 0:
            assert words.startswith("done")
            break
    assert nth > 100


@pytest.mark.slow
@pytest.mark.parametrize("action", ["apply", "undo"])
def test_every_call_that_touches_the_disk_may_fail(
    tmp_path: Path, run: Run, sides: Sides, action: str
) -> None:
    """An input/output error is cleaned up at once, and the answer says what became of the tree."""
    done = 0
    for nth in range(1, 1000):
        root, state = prepare(tmp_path / str(nth), action)
        code, words, _ = run(root, state, action, nth, "error")
        assert code == 0
        assert list(root.rglob("*.kith-tmp")) == []
        changed = files(snapshot(root)) == files(sides[action == "apply"])
        assert changed == words.startswith("done"), words
        check(root, state, action, (files(sides[0]), files(sides[1])), files)
        if changed and int(words.split()[1]) < nth:
            break
        done += changed
    assert nth > 100
    assert done < nth / 20, "most errors must be refusals"


@pytest.mark.slow
def test_recovery_itself_may_be_killed_anywhere_and_twice(tmp_path: Path, run: Run, sides: Sides) -> None:
    for first in range(20, 160, 10):
        for nth in range(1, 1000, 4):
            root, state = prepare(tmp_path / f"{first}-{nth}", "apply")
            run(root, state, "apply", first, "exit")
            _, words, _ = run(root, state, "recover", nth, "torn")
            run(root, state, "recover", nth // 2 + 1, "exit")
            check(root, state, "apply", sides)
            if words:
                break


@pytest.mark.disturbed("kills at random moments")
@pytest.mark.slow
@pytest.mark.parametrize("action", ["apply", "undo"])
def test_kill_nine_at_random_moments(tmp_path: Path, run: Run, sides: Sides, action: str) -> None:
    chance, longest, outcomes = random.Random(action), 0.02, set[bool]()
    for number in range(100):
        root, state = prepare(tmp_path / str(number), action)
        if number % 10:
            run(root, state, action, fate="kill", delay=chance.uniform(0, longest))
        else:  # measure how long it takes, to spread the others over it
            longest = run(root, state, action)[2]
        check(root, state, action, sides)
        outcomes.add(snapshot(root) == sides[0])
    assert outcomes == {True, False}, "the kills must fall on both sides"


@pytest.fixture
def cut_short(tmp_path: Path, run: Run) -> Iterator[tuple[Path, Path]]:
    """A tree in which an apply was killed half-way through its renames."""
    for nth in range(1, 1000):
        root, state = prepare(tmp_path / f"cut{nth}", "apply")
        run(root, state, "apply", nth, "exit")
        if (root / "edit").read_bytes() != OLD["edit"][0] and not (root / "link").is_symlink():
            yield root, state
            return
    pytest.fail("no point lies in the middle")


@pytest.mark.slow
def test_an_edit_after_the_crash_is_kept_and_the_rest_taken_back(cut_short: tuple[Path, Path]) -> None:
    root, state = cut_short
    (root / "chmod").write_bytes(b"mine\n")
    assert [each.outcome for each in recover(root, state)] == ["taken back"]
    assert (root / "chmod").read_bytes() == b"mine\n"
    left = {name: file for name, file in snapshot(root).items() if name != "chmod"}
    clean, _ = build(root.parent / "clean")
    assert left == {name: file for name, file in snapshot(clean).items() if name != "chmod"}
    assert list_applied(root, state) == ()


@pytest.mark.slow
def test_the_next_apply_repairs_first(cut_short: tuple[Path, Path], sides: Sides) -> None:
    root, state = cut_short
    with pytest.raises(TreeError, match="edited meanwhile"):
        apply_changes(root, state, (Change("edit", OLD["edit"][0], b"x", FILE),))
    assert snapshot(root) == sides[1]
