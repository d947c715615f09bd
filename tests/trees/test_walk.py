"""Folders deeper than Python's calls, and than any path can say, are walked through and removed."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kith.trees.copy import clone_tree
from kith.trees.listing import list_files
from kith.trees.overlay import Layers
from kith.trees.private_files import find_private
from kith.trees.reachable import why_private
from kith.trees.trial_folder import claim_folder, list_aside
from kith.trees.walk import remove_tree, walk

DEEP = "/".join(["d"] * 1_100)
ENDLESS = "/".join(["n" * 200] * 60)  # 12,000 bytes


def dig(root: Path, path: str) -> int:
    """Make folders below another one, however deep; the innermost, open."""
    fd = os.open(root, os.O_RDONLY)
    for name in path.split("/") if path else ():
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=fd)
        above, fd = fd, os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(above)
    return fd


@pytest.fixture(autouse=True)
def cleared(tmp_path: Path) -> Iterator[None]:
    """pytest's own way to remove old folders recurses."""
    yield
    remove_tree(tmp_path)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    for path, name in ((DEEP, "a.py"), (ENDLESS, "b.py"), ("", "c.py")):
        fd = dig(root, path)
        os.close(os.open(name, os.O_CREAT, dir_fd=fd))
        os.close(fd)
    (root / "link").symlink_to("/etc")
    return root


def test_every_folder_is_visited_that_a_path_can_name(tree: Path) -> None:
    found = {visit.inside + name for visit in walk(tree) for name in visit.files}
    assert found == {f"{DEEP}/a.py", "c.py", "link"}


def test_a_walk_leaves_out_what_it_is_told_to(tree: Path) -> None:
    seen = []
    for visit in walk(tree):
        seen.append(visit.path)
        visit.folders = []
    assert seen == [""]


def test_a_walk_gets_out_of_closed_folders(tmp_path: Path) -> None:
    for name in ("a/inner", "b"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "a" / "inner").chmod(0o400)
    assert {visit.path for visit in walk(tmp_path)} == {"", "a", "a/inner", "b"}


@pytest.mark.slow
def test_no_list_of_files_recurses(tree: Path) -> None:
    listed = asyncio.run(list_files(tree))
    assert listed == ("c.py", f"{DEEP}/a.py", "link")
    private = asyncio.run(find_private(tree, lambda path, ignored: path.endswith("a.py")))
    assert private.known == (f"{DEEP}/a.py",)
    assert not why_private(tree, "d", lambda path: False, below="all")


def test_a_copy_takes_deep_folders_along(tree: Path, tmp_path: Path) -> None:
    for number, listed in enumerate(((f"{DEEP}/a.py", "c.py"), ("c.py",))):  # the others are as if ignored
        copy = tmp_path / f"copy{number}"
        clone_tree(tree, listed, copy)
        found = {visit.inside + name for visit in walk(copy) for name in visit.files}
        assert found == {f"{DEEP}/a.py", "c.py", "link"}
        assert remove_tree(copy)


def test_an_upper_layer_of_deep_folders_is_read(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "lower").mkdir()
    layers = Layers(tmp_path / "lower", tree)
    entries = layers.scan()
    assert entries[f"{DEEP}/a.py"].kind == "file" and entries[DEEP].kind == "folder"
    is_there = layers.find_in(entries)
    assert is_there(f"{DEEP}/a.py") and not is_there(f"{DEEP}/HEAD")


def test_deep_and_closed_folders_are_removed(tree: Path) -> None:
    closed = tree / "closed" / "inner"
    closed.mkdir(parents=True)
    (closed / "file").write_text("")
    closed.chmod(0)
    closed.parent.chmod(0)
    assert remove_tree(tree) and not tree.exists()
    assert Path("/etc").is_dir(), "a link is not followed"


def test_a_deep_trial_stops_no_other_project(tmp_path: Path) -> None:
    state = tmp_path / "state"
    left = state / "trials" / "~of-a-dead-process"
    left.mkdir(parents=True)
    for path in (DEEP, ENDLESS):
        os.close(dig(left, path))
    with claim_folder(state, tmp_path) as folder:
        assert folder.is_dir() and not left.exists()
    assert not list_aside(state)


def test_what_cannot_be_removed_is_set_aside_once(tmp_path: Path) -> None:
    state, busy = tmp_path / "state", tmp_path / "state" / "trials" / "~foreign"
    (busy / "inner").mkdir(parents=True)
    mounted = os.system(f"mount -t tmpfs none {busy}/inner 2>/dev/null") == 0
    if not mounted:
        pytest.skip("nothing may be mounted here, by which a folder could not be removed")
    try:
        (state / "trials" / "~a file").write_text("")  # nor does this stop anybody
        with claim_folder(state, tmp_path):
            assert not busy.exists()
        (aside,) = list_aside(state)
        assert (aside / "inner").is_dir()
    finally:
        for place in (busy, *list_aside(state)):
            with suppress(OSError):
                os.system(f"umount {place}/inner 2>/dev/null")
