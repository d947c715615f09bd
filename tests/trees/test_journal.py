"""A change is applied whole or not at all, and can be taken back."""

import asyncio
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kith.core.errors import BusyError, KithError, TreeError
from kith.core.locks import hold_when_free
from kith.core.values import EXECUTABLE, FILE, SYMLINK, Change, Changes
from kith.core.workspace import SizeLimits
from kith.trees.journal import apply_changes, list_applied, load_changes, recover, undo_changes
from kith.trees.records import find_records, open_journal, prune_records

Tree = dict[str, tuple[bytes, int]]


def snapshot(root: Path) -> Tree:
    """Every file and link with its content and mode, and every folder."""
    found: Tree = {}
    for path in root.rglob("*"):
        name, mode = str(path.relative_to(root)), path.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[name] = (os.fsencode(path.readlink()), SYMLINK)
        else:
            found[name] = (b"" if stat.S_ISDIR(mode) else path.read_bytes(), mode)
    return found


def undo(root: Path, state: Path, change_id: str) -> str:
    return apply_changes(root, state, asyncio.run(undo_changes(root, state, change_id)), undoes=change_id)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "src" / "deep").mkdir(parents=True)
    for name, text in {"a": "one\n", "b": "two\n", "src/c": "three\n", "src/deep/d": "four\n"}.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


MIXED: Changes = (
    Change("a", b"one\n", b"ONE\n"),
    Change("b", b"two\n", b"two\n", EXECUTABLE),
    Change("src/c", b"three\n", None),
    Change("src/deep/d", b"four\n", None),
    Change("new/folder/e", None, b"#!/bin/sh\n", EXECUTABLE),
    Change("link", None, b"new/folder/e", SYMLINK),
)


def test_applies_edits_additions_deletions_modes_and_links(root: Path, state: Path) -> None:
    before = snapshot(root)
    change_id = apply_changes(root, state, MIXED)
    after = snapshot(root)
    assert after["a"][0] == b"ONE\n"
    assert after["b"][1] & 0o100
    assert after["new/folder/e"] == (b"#!/bin/sh\n", after["b"][1])
    assert after["link"] == (b"new/folder/e", SYMLINK)
    assert not any(name.startswith("src") for name in after), "folders left empty go"
    assert load_changes(state, change_id) == MIXED
    assert list_applied(root, state) == (change_id,)
    second = undo(root, state, change_id)
    assert snapshot(root) == before
    undo(root, state, second)
    assert snapshot(root) == after


NAMES = ["a", "b", "c/d", "c/e", "f/g/h", "c", "f/g", os.fsdecode(b"\xff"), "x y", "-r", "*"]
contents = st.binary(max_size=20).map(lambda data: data.replace(b"\0", b"\r\n"))
trees = st.dictionaries(st.sampled_from(NAMES), st.tuples(contents, st.sampled_from([FILE, EXECUTABLE])))


def _without_clashes(files: Tree) -> Tree:
    return {
        name: file for name, file in files.items() if not any(other.startswith(name + "/") for other in files)
    }


def _build(root: Path, files: Tree) -> None:
    for name, (content, mode) in files.items():
        path = Path(os.fsdecode(os.fsencode(root) + b"/" + os.fsencode(name)))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(mode & 0o777)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=trees, new=trees)
def test_undo_restores_any_tree_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, old: Tree, new: Tree
) -> None:
    old, new = _without_clashes(old), _without_clashes(new)
    base = tmp_path_factory.mktemp("any")
    root, wanted, state = base / "root", base / "wanted", base / "state"
    for folder, files in ((root, old), (wanted, new)):
        folder.mkdir()
        _build(folder, files)
    nothing = (None, FILE)
    changes = tuple(
        Change(
            name,
            old.get(name, nothing)[0],
            new.get(name, nothing)[0],
            new.get(name, nothing)[1],
            old.get(name, nothing)[1],
        )
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    )
    before, after = snapshot(root), snapshot(wanted)
    if changes:
        change_id = apply_changes(root, state, changes)
        assert snapshot(root) == after
        undo(root, state, change_id)
    assert snapshot(root) == before


@pytest.mark.parametrize(
    "change",
    [
        Change("a", b"stale\n", b"x"),
        Change("a", None, b"x"),
        Change("a", b"one\n", b"x", FILE, EXECUTABLE),
        Change("missing", b"x", None),
        Change("src", None, b"x"),
        Change("a/below", None, b"x"),
        Change("../out", None, b"x"),
        Change(".git/hooks/post-checkout", None, b"x", EXECUTABLE),
        Change("a", b"one\n", b"x\0y"),
        Change("big", None, b"x" * 1_000_001),
        Change("link", None, b"../outside", SYMLINK),
        Change("link", None, b"/etc/passwd", SYMLINK),
        Change("fifo", None, b"x"),
        Change("x" * 300, None, b"x"),
        Change("pipe", None, b"x", 0o160000),
        Change("through/x", None, b"x"),
    ],
    ids=lambda change: f"{change.path[:20]}-{change.mode:o}",
)
def test_a_refusal_changes_nothing_and_is_one_sentence(root: Path, state: Path, change: Change) -> None:
    os.mkfifo(root / "fifo")
    (root / "through").symlink_to(root.parent)
    before = snapshot_without_fifo(root)
    for changes in ((change, Change("b", b"two\n", b"x")), (Change("b", b"two\n", b"x"), change)):
        with pytest.raises(TreeError) as caught:
            apply_changes(root, state, changes)
        assert str(caught.value).isprintable()
        assert snapshot_without_fifo(root) == before
        assert list_applied(root, state) == ()


def snapshot_without_fifo(root: Path) -> Tree:
    (root / "fifo").unlink()
    found = snapshot(root)
    os.mkfifo(root / "fifo")
    return found


def test_refuses_too_much_at_once_and_the_same_file_twice(root: Path, state: Path) -> None:
    many = tuple(Change(f"n{number}", None, b"x" * 900) for number in range(3))
    with pytest.raises(TreeError, match="too large"):
        apply_changes(root, state, many, SizeLimits(file=1000, change=2000))
    with pytest.raises(TreeError, match="twice"):
        apply_changes(root, state, (Change("n", None, b"x"), Change("./n", None, b"y")))
    with pytest.raises(TreeError, match="nothing"):
        apply_changes(root, state, (Change("a", b"one\n", b"one\n"),))


@pytest.mark.parametrize(
    "content", [b"\xef\xbb\xbfa\r\nb\nc\r", b"\xff\xfe\x80", b"", b"a\xe2\x80\xa8b", b"no end"]
)
def test_bytes_are_kept_as_they_are(root: Path, state: Path, content: bytes) -> None:
    apply_changes(root, state, (Change("new", None, content), Change("a", b"one\n", content)))
    assert (root / "new").read_bytes() == (root / "a").read_bytes() == content


def test_permissions_beyond_gits_modes_survive_apply_and_undo(root: Path, state: Path) -> None:
    (root / "a").chmod(0o600)
    (root / "b").chmod(0o640)
    change_id = apply_changes(
        root, state, (Change("a", b"one\n", None), Change("b", b"two\n", b"x", EXECUTABLE))
    )
    assert stat.S_IMODE((root / "b").stat().st_mode) == 0o750
    undo(root, state, change_id)
    assert [stat.S_IMODE((root / name).stat().st_mode) for name in "ab"] == [0o600, 0o640]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_as_root_the_files_stay_their_owners(root: Path, state: Path) -> None:
    for path in (root, *root.rglob("*")):
        os.chown(path, 65534, 65534)
    apply_changes(root, state, MIXED)
    assert {path.lstat().st_uid for path in root.rglob("*")} == {65534}


def test_a_read_only_file_or_folder_is_respected(root: Path, state: Path) -> None:
    (root / "b").chmod(0o444)
    (root / "src").chmod(0o555)
    before = snapshot(root)
    for path, content in {"b": b"two\n", "src/c": b"three\n"}.items():
        with pytest.raises(TreeError, match="read-only"):
            apply_changes(root, state, (Change("a", b"one\n", b"x"), Change(path, content, None)))
    with pytest.raises(TreeError, match="read-only"):
        apply_changes(root, state, (Change("a", b"one\n", b"x"), Change("src/new", None, b"x")))
    assert snapshot(root) == before
    (root / "src").chmod(0o755)


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root marks files immutable")
def test_an_immutable_file_is_respected(root: Path, state: Path) -> None:
    if subprocess.run(["chattr", "+i", root / "b"], capture_output=True).returncode:
        pytest.skip("this file system has no such mark")
    try:
        for after in (b"x", None):
            with pytest.raises(TreeError, match="b is read-only"):
                apply_changes(root, state, (Change("a", b"one\n", b"x"), Change("b", b"two\n", after)))
        assert (root / "a").read_bytes() == b"one\n"
        assert list_applied(root, state) == ()
    finally:
        subprocess.run(["chattr", "-i", root / "b"], check=True)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become somebody else")
def test_a_file_of_somebody_else_is_respected(
    root: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder is ours, so the system would let us put a file of ours in its place."""
    for path in (root, *root.rglob("*")):
        os.chown(path, 65534, 65534)
    os.chown(root / "b", 0, 0)
    os.chown(root.parent, 65534, 65534)
    monkeypatch.chdir(root)  # the folders above are root's own
    child = os.fork()
    if not child:
        words = "changed"
        try:
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            change = (Change("a", b"one\n", b"x"), Change("b", b"two\n", b"x"))
            apply_changes(Path(), Path("../state"), change)
        except BaseException as error:
            words = str(error)
        finally:
            os._exit(0 if words == "b is read-only" else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (root / "a").read_bytes() == b"one\n"


def test_an_edit_made_since_is_merged_around(root: Path, state: Path) -> None:
    lines = [f"line {number}\n" for number in range(20)]
    old, new = "".join(lines).encode(), "".join(["changed\n", *lines[1:]]).encode()
    (root / "a").write_bytes(old)
    change_id = apply_changes(root, state, (Change("a", old, new), Change("b", b"two\n", b"TWO\n")))
    (root / "a").write_bytes(new + b"mine\n")
    undo(root, state, change_id)
    assert (root / "a").read_bytes() == old + b"mine\n"
    assert (root / "b").read_bytes() == b"two\n"


@pytest.mark.parametrize("edit", ["same line", "deleted", "executable and same line"])
def test_an_edit_in_the_same_place_is_never_lost(root: Path, state: Path, edit: str) -> None:
    change_id = apply_changes(root, state, (Change("a", b"one\n", b"ONE\n"), Change("b", b"two\n", b"TWO\n")))
    (root / "a").write_bytes(b"mine\n")
    if edit == "deleted":
        (root / "a").unlink()
    if edit.startswith("executable"):
        (root / "a").chmod(0o755)
    before = snapshot(root)
    with pytest.raises(TreeError, match="edited since, in the same places: a; nothing was changed"):
        undo(root, state, change_id)
    assert snapshot(root) == before


def test_an_added_file_that_was_edited_is_not_deleted(root: Path, state: Path) -> None:
    change_id = apply_changes(root, state, (Change("new", None, b"x"),))
    (root / "new").write_bytes(b"mine")
    with pytest.raises(TreeError, match="new"):
        undo(root, state, change_id)
    assert (root / "new").read_bytes() == b"mine"


def test_an_older_change_is_undone_and_the_later_one_stays(root: Path, state: Path) -> None:
    first = apply_changes(root, state, (Change("a", b"one\n", b"ONE\n"), Change("n/new", None, b"x")))
    second = apply_changes(root, state, (Change("b", b"two\n", b"TWO\n"),))
    third = undo(root, state, first)
    assert list_applied(root, state) == (first, second, third)
    assert (root / "a").read_bytes() == b"one\n"
    assert (root / "b").read_bytes() == b"TWO\n"
    assert not (root / "n").exists()
    with pytest.raises(TreeError, match="nothing"):
        undo(root, state, first)


def test_a_deleted_link_that_led_outside_comes_back(root: Path, state: Path) -> None:
    (root / "out").symlink_to("/etc/passwd")
    change_id = apply_changes(root, state, (Change("out", b"/etc/passwd", None, FILE, SYMLINK),))
    undo(root, state, change_id)
    assert str((root / "out").readlink()) == "/etc/passwd"


def test_ids_name_only_changes_that_exist(root: Path, state: Path) -> None:
    for bad in ("../../etc/passwd", "", "0123456789-00000000000", "*"):
        with pytest.raises(TreeError):
            load_changes(state, bad)


def test_two_trees_share_a_state_folder_without_meeting(root: Path, state: Path) -> None:
    other = root.parent / "other"
    other.mkdir()
    mine = apply_changes(root, state, (Change("new", None, b"x"),))
    theirs = apply_changes(other, state, (Change("new", None, b"y"),))
    assert (list_applied(root, state), list_applied(other, state)) == ((mine,), (theirs,))


def test_old_changes_are_forgotten_beyond_count_and_size(root: Path, state: Path) -> None:
    ids = [apply_changes(root, state, (Change(f"n{number}", None, b"x" * 500),)) for number in range(6)]
    journal = open_journal(state)
    prune_records(root, journal, count=4)
    assert list_applied(root, state) == tuple(ids[2:])
    prune_records(root, journal, size=1)
    assert list_applied(root, state) == (ids[-1],)


def test_a_second_writer_waits_and_then_gives_up(root: Path, state: Path) -> None:
    lock = open_journal(state) / "test.lock"
    busy = pytest.raises(BusyError, match=f"process {os.getpid()}")
    with hold_when_free(lock), busy, hold_when_free(lock, wait_s=0.1):
        pass
    with hold_when_free(lock, wait_s=0.1):
        pass


def test_two_writers_never_lose_an_update(root: Path, state: Path) -> None:
    (root / "count").write_bytes(b"0")
    done = list[str]()

    def add(times: int) -> None:
        while times:
            now = (root / "count").read_bytes()
            try:
                done.append(apply_changes(root, state, (Change("count", now, b"%d" % (int(now) + 1)),)))
                times -= 1
            except KithError:
                continue

    threads = [threading.Thread(target=add, args=(10,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (root / "count").read_bytes() == b"20"
    assert list_applied(root, state) == tuple(sorted(done))


def test_recover_tolerates_a_journal_in_any_condition(root: Path, state: Path) -> None:
    change_id = apply_changes(root, state, (Change("a", b"one\n", b"ONE\n"),))
    journal = open_journal(state)
    whole = (journal / f"{change_id}.applied").read_bytes()
    key, before = change_id.partition("-")[0], snapshot(root)
    for number, content in enumerate((b"", whole[:50], b"null", b"[]", b'{"id": 1}', b"\xff")):
        (journal / f"{key}-{number:011x}.swapping").write_bytes(content)
    (journal / f"{key}-{99:011x}.new").write_bytes(whole[:50])
    assert [each.outcome for each in recover(root, state)] == [*["unreadable"] * 6, "taken back"]
    assert recover(root, state) == ()
    assert snapshot(root) == before
    assert [found for found in find_records(root, journal) if found[1] != "damaged"] == [
        (change_id, "applied")
    ]


def test_a_disk_that_is_full_changes_nothing(root: Path, state: Path) -> None:
    """A limit on the size of files stands in for the full disk: writing fails in the same place."""
    (root / "large").write_bytes(b"x" * 4000)
    before = snapshot(root)
    script = f"""
import resource
from pathlib import Path
from kith.core.errors import TreeError
from kith.core.values import Change
from kith.trees.journal import apply_changes
for limit in (0, 100, 20000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    change = (Change("a", b"one\\n", b"ONE\\n"), Change("large", b"x" * 4000, b"y" * 14000))
    try:
        apply_changes(Path({str(root)!r}), Path({str(state)!r}), change)
    except TreeError as error:
        print(error)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.count("too large") == 3, ran.stdout
    assert snapshot(root) == before
    assert list_applied(root, state) == ()
    assert recover(root, state) == ()


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounting needs root on Linux")
@pytest.mark.parametrize("full", ["tree", "state"])
def test_a_small_disk_changes_nothing(tmp_path: Path, full: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("tmpfs cannot be mounted here")
    try:
        root, state = (disk, tmp_path / "state") if full == "tree" else (tmp_path / "root", disk)
        root.mkdir(exist_ok=True)
        (root / "a").write_bytes(b"one\n")
        (disk / "filler").write_bytes(b"x" * 150_000)
        before = snapshot(root)
        change = (Change("a", b"one\n", b"ONE\n"), Change("large", None, b"y" * 200_000))
        with pytest.raises(TreeError, match="no space left"):
            apply_changes(root, state, change)
        assert snapshot(root) == before
        (disk / "filler").unlink()
        assert apply_changes(root, state, (Change("a", b"one\n", b"ONE\n"),))
    finally:
        subprocess.run(["umount", str(disk)], check=True)
