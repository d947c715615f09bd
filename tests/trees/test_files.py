"""Nothing outside the tree is reachable, whatever the path is called."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.errors import TreeError
from kith.core.values import EXECUTABLE, SYMLINK
from kith.trees.files import (
    check_link,
    check_path,
    delete_file,
    follow_links,
    look_at,
    read_file,
    read_link,
    write_file,
)

ESCAPES = [
    "",
    ".",
    "..",
    "../x",
    "a/../../x",
    "a/..",
    "a/",
    "/etc/passwd",
    "//server/share",
    "\\\\server\\share",
    "C:\\x",
    "c:x",
    "a\0b",
    "a\\..\\..\\x",
    "‥/x",
    "\ud800",
]
GITS = [
    ".git/config",
    ".GIT/config",
    "sub/.git/hooks/pre-commit",
    ".git",
    ".git./config",
    ".git /config",
    ".git . ./config",
    "git~1/config",
    "GIT~2/x",
    ".g\u200cit/config",
    "\ufeff.git/x",
    ".g\u00adit/x",
    ".ｇｉｔ/x",
    "․git/x",
    ".gi\ufe0ft/x",
    ".git::$INDEX_ALLOCATION/x",
    ".git\\config",
    ".kith/config.toml",
    ".Kith/x",
    "kith~1/x",
    ".\u212aith/x",
]
FINE = {
    "a": "a",
    "./a": "a",
    "a//b/./c": "a/b/c",
    ".gitignore": ".gitignore",
    ".github/x": ".github/x",
    "...": "...",
    "a b": "a b",
    "-rf": "-rf",
    "a\nb": "a\nb",
    "caf\u00e9": "caf\u00e9",
    "b\udcff": "b\udcff",
    "%2e%2e/x": "%2e%2e/x",
    "~/x": "~/x",
    "$HOME/x": "$HOME/x",
    "git": "git",
}


@pytest.mark.parametrize("path", ESCAPES + GITS)
def test_refuses_what_could_leave_the_tree_or_reach_git(path: str) -> None:
    with pytest.raises(TreeError):
        check_path(path)


@pytest.mark.parametrize(("path", "plain"), FINE.items())
@pytest.mark.skipif(os.name == "nt", reason="Windows allows fewer names")
def test_leaves_ordinary_names_alone(path: str, plain: str) -> None:
    assert check_path(path) == plain


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("./\\:~ \u200d"), max_size=20))
def test_what_passes_stays_beneath_the_root(path: str) -> None:
    try:
        plain = check_path(path)
    except TreeError:
        return
    assert check_path(plain) == plain
    assert os.path.normpath("/root/" + plain) == "/root/" + plain


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with links of every kind, beside a folder whose name it is a prefix of."""
    root, outside = tmp_path / "repo", tmp_path / "repo-evil"
    (root / "dir").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (root / "dir" / "file").write_text("inside")
    for name, target in {
        "out": "../repo-evil",
        "out_file": "../repo-evil/secret",
        "out_absolute": str(outside / "secret"),
        "chain": "out_file",
        "loop": "pool",
        "pool": "loop",
        "in": "dir/file",
        "in_absolute": str(root / "dir" / "file"),
        "in_folder": "dir",
        "dangling": "dir/nothing",
        "top": ".",
        "git": ".git",
    }.items():
        (root / name).symlink_to(target)
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("[core]")
    return root


@pytest.mark.parametrize(
    "path", ["in", "in_absolute", "in_folder/file", "top/top/dir/file", "in_folder/../in"]
)
def test_reads_through_links_that_stay_inside(tree: Path, path: str) -> None:
    if ".." in path:
        with pytest.raises(TreeError):
            read_file(tree, path)
    else:
        assert read_file(tree, path) == b"inside"


@pytest.mark.parametrize(
    "path",
    ["out/secret", "out_file", "out_absolute", "chain", "loop", "dangling", "git/config", "dir", "top"],
)
def test_refuses_links_that_lead_elsewhere(tree: Path, path: str) -> None:
    with pytest.raises(TreeError):
        read_file(tree, path)


@pytest.mark.parametrize("path", ["out/secret", "out/new", "in_folder/file", "in_folder/new"])
def test_never_writes_or_deletes_behind_a_linked_folder(tree: Path, path: str) -> None:
    with pytest.raises(TreeError):
        write_file(tree, path, b"x")
    with pytest.raises(TreeError):
        delete_file(tree, path)
    assert (tree.parent / "repo-evil" / "secret").read_text() == "secret"
    assert [path.name for path in (tree.parent / "repo-evil").iterdir()] == ["secret"]
    assert (tree / "dir" / "file").read_text() == "inside"


def test_writing_a_link_replaces_the_link_not_its_target(tree: Path) -> None:
    write_file(tree, "out_file", b"mine")
    assert not (tree / "out_file").is_symlink()
    assert (tree.parent / "repo-evil" / "secret").read_text() == "secret"


def test_a_fifo_or_socket_is_refused_without_waiting(tree: Path) -> None:
    os.mkfifo(tree / "fifo")
    with pytest.raises(TreeError, match="regular file"):
        read_file(tree, "fifo")
    with pytest.raises(TreeError, match="folder"):
        look_at(tree, "dir")


def test_links_are_seen_as_links(tree: Path) -> None:
    found = look_at(tree, "out_file")
    assert found is not None
    assert (found.mode, found.content) == (SYMLINK, b"../repo-evil/secret")
    assert follow_links(tree, "in") == "dir/file"


def test_writing_keeps_permissions_and_sets_the_executable_bit(tree: Path) -> None:
    (tree / "dir" / "file").chmod(0o640)
    write_file(tree, "dir/file", b"new")
    assert stat.S_IMODE((tree / "dir" / "file").stat().st_mode) == 0o640
    write_file(tree, "dir/file", b"new", EXECUTABLE)
    assert stat.S_IMODE((tree / "dir" / "file").stat().st_mode) == 0o750
    write_file(tree, "deep/er/file", b"x")
    assert (tree / "deep/er/file").read_bytes() == b"x"
    assert [path.name for path in tree.rglob("*.tmp")] == []


@pytest.mark.parametrize(
    ("path", "target", "good"),
    [
        ("a", "b", True),
        ("d/a", "../b", True),
        ("d/a", "../in_folder/file", True),
        ("a", "../b", False),
        ("d/a", "../../b", False),
        ("a", "/etc/passwd", False),
        ("a", "out/secret", False),
        ("a", "dir/../dir", False),
        ("a", ".git/config", False),
        ("a", "", False),
        ("d/a", "..", True),
    ],
)
def test_a_new_link_must_stay_inside(tree: Path, path: str, target: str, good: bool) -> None:
    def check() -> None:
        check_link(
            tree,
            path,
            target.encode(),
            lambda name: read_link(tree, name),
        )

    if good:
        check()
    else:
        with pytest.raises(TreeError):
            check()


def test_names_that_are_not_utf8_make_the_round_trip(tree: Path) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    write_file(tree, name, b"x")
    assert b"caf\xe9.txt" in [os.fsencode(path.name) for path in tree.iterdir()]
    assert read_file(tree, name) == b"x"
    delete_file(tree, name)
    assert look_at(tree, name) is None


def test_refusals_are_one_sentence_without_control_characters(tree: Path) -> None:
    for path in ("../a\x1b[2J", "x" * 300, "no/such", "dir/file/below"):
        with pytest.raises(TreeError) as caught:
            read_file(tree, path)
        assert str(caught.value).isprintable()
