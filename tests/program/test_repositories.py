"""A task and its undo in repositories of every kind: done, or refused in words; git's own stays as it was."""

import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from outside import Kith

ENV = {
    **{"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C", "GIT_CONFIG_GLOBAL": "/dev/null"},
    **{f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(root: Path, *args: str, ok: bool = True) -> str:
    words = ("git", "-c", "protocol.file.allow=always", *args)
    done = subprocess.run(words, cwd=root, env=ENV, capture_output=True, text=True)
    assert done.returncode == 0 or not ok, done.stderr
    return done.stdout


def start(root: Path, *options: str) -> Path:
    """A repository with two commits of `a.txt`."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main", *options)
    for text in ("one\n", "one\ntwo\n"):
        (root / "a.txt").write_text(text)
        git(root, "add", ".")
        git(root, "commit", "-q", "-m", text)
    return root


# --- the kinds: each builds one below a folder, and returns where kith works --------------------------


def plain(top: Path) -> Path:
    return start(top / "plain")


def none(top: Path) -> Path:
    (top / "none").mkdir()
    (top / "none" / "a.txt").write_text("one\ntwo\n")
    return top / "none"


def unborn(top: Path) -> Path:
    folder = none(top)
    git(folder, "init", "-q")
    return folder


def staged(top: Path) -> Path:
    root = start(top / "staged")
    (root / "b.txt").write_text("staged\n")
    git(root, "add", "b.txt")
    (root / "b.txt").write_text("staged\nand edited\n")
    git(root, "stash", "push", "-q", "--keep-index")
    return root


def detached(top: Path) -> Path:
    root = start(top / "detached")
    git(root, "checkout", "-q", "HEAD~1")
    return root


def worktree(top: Path) -> Path:
    git(start(top / "main"), "worktree", "add", "-q", "../linked", "-b", "side")
    return top / "linked"


def separate(top: Path) -> Path:
    return start(top / "separate", "--separate-git-dir", str(top / "elsewhere"))


def separate_inside(top: Path) -> Path:
    return start(top / "separate", "--separate-git-dir", str(top / "separate" / "data"))


def bare(top: Path) -> Path:
    git(top, "clone", "-q", "--bare", str(start(top / "origin")), "bare.git")
    return top / "bare.git"


def superproject(top: Path) -> Path:
    root = start(top / "super")
    git(root, "submodule", "--quiet", "add", str(start(top / "sub")), "inner")
    git(root, "commit", "-q", "-m", "with a submodule")
    return root


def submodule(top: Path) -> Path:
    return superproject(top) / "inner"


def not_absorbed(top: Path) -> Path:
    root = start(top / "super")
    start(root / "inner")
    git(root, "submodule", "--quiet", "add", "./inner", "inner", ok=False)
    return root / "inner"


def shallow(top: Path) -> Path:
    git(top, "clone", "-q", "--depth=1", start(top / "origin").as_uri(), "shallow")
    return top / "shallow"


def sparse(top: Path) -> Path:
    root = start(top / "sparse")
    for folder in ("kept", "left"):
        (root / folder).mkdir()
        (root / folder / "x.txt").write_text("x\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "folders")
    git(root, "sparse-checkout", "set", "--sparse-index", "kept")
    return root


def partial(top: Path) -> Path:
    """A partial clone whose missing objects nobody can fetch."""
    origin = start(top / "origin")
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(top, "clone", "-q", "--filter=blob:none", origin.as_uri(), "partial")
    origin.rename(top / "gone")
    return top / "partial"


def merging(top: Path) -> Path:
    root = start(top / "merging")
    git(root, "checkout", "-q", "-b", "side", "HEAD~1")
    for name, text in (("a.txt", "one\nother\n"), ("c.txt", "c\n")):
        (root / name).write_text(text)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "side")
    git(root, "merge", "main", ok=False)
    return root


def rebasing(top: Path) -> Path:
    root = merging(top)
    git(root, "merge", "--abort")
    git(root, "rebase", "main", ok=False)
    return root


def picking(top: Path) -> Path:
    root = merging(top)
    git(root, "merge", "--abort")
    git(root, "cherry-pick", "main", ok=False)
    return root


def lost_alternates(top: Path) -> Path:
    git(top, "clone", "-q", "--shared", str(start(top / "origin")), "shared")
    (top / "origin").rename(top / "gone")
    return top / "shared"


def sha256(top: Path) -> Path:
    return start(top / "sha256", "--object-format=sha256")


def index_v4(top: Path) -> Path:
    root = start(top / "v4")
    git(root, "update-index", "--index-version", "4")
    return root


def split_index(top: Path) -> Path:
    root = start(top / "split")
    git(root, "update-index", "--split-index")
    return root


def configured(top: Path) -> Path:
    """What a person may well have set, and a repository of somebody else's, too."""
    root = start(top / "configured")
    script = top / "watch"
    script.write_text(f"#!/bin/sh\necho fired >> {top / 'fired'}\n")
    script.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "filter.lfs.clean",
        "filter.lfs.smudge",
        "filter.lfs.process",
        "core.pager",
    ):
        git(root, "config", key, str(script))
    for key, value in {
        "core.ignoreCase": "true",
        "core.autocrlf": "input",
        "core.untrackedCache": "true",
        "commit.gpgSign": "true",
        "gpg.program": str(script),
        "alias.status": f"!{script}",
        "extensions.worktreeConfig": "true",
    }.items():
        git(root, "config", key, value)
    git(root, "config", "--worktree", "diff.external", str(script))
    (root / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n*.txt filter=lfs\n")
    (root / "big.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    return root


def reftable(top: Path) -> Path:
    try:
        return start(top / "reftable", "--ref-format=reftable")
    except AssertionError:
        pytest.skip("this git has no reftable")


def broken(top: Path) -> Path:
    root = start(top / "broken")
    (root / ".git" / "HEAD").write_text("nonsense\n")
    return root


Kind = Callable[[Path], Path]
SLOW: tuple[Kind, ...] = (
    *(submodule, merging),
    *(plain, none, unborn, staged, detached, separate, separate_inside, superproject, not_absorbed, shallow),
    *(sparse, partial, rebasing, picking, lost_alternates, sha256, index_v4, split_index, reftable, broken),
)
QUICK: tuple[Kind, ...] = (worktree, configured)
REFUSED: dict[Kind, str] = {bare: "clone it first"}
KINDS = [*QUICK, *(pytest.param(kind, marks=pytest.mark.slow) for kind in (*SLOW, *REFUSED))]


def of_git(root: Path) -> dict[str, str]:
    """Everything that git keeps of a tree: index, HEAD, refs, stash, reflogs, configuration."""
    named = [git(root, "rev-parse", word, ok=False).strip() for word in ("--git-dir", "--git-common-dir")]
    found = dict[str, str]()
    for folder in {(root / name).resolve() for name in named if name}:
        for place, _, names in os.walk(folder):
            for name in names:
                file = Path(place, name)
                found[str(file)] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def of_tree(root: Path) -> dict[str, bytes]:
    files = (file for file in sorted(root.rglob("*")) if ".git" not in file.parts and file.is_file())
    return {str(file.relative_to(root)): file.read_bytes() for file in files}


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_and_its_undo(kind: Kind, tmp_path: Path) -> None:
    root = kind(tmp_path)
    script = tmp_path / "script.json"
    edits = [("a.txt", "one\ntwo\nthree\n"), ("new.txt", "new\n")]
    writes = [{"name": "write", "args": {"path": path, "content": text}} for path, text in edits]
    looks = [{"name": "git", "args": {"action": action}} for action in ("status", "diff", "log")]
    done = {"calls": [{"name": "done", "args": {"summary": "Done."}}]}
    script.write_text(json.dumps([{"calls": [*looks, *writes]}, done]))
    git_before, tree_before = of_git(root), of_tree(root)
    kith = Kith(root)
    ran = kith("run", "-m", f"replay/{script}", "--yes", "--check", "none", "Add a line", code=None)
    assert "Traceback" not in ran.stderr and not (tmp_path / "fired").exists()
    assert of_git(root) == git_before
    if kind in REFUSED:
        assert ran.returncode != 0 and REFUSED[kind] in ran.stderr and of_tree(root) == tree_before
        return
    assert ran.returncode == 0, ran.stderr
    assert of_tree(root) == tree_before | {path: text.encode() for path, text in edits}
    kith("undo")
    assert of_git(root) == git_before and of_tree(root) == tree_before


def test_a_file_name_begins_no_line_of_kiths(tmp_path: Path) -> None:
    root, name = plain(tmp_path), "x\nUndid all of it.txt"
    (root / name).write_text("one\n")
    kith, script = Kith(root), tmp_path / "script.json"
    script.write_text(
        json.dumps([{"calls": [{"name": "write", "args": {"path": name, "content": "two\n"}}]}])
    )
    kith("run", "--yes", "--check", "none", "-m", f"replay/{script}", "--max-steps", "1", "x", code=4)
    assert kith("diff", "--stat").stdout.startswith("x\\nUndid all of it.txt  +1 -1\n")
    kith("apply", "--yes", "--check", "none")
    assert kith("undo").stdout.startswith("x\\nUndid all of it.txt  +1 -1\n")
