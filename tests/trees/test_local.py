"""The user's tree as a Workspace: read freely, changed only through the journal."""

import asyncio
import stat
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from kith.core.errors import AbsentError, TreeError
from kith.core.values import EXECUTABLE, FILE, Change, Changes, Ran
from kith.core.workspace import ExecLimits, ShellCommand, SizeLimits, Trial, Workspace
from kith.trees.local import LocalTree


async def _echo(root: Path, command: ShellCommand, limits: ExecLimits) -> Ran:
    return Ran(command.line, 0, f"{root} {limits.seconds}", 0.0)


def _no_trial(tree: LocalTree, name: str) -> AbstractAsyncContextManager[Trial]:
    raise TreeError(f"no trial {name} of {tree.root}")


@pytest.fixture
def tree(tmp_path: Path) -> LocalTree:
    root = tmp_path / "root"
    (root / "dir").mkdir(parents=True)
    (root / "a").write_bytes(b"one\r\n")
    (root / "dir" / "run").write_bytes(b"#!/bin/sh\n")
    (root / "dir" / "run").chmod(0o755)
    (root / "in").symlink_to("dir/run")
    (root / "out").symlink_to("/etc/passwd")
    return _open(root)


def _open(root: Path, limits: SizeLimits = SizeLimits()) -> LocalTree:  # noqa: B008
    state = root.parent / "state"
    return LocalTree(root, state, runner=_echo, trials=_no_trial, confined=True, limits=limits)


def test_is_a_workspace(tree: LocalTree) -> None:
    workspace: Workspace = tree
    ran = asyncio.run(workspace.exec(ShellCommand("x"), ExecLimits(seconds=7)))
    assert ran.output == f"{tree.root} 7"
    assert workspace.confined
    with pytest.raises(TreeError, match="no trial side"):
        workspace.trial("side")


def test_reads_and_lists(tree: LocalTree) -> None:
    assert asyncio.run(tree.read("a")) == b"one\r\n"
    assert asyncio.run(tree.read("in")) == b"#!/bin/sh\n"
    assert list(asyncio.run(tree.files())) == ["a", "dir/run", "in", "out"]
    for path in ("out", "dir", "nothing", "../state", ".git/config"):
        with pytest.raises(TreeError):
            asyncio.run(tree.read(path))


def test_writing_keeps_the_mode_and_can_be_undone(tree: LocalTree) -> None:
    asyncio.run(tree.write("dir/run", b"#!/bin/bash\n"))
    assert (tree.root / "dir" / "run").stat().st_mode & stat.S_IXUSR
    (change_id,) = asyncio.run(tree.applied())
    asyncio.run(tree.undo(change_id))
    assert asyncio.run(tree.read("dir/run")) == b"#!/bin/sh\n"


def test_writing_what_is_there_already_changes_nothing(tree: LocalTree) -> None:
    asyncio.run(tree.write("a", b"one\r\n"))
    assert asyncio.run(tree.applied()) == ()


def test_a_link_inside_is_written_through_and_deleted_itself(tree: LocalTree) -> None:
    asyncio.run(tree.write("in", b"#!/bin/zsh\n"))
    assert (tree.root / "in").is_symlink()
    assert (tree.root / "dir" / "run").read_bytes() == b"#!/bin/zsh\n"
    asyncio.run(tree.write("in", None))
    assert not (tree.root / "in").is_symlink()
    assert (tree.root / "dir" / "run").exists()


def test_never_writes_through_a_link_that_leads_out(tree: LocalTree) -> None:
    before = Path("/etc/passwd").read_bytes()
    with pytest.raises(TreeError, match="the tree"):
        asyncio.run(tree.write("out", b"x"))
    assert Path("/etc/passwd").read_bytes() == before
    with pytest.raises(AbsentError):
        asyncio.run(tree.write("nothing", None))


def test_apply_compares_and_undo_says_what_it_did(tree: LocalTree) -> None:
    change = Change("a", b"one\r\n", b"two\r\n")
    change_id = asyncio.run(tree.apply((change,)))
    with pytest.raises(TreeError, match="edited meanwhile"):
        asyncio.run(tree.apply((change,)))
    second, changes = asyncio.run(tree.undo(change_id))
    assert changes == (change.inverse,)
    assert asyncio.run(tree.applied()) == (change_id, second)
    assert asyncio.run(tree.recover()) == ()


def test_size_limits_are_the_callers(tree: LocalTree) -> None:
    small = _open(tree.root, SizeLimits(file=10, change=15))
    with pytest.raises(TreeError, match="the limit for one file is 10"):
        asyncio.run(small.write("new", b"x" * 11))
    with pytest.raises(TreeError, match="the limit is 15"):
        asyncio.run(small.apply((Change("x", None, b"x" * 8), Change("y", None, b"x" * 8))))


def test_the_root_must_be_a_folder(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="folder"):
        _open(tmp_path / "nothing")


@pytest.mark.parametrize(
    "changes",
    [
        (Change("A", None, b""),),
        (Change("Dir/new", None, b""),),
        (Change("b", None, b""), Change("B", None, b"")),
        (Change("New/x", None, b""), Change("new/y", None, b"")),
        (Change("e\u0301", None, b""), Change("\u00e9", None, b"")),
    ],
)
def test_names_that_differ_only_in_case_are_refused(tree: LocalTree, changes: Changes) -> None:
    for act in (tree.check(changes), tree.apply(changes)):
        with pytest.raises(TreeError, match="same name"):
            asyncio.run(act)


def test_a_file_or_folder_may_change_the_case_of_its_name(tree: LocalTree) -> None:
    run = b"#!/bin/sh\n"
    changes = (
        Change("a", b"one\r\n", None),
        Change("A", None, b"one\r\n"),
        Change("dir/run", run, None, FILE, EXECUTABLE),
        Change("Dir/run", None, run),
    )
    asyncio.run(tree.apply(changes))
    assert list(asyncio.run(tree.files())) == ["A", "Dir/run", "in", "out"]
