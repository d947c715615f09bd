"""Paths that lead elsewhere, through every door: nothing outside is read or written, and nobody waits."""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kith.agent.outside_edits import Given, read_edits
from kith.agent.project import Project
from kith.core.errors import KithError
from kith.core.values import EXECUTABLE, SYMLINK, Change
from kith.edits import EditError
from kith.features.web.browsing import list_files, read_file
from outside import Kith

SECRET = "what-stands-outside"
# Where a write must not land, and a read must find nothing.
OUT = [
    *("../outside/new", "a/../../outside/secret", "./../outside/secret", "{out}/secret", "//{out}/secret"),
    *(
        "out/secret",
        "out/new",
        "to_file",
        "dangling",
        "dangling/x",
        "circle",
        "circle/x",
        "up/outside/secret",
    ),
    *("pipe", "socket", "{root}/../outside/secret", "/proc/self/root{out}/secret", "/proc/self/cwd/x"),
    *("file://{out}/secret", "~/secret", "~root/secret", "$HOME/x", "${{HOME}}/x", "%2e%2e/outside/secret"),
    *("..%2foutside%2fsecret", "..%5cx", "%252e%252e/x", "..\\outside\\secret", "C:\\secret", "C:secret"),
    *(
        "\\\\?\\C:\\x",
        "\\\\server\\x",
        "a\0b",
        "a\nb",
        "a\x1b[2Jb",
        "a\u202eb",
        "a\u200bb",
        "x" * 300,
        "",
        ".",
    ),
    *(
        "folder/",
        "folder",
        "--output=x",
        "-rf",
        "dev/../../../etc/x",
        "../repository-evil/x",
        "‥/x",
        "．．/x",
    ),
    *(
        ".git/config",
        ".GIT/hooks/x",
        ".git",
        "sub/.git/x",
        "git~1/config",
        ".g\u200cit/x",
        ".git./x",
        ".git::$D/x",
    ),
    *(".kith/config.toml", ".Kith/x", "kith~1/x", "bare.git/hooks/post-update", "bare.git/config"),
    *("`touch x`", "$(touch x)/y", "http://x/y"),
]
# What some file systems take for a file that is there.
TWINS = ["readme.MD", "CAFÉ.txt", "Cafe\u0301.txt", "Folder/x"]


@pytest.fixture
def root(repository: Path) -> Iterator[Path]:
    outside = repository.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    (outside / "linked").write_text("two names\n")
    (repository.parent / "repository-evil").mkdir()
    links: dict[str, Path | str] = {
        "out": outside,
        "to_file": outside / "secret",
        "dangling": outside / "new",
        "circle": "elcric",
        "elcric": "circle",
        "up": "..",
        "inner": "folder",
    }
    for name, target in links.items():
        (repository / name).symlink_to(target)
    os.link(outside / "linked", repository / "hard")
    os.mkfifo(repository / "pipe")
    (repository / "folder").mkdir()
    (repository / "café.txt").write_text("café\n")
    for name in ("hooks", "objects", "refs"):
        (repository / "bare.git" / name).mkdir(parents=True)
    (repository / "bare.git" / "HEAD").write_text("ref: refs/heads/main\n")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(repository)  # a socket's path is short
        listening.bind("socket")
        os.chdir(here)
        yield repository


def paths(root: Path) -> list[str]:
    return [path.format(root=root, out=root.parent / "outside") for path in OUT]


def seen(folder: Path) -> dict[str, object]:
    """Every file and link below a folder, without what is git's own."""
    found = dict[str, object]()
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*folders, *names):
            path = Path(place, name)
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
            found[str(path)] = (path.lstat().st_mode, path.readlink() if path.is_symlink() else content)
    return found


def play(root: Path, *calls: tuple[str, dict[str, str]]) -> str:
    """A run whose model calls these tools; what was told of it, as events."""
    script = root.parent / "script.json"
    said = [{"name": name, "args": args} for name, args in calls]
    script.write_text(
        json.dumps([{"calls": said}, {"calls": [{"name": "done", "args": {"summary": "Done."}}]}])
    )
    words = (
        "run",
        "-m",
        f"replay/{script}",
        "--yes",
        "--check",
        "none",
        "--output-format",
        "stream-json",
        "Do it",
    )
    done = Kith(root)(*words, code=None)
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.slow
def test_tools_write_nothing_elsewhere(root: Path) -> None:
    before, top = seen(root), root.parent
    others = seen(top / "outside") | seen(top / "repository-evil")
    writes = [("write", {"path": path, "content": "payload\n"}) for path in [*paths(root), *TWINS]]
    edits = [("edit", {"path": path, "old": SECRET, "new": "payload"}) for path in paths(root)]
    play(root, *writes, *edits)
    assert seen(root) == before and seen(top / "outside") | seen(top / "repository-evil") == others
    assert not (top / "outside" / "new").exists()


@pytest.mark.slow
def test_tools_read_nothing_elsewhere(root: Path) -> None:
    reads = [("read", {"path": path}) for path in paths(root)]
    lists = [("list", {"path": path}) for path in paths(root)]
    searches = [("search", {"pattern": "what-stands", "path": path}) for path in paths(root)]
    told = play(root, *reads, *lists, *searches)
    assert SECRET not in told and "utils.py" in told


@pytest.mark.slow
def test_a_hard_link_is_cut_and_not_written_through(root: Path) -> None:
    play(
        root,
        ("write", {"path": "hard", "content": "payload\n"}),
        ("write", {"path": "inner/x", "content": "y\n"}),
    )
    assert (root / "hard").read_text() == "payload\n" and (root / "folder" / "x").read_text() == "y\n"
    assert (root.parent / "outside" / "linked").read_text() == "two names\n"


@pytest.mark.slow
def test_replies_write_nothing_elsewhere(root: Path) -> None:
    project = Project.open(root, {"sandbox": "off"})
    before, others = seen(root), seen(root.parent / "outside")
    new = "--- /dev/null\n+++ b/{}\n@@ -0,0 +1 @@\n+payload\n"
    block = "{}\n```\n<<<<<<< SEARCH\n=======\npayload\n>>>>>>> REPLACE\n```\n"
    begun = "*** Begin Patch\n*** Add File: {}\n+payload\n*** End Patch\n"
    moved = '*** Begin Patch\n*** Update File: utils.py\n*** Move to: {}\n@@\n-"""Small\n+x\n*** End Patch\n'
    for path in paths(root):
        for form in (new, block, "{}\n```\npayload\n```\n", begun, moved):
            with contextlib.suppress(EditError, KithError):
                changes = asyncio.run(read_edits(project, Given(form.replace("{}", path))))
                raise AssertionError(f"{path!r} was taken for {[change.path for change in changes]}")
    assert seen(root) == before and seen(root.parent / "outside") == others


@pytest.mark.slow
def test_the_tree_itself_takes_none_of_them(root: Path) -> None:
    project = Project.open(root, {})
    before, others = seen(root), seen(root.parent / "outside")
    for path in paths(root):
        for change in (
            Change(path, None, b"payload\n"),
            Change(path, None, b"payload\n", EXECUTABLE, EXECUTABLE),
            Change(path, None, b"utils.py", SYMLINK, SYMLINK),
            Change(path, SECRET.encode(), b"payload\n"),
            Change(path, SECRET.encode(), None),
        ):
            with pytest.raises(KithError):
                asyncio.run(project.tree.apply((change,)))
    for target in ("../outside", "/etc/passwd", "out/secret", ".git/config", "folder/../../x"):
        with pytest.raises(KithError):
            asyncio.run(project.tree.apply((Change("link", None, target.encode(), SYMLINK, SYMLINK),)))
    assert seen(root) == before and seen(root.parent / "outside") == others


@pytest.mark.slow
def test_what_is_shown_over_the_network_is_the_projects(root: Path) -> None:
    project = Project.open(root, {})
    for path in paths(root):
        with pytest.raises(KithError):
            asyncio.run(read_file(project, path))
        for name in asyncio.run(list_files(project, path)).files:
            assert not name.startswith(("/", "..")) and "/../" not in name


def test_kiths_own_folders_are_no_part_of_any_project(home: Path) -> None:
    """Somebody keeps their configuration in a repository: kith's is not a model's to change."""
    folder = home / ".config"
    (folder / "kith").mkdir(parents=True)
    (folder / "kith" / "config.toml").write_text("")
    project = Project.open(folder, {})
    for path in ("kith/config.toml", "kith/roles/x.md", "KITH/config.toml"):
        content = b"" if path == "kith/config.toml" else None
        with pytest.raises(KithError, match="kith"):
            asyncio.run(project.tree.apply((Change(path, content, b"payload\n"),)))
    asyncio.run(project.tree.apply((Change("other/x", None, b"fine\n"),)))
    with pytest.raises(KithError, match="own state"):
        Project.open(home, {})


@pytest.mark.slow
def test_a_state_folder_beside_a_project_may_be_named_from_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", f"{root}/../state")
    assert Project.open(root, {}).tree.root == root
    (tmp_path / "link").symlink_to(root)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "link"))
    with pytest.raises(KithError, match="own state"):
        Project.open(root, {})


@pytest.mark.slow
def test_a_repository_without_a_working_tree_cannot_be_made(root: Path) -> None:
    project = Project.open(root, {})
    parts = {"HEAD": b"ref: refs/heads/main\n", "objects/x": b"x\n", "refs/x": b"x\n"}
    changes = tuple(Change(f"new/{name}", None, content) for name, content in parts.items())
    with pytest.raises(KithError, match="repository"):
        asyncio.run(project.tree.apply(changes))
    asyncio.run(project.tree.apply(changes[:2]))
    with pytest.raises(KithError, match="repository"):
        asyncio.run(project.tree.apply(changes[2:]))
