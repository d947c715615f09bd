"""Repositories that were prepared to make git run a program: plain git falls for each, kith for none."""

import asyncio
import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from kith.core.errors import TreeError
from kith.trees.git import commit_paths, head, is_repository, run_git
from kith.trees.listing import ignored, list_files
from kith.trees.private_files import find_private
from kith.trees.revisions import INDEX, WORKTREE, check_out, clean_commit, diff_states

ENV = {
    **{"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_TERMINAL_PROMPT": "0"},
    **{f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(root: Path, *args: str, check: bool = True) -> None:
    words = ("git", "-c", "protocol.file.allow=always", "-c", "protocol.ext.allow=always", *args)
    subprocess.run(words, cwd=root, env=ENV, check=check, capture_output=True, timeout=30)


@dataclass(frozen=True)
class Trap:
    """A repository at `root`, and the program that must not run; it leaves a canary."""

    root: Path

    @property
    def canary(self) -> Path:
        return self.root.parent / "canary"

    @property
    def program(self) -> Path:
        file = self.root.parent / "program"
        file.write_text(f'#!/bin/sh\ntouch "{self.canary}"\nexit 1\n')
        file.chmod(0o755)
        return file

    def configure(self, **settings: str) -> None:
        for key, value in settings.items():
            git(self.root, "config", key.replace("__", "."), value)

    def edit(self) -> None:
        (self.root / "a.x").write_text("other\n")


def start(root: Path) -> Path:
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    (root / "a.x").write_text("one\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    return root


# --- the traps: each sets itself, and says with which words plain git falls into it -------------------

Words = tuple[str, ...]


def fsmonitor(trap: Trap) -> Words:
    trap.configure(core__fsmonitor=str(trap.program))
    return ("status",)


def fsmonitor_of_a_submodule(trap: Trap) -> Words:
    git(trap.root, "submodule", "--quiet", "add", str(start(trap.root.parent / "origin")), "sub")
    git(trap.root, "commit", "-q", "-m", "sub")
    git(trap.root / "sub", "config", "core.fsmonitor", str(trap.program))
    for key, value in (("ignore", "none"), ("update", "!touch canary"), ("active", "true")):
        git(trap.root, "config", f"submodule.sub.{key}", value)
    trap.configure(diff__ignoreSubmodules="none", status__submoduleSummary="true", submodule__recurse="true")
    return ("status",)


def fsmonitor_of_a_nested_repository(trap: Trap) -> Words:
    start(trap.root / "nested")
    git(trap.root / "nested", "config", "core.fsmonitor", str(trap.program))
    git(trap.root, "add", "nested")
    git(trap.root, "commit", "-q", "-m", "nested")
    return ("status",)


def hooks(trap: Trap) -> Words:
    folder = trap.root.parent / "hooks"
    folder.mkdir()
    for name in ("pre-commit", "post-index-change", "reference-transaction", "post-checkout"):
        (folder / name).write_text(trap.program.read_text())
        (folder / name).chmod(0o755)
    trap.configure(core__hooksPath=str(folder))
    return ("commit", "-q", "--allow-empty", "-m", "x")


def hooks_in_their_place(trap: Trap) -> Words:
    for name in ("pre-commit", "post-index-change", "reference-transaction"):
        (trap.root / ".git" / "hooks").mkdir(exist_ok=True)
        (trap.root / ".git" / "hooks" / name).write_text(trap.program.read_text())
        (trap.root / ".git" / "hooks" / name).chmod(0o755)
    return ("commit", "-q", "--allow-empty", "-m", "x")


def included(trap: Trap) -> Words:
    (trap.root / "more").write_text(f"[core]\n\tfsmonitor = {trap.program}\n")
    trap.configure(include__path=str(trap.root / "more"))
    return ("status",)


def included_on_a_branch(trap: Trap) -> Words:
    (trap.root / "more").write_text(f"[core]\n\tfsmonitor = {trap.program}\n")
    git(trap.root, "config", "includeIf.onbranch:main.path", str(trap.root / "more"))
    return ("status",)


def of_the_worktree(trap: Trap) -> Words:
    trap.configure(extensions__worktreeConfig="true")
    git(trap.root, "config", "--worktree", "core.fsmonitor", str(trap.program))
    return ("status",)


def external_diff(trap: Trap) -> Words:
    trap.configure(diff__external=str(trap.program))
    trap.edit()
    return ("diff",)


def _attributes(trap: Trap, words: str, place: str = ".gitattributes") -> None:
    (trap.root / place).parent.mkdir(exist_ok=True)
    (trap.root / place).write_text(f"*.x {words}\n")
    trap.edit()


def diff_driver(trap: Trap) -> Words:
    trap.configure(diff__d__command=str(trap.program))
    _attributes(trap, "diff=d")
    return ("diff",)


def textconv(trap: Trap) -> Words:
    trap.configure(diff__d__textconv=str(trap.program))
    _attributes(trap, "diff=d", ".git/info/attributes")
    return ("diff",)


def clean_filter(trap: Trap) -> Words:
    git(trap.root, "config", "filter.f=g.h.clean", str(trap.program))
    _attributes(trap, "filter=f=g.h")
    return ("diff",)


def process_filter(trap: Trap) -> Words:
    trap.configure(filter__f__process=str(trap.program), filter__f__required="true")
    _attributes(trap, "filter=f")
    return ("diff",)


def smudge_filter(trap: Trap) -> Words:
    trap.configure(filter__f__smudge=str(trap.program))
    _attributes(trap, "filter=f", ".git/info/attributes")
    return ("checkout-index", "--all", "--force", "--prefix=out/")


def attributes_elsewhere(trap: Trap) -> Words:
    (trap.root / "attributes").write_text("*.x filter=f\n")
    trap.configure(core__attributesFile=str(trap.root / "attributes"), filter__f__clean=str(trap.program))
    trap.edit()
    return ("diff",)


def signing(trap: Trap) -> Words:
    trap.configure(commit__gpgSign="true", gpg__program=str(trap.program), log__showSignature="true")
    return ("commit", "-q", "--allow-empty", "-m", "x")


def signing_with_ssh(trap: Trap) -> Words:
    trap.configure(commit__gpgSign="true", gpg__format="ssh", user__signingKey="x")
    trap.configure(gpg__ssh__program=str(trap.program))
    return ("commit", "-q", "--allow-empty", "-m", "x")


def editor(trap: Trap) -> Words:
    trap.configure(core__editor=str(trap.program))
    return ("commit", "--allow-empty")


def lazy_fetch(trap: Trap) -> Words:
    """A partial clone, whose missing objects a program of its own brings."""
    origin = start(trap.root.parent / "origin")
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(trap.root.parent, "clone", "-q", "--no-checkout", "--filter=blob:none", origin.as_uri(), "partial")
    git(trap.root.parent, "-C", "partial", "config", "remote.origin.uploadpack", str(trap.program))
    trap.root.rename(trap.root.with_name("before"))
    (trap.root.parent / "partial").rename(trap.root)
    return ("cat-file", "-p", "HEAD:a.x")


def lazy_fetch_by_ssh(trap: Trap) -> Words:
    lazy_fetch(trap)
    trap.configure(remote__origin__url="ssh://nowhere/x", core__sshCommand=str(trap.program))
    return ("cat-file", "-p", "HEAD:a.x")


def lazy_fetch_by_a_helper(trap: Trap) -> Words:
    lazy_fetch(trap)
    trap.configure(remote__origin__url=f"ext::{trap.program} %S")
    return ("cat-file", "-p", "HEAD:a.x")


def aliases(trap: Trap) -> Words:
    git(trap.root, "config", "alias.st", f"!{trap.program}")
    for name in ("status", "diff", "ls-files", "commit"):
        git(trap.root, "config", f"alias.{name}", f"!{trap.program}")
    return ("st",)


def gitdir_file(trap: Trap) -> Words:
    """The folder is an innocent one, whose `.git` file names another repository."""
    fsmonitor(trap)
    (trap.root / ".git").rename(trap.root / "data")
    (trap.root / ".git").write_text("gitdir: data\n")
    return ("status",)


def common_folder(trap: Trap) -> Words:
    """What git reads as its configuration is another folder's."""
    other = start(trap.root.parent / "other")
    git(other, "config", "core.fsmonitor", str(trap.program))
    (trap.root / ".git" / "commondir").write_text(f"{other / '.git'}\n")
    return ("status",)


def bare_and_embedded(trap: Trap) -> Words:
    """The folder itself looks like a repository, with a `config` that names a working tree."""
    for path in (trap.root / ".git").iterdir():
        path.rename(trap.root / path.name)
    (trap.root / ".git").rmdir()
    trap.configure(core__bare="false", core__worktree=str(trap.root), core__fsmonitor=str(trap.program))
    return ("status",)


TRAPS: list[Callable[[Trap], Words]] = [
    *(fsmonitor, fsmonitor_of_a_submodule, fsmonitor_of_a_nested_repository, hooks, hooks_in_their_place),
    *(included, included_on_a_branch, of_the_worktree, external_diff, diff_driver, textconv, clean_filter),
    *(process_filter, smudge_filter, attributes_elsewhere, signing, signing_with_ssh, editor, lazy_fetch),
    *(lazy_fetch_by_ssh, lazy_fetch_by_a_helper, aliases, gitdir_file, common_folder, bare_and_embedded),
]
QUICK = {clean_filter, lazy_fetch}


async def look_everywhere(root: Path) -> None:
    """Every way in which kith asks git about a tree, and a commit."""
    await is_repository(root)
    commit = await head(root)
    paths = await list_files(root)
    await ignored(root, [*paths, "x.log"])
    await find_private(root, lambda path, out: path.endswith(".x"))
    await clean_commit(root)
    for old, new in ((INDEX, WORKTREE), (commit or "HEAD", WORKTREE), (commit or "HEAD", INDEX)):
        with suppress(TreeError):
            await diff_states(root, old, new, 1_000)
    for words in (("log", "-p", "-1"), ("show", "HEAD"), ("blame", "a.x"), ("status",), ("grep", "o")):
        await run_git(root, *words)
    with suppress(TreeError):
        await check_out(root, commit or "HEAD", root.parent / "out")
    with suppress(TreeError):
        (root / "a.x").write_text("committed\n")
        await commit_paths(root, ["a.x"], "kith's")


@pytest.mark.parametrize(
    "set_trap", [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in TRAPS]
)
def test_plain_git_falls_for_it_and_kith_does_not(set_trap: Callable[[Trap], Words], tmp_path: Path) -> None:
    trap = Trap(start(tmp_path / "repo"))
    words = set_trap(trap)
    asyncio.run(look_everywhere(trap.root))
    assert not trap.canary.exists(), "kith fell for it"
    trap.edit()
    git(trap.root, *words, check=False)
    assert trap.canary.exists(), "nobody falls for this"


def test_variables_of_kiths_own_environment_lead_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = Trap(start(tmp_path / "repo"))
    other, program = start(tmp_path / "other"), str(trap.program)
    (other / "only-there").write_text("x\n")
    for name in ("EXTERNAL_DIFF", "SSH", "SSH_COMMAND", "PAGER", "EDITOR", "ASKPASS", "PROXY_COMMAND"):
        monkeypatch.setenv(f"GIT_{name}", program)
    for name in ("TRACE", "TRACE2", "TRACE2_EVENT", "TRACE_SETUP", "TRACE_CURL"):
        monkeypatch.setenv(f"GIT_{name}", str(trap.canary))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other / ".git" / "objects"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'core.fsmonitor={program}'")
    monkeypatch.setenv("GIT_EXEC_PATH", str(tmp_path))
    asyncio.run(look_everywhere(trap.root))
    assert not trap.canary.exists()
    assert asyncio.run(list_files(trap.root)) == ("a.x",)


def test_git_is_not_taken_from_the_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "tree"
    (root / "bin").mkdir(parents=True)
    git(root, "init", "-q")
    for place in (root / "git", root / "bin/git"):
        place.write_text(f"#!/bin/sh\necho planted >> {tmp_path}/canary\n")
        place.chmod(0o755)
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", os.pathsep.join((".", "", "bin", f"{root}/bin", os.environ["PATH"])))
    assert asyncio.run(is_repository(root))
    assert not (tmp_path / "canary").exists()
