"""What is shown can be applied: real git is the judge."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kith.core.values import EXECUTABLE, FILE, SYMLINK, Change
from kith.edits import keep_hunks, split_hunks, summarise, unified_diff

ALONE = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
CHANGES = [
    Change("a.txt", b"one\ntwo\n", b"one\n2\n"),
    Change("a.txt", b"one\ntwo", b"one\ntwo\n"),
    Change("a.txt", b"one\ntwo\n", b"one\ntwo"),
    Change("a.txt", b"one", b"two"),
    Change("a.txt", b"", b"x\n"),
    Change("a.txt", b"x\n", b""),
    Change("new/b.txt", None, b"x\ny"),
    Change("empty", None, b""),
    Change("gone.txt", b"x\n", None),
    Change("gone", b"", None),
    Change("with blank.txt", b"x\r\ny\n", b"x\ny\r\n"),
    Change("ta\tb \"q\" \\ ä.txt", b"x\n", b"y\n"),
    Change("latin\udce9.txt", b"\xe9\n", b"\xff\x0c\n"),
    Change("run.sh", b"x\n", b"x\n", EXECUTABLE, FILE),
    Change("run.sh", b"x\n", b"y\n", FILE, EXECUTABLE),
    Change("tool", None, b"x\n", EXECUTABLE),
    Change("link", None, b"a.txt", SYMLINK),
    Change("-- dash", b"-- x\n++ y\n", b"++ y\n-- x\n"),
]  # fmt: skip


def by_git(change: Change, diff: str, folder: Path) -> bytes | None:
    """What `git apply` makes of the file; a link's content is its target."""
    path = folder / change.path
    path.parent.mkdir(exist_ok=True)
    if change.before is not None:
        path.write_bytes(change.before)
        path.chmod(change.mode_before & 0o777)
    ran = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "-"],
        cwd=folder,
        input=diff.encode("utf-8", "surrogateescape"),
        env={**ALONE, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
        capture_output=True,
    )
    assert ran.returncode == 0, (ran.stderr.decode(), diff)
    if path.is_symlink():
        return os.fsencode(path.readlink())
    if not path.exists():
        return None
    assert (path.stat().st_mode & 0o100 > 0) == (change.mode == EXECUTABLE)
    return path.read_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not take all of these names and modes")
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.path!a}")
def test_git_applies_the_diff(change: Change, tmp_path: Path) -> None:
    assert by_git(change, unified_diff(change), tmp_path) == change.after


ROWS = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"c\r\n", b"-- d\n", b"\xff\n"]), max_size=30).map(
    b"".join
)
ENDED = st.tuples(ROWS, st.sampled_from([b"", b"", b"end"])).map(b"".join)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=ENDED, after=ENDED, kept=st.sets(st.integers(0, 3)))
def test_git_and_keep_hunks_agree(
    before: bytes, after: bytes, kept: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    change = Change("a.txt", before, after)
    hunks = [hunk for number, hunk in enumerate(split_hunks(change)) if number in kept]
    if not hunks:
        assert keep_hunks(change, kept).after == before
        return
    diff = "--- a/a.txt\n+++ b/a.txt\n" + "".join(hunk.text for hunk in hunks)
    assert by_git(change, diff, tmp_path_factory.mktemp("git")) == keep_hunks(change, kept).after


def test_a_diff_reads_as_git_prints_it() -> None:
    before = b"".join(b"%d\n" % number for number in range(1, 31))
    after = before.replace(b"\n3\n", b"\nthree\n").replace(b"\n25\n", b"\n")
    change = Change("a.txt", before, after)
    assert unified_diff(change) == (
        "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n"
        "@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n"
        "@@ -22,7 +22,6 @@\n 22\n 23\n 24\n-25\n 26\n 27\n 28\n"
    )
    (summary,) = summarise((change,))
    assert (summary.path, summary.added, summary.removed) == ("a.txt", 1, 2)
    assert summary.diff == unified_diff(change)


def test_what_is_not_text_is_named_only() -> None:
    change = Change("i.png", b"\0a", b"\0b")
    assert unified_diff(change) == "diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n"
    (summary,) = summarise((change,))
    assert (summary.added, summary.removed) == (0, 0)


def test_a_large_rewrite_is_one_piece_and_exact() -> None:
    before = b"".join(b"%d\n" % number for number in range(20_000))
    change = Change("a.txt", before, before.replace(b"1", b"one"))
    assert len(split_hunks(change)) == 1
    assert keep_hunks(change, [0]) == change
