"""Git runs nothing that a repository asks for, and commits exactly what it was told to."""

import asyncio
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from kith.core.errors import TreeError
from kith.trees.git import commit_paths, head, is_repository, run_git
from waiting import soon


def git(root: Path, *args: str) -> str:
    """Plain git, as the user runs it."""
    env = {"PATH": os.environ["PATH"], "HOME": str(root.parent / "home"), "LC_ALL": "C"}
    return subprocess.run(
        ["git", *args], cwd=root, env=env, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home, root = tmp_path / "home", tmp_path / "repo"
    home.mkdir()
    root.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in [name for name in os.environ if name.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))]:
        monkeypatch.delenv(name)
    git(root, "init", "--quiet", "--initial-branch=main")
    for name in ("a", "b", "c"):
        (root / name).write_text(name)
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message=first")
    return root


def test_commits_exactly_these_paths_and_leaves_the_index_alone(repo: Path) -> None:
    for name in ("a", "b", "c", "new", "*"):
        (repo / name).write_text("changed")
    (repo / "c").unlink()
    git(repo, "add", "b")
    commit = asyncio.run(commit_paths(repo, ["a", "c", "new"], "second\n\n# not a comment"))
    assert commit == asyncio.run(head(repo)) == git(repo, "rev-parse", "HEAD").strip()
    assert git(repo, "show", "--format=%an %ae%n%B", "--name-status").splitlines() == [
        *("Ada ada@example.org", "second", "", "# not a comment", "", "", "M\ta", "D\tc", "A\tnew")
    ]
    assert git(repo, "status", "--porcelain") == "M  b\n?? *\n"


def test_a_file_named_star_is_one_file(repo: Path) -> None:
    (repo / "*").write_text("star")
    (repo / "a").write_text("changed")
    asyncio.run(commit_paths(repo, ["*"], "star"))
    assert git(repo, "status", "--porcelain") == " M a\n"


def test_a_refused_commit_leaves_everything_as_it_was(repo: Path) -> None:
    (repo / "new").write_text("x")
    git(repo, "checkout", "--quiet", "-b", "side")
    (repo / ".git" / "MERGE_HEAD").write_text(git(repo, "rev-parse", "HEAD"))
    index = repo / ".git" / "index"
    before = index.read_bytes(), git(repo, "rev-parse", "HEAD"), sorted((repo / ".git").iterdir())
    with pytest.raises(TreeError, match="merge"):
        asyncio.run(commit_paths(repo, ["new"], "no"))
    after = index.read_bytes(), git(repo, "rev-parse", "HEAD"), sorted((repo / ".git").iterdir())
    assert [*after[:2], *map(str, after[2])] == [*before[:2], *map(str, before[2])]


def test_while_another_git_holds_the_index_nothing_is_committed(repo: Path) -> None:
    (repo / "a").write_text("changed")
    (repo / ".git" / "index.lock").touch()
    with pytest.raises(TreeError, match=r"index\.lock"):
        asyncio.run(commit_paths(repo, ["a"], "no"))
    (repo / ".git" / "index.lock").unlink()
    assert asyncio.run(commit_paths(repo, ["a"], "yes")) == git(repo, "rev-parse", "HEAD").strip()
    assert git(repo, "status", "--porcelain") == ""


def test_says_so_when_git_does_not_know_the_user(repo: Path) -> None:
    (repo.parent / "home" / ".gitconfig").unlink()
    (repo / "a").write_text("changed")
    with pytest.raises(TreeError, match=r"user\.name"):
        asyncio.run(commit_paths(repo, ["a"], "no"))


def test_a_file_behind_a_filter_is_not_committed(repo: Path) -> None:
    (repo / ".gitattributes").write_text("*.bin filter=lfs\n")
    (repo / "x.bin").write_text("x")
    with pytest.raises(TreeError, match="lfs"):
        asyncio.run(commit_paths(repo, ["x.bin"], "no"))


def _arm(repo: Path, canary: Path) -> None:
    """Make the repository run a program in every way that its own files allow."""
    script = repo / "evil.sh"
    script.write_text(f'#!/bin/sh\necho fired "$0" >> {canary}\ncat\nexit 0\n')
    script.chmod(0o755)
    hooks = repo / "hooks"
    hooks.mkdir()
    for hook in ("pre-commit", "post-commit", "commit-msg", "post-index-change", "reference-transaction"):
        (hooks / hook).write_text(f"#!/bin/sh\necho {hook} >> {canary}\n")
        (hooks / hook).chmod(0o755)
    (repo / ".gitattributes").write_text("*.x filter=f=g.h diff=d merge=m\n")
    (repo / "included").write_text(f"[alias]\n\tstatus = !{script}\n[pager]\n\tlog = {script}\n")
    for key, value in {
        "core.fsmonitor": str(script),
        "core.hooksPath": str(hooks),
        "core.pager": str(script),
        "core.editor": str(script),
        "core.sshCommand": str(script),
        "core.askPass": str(script),
        "diff.external": str(script),
        "diff.d.command": str(script),
        "diff.d.textconv": str(script),
        "filter.f=g.h.clean": str(script),
        "filter.f=g.h.smudge": str(script),
        "filter.f=g.h.process": str(script),
        "filter.f=g.h.required": "true",
        "merge.m.driver": str(script),
        "gpg.program": str(script),
        "gpg.ssh.program": str(script),
        "commit.gpgSign": "true",
        "log.showSignature": "true",
        "credential.helper": f"!{script}",
        "include.path": str(repo / "included"),
        "remote.origin.url": f"ext::{script}",
        "remote.origin.promisor": "true",
    }.items():
        git(repo, "config", key, value)


COMMANDS = [
    ("status", "--short"),
    ("diff",),
    ("diff", "HEAD~1"),
    ("log", "-p", "--show-signature"),
    ("show",),
    ("ls-files", "-co", "--exclude-standard"),
    ("add", "one.x"),
    ("hash-object", "-w", "one.x"),
    ("checkout", "--", "two.x"),
    ("commit", "--allow-empty", "--message=x"),
    ("fetch", "origin"),
    ("cat-file", "-p", "0123456789012345678901234567890123456789"),
    ("merge", "side"),
]


def test_the_trap_springs_on_plain_git(repo: Path) -> None:
    canary = repo.parent / "canary"
    _arm(repo, canary)
    (repo / "a").write_text("changed")
    git(repo, "diff")
    assert "evil.sh" in canary.read_text()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_hostile_repository_runs_nothing(repo: Path, command: tuple[str, ...]) -> None:
    for name in ("one.x", "two.x"):
        (repo / name).write_text("1\n2\n3\n")
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "--message=second")
    git(repo, "branch", "side")
    (repo / "one.x").write_text("changed\n")
    (repo / "two.x").unlink()
    canary = repo.parent / "canary"
    _arm(repo, canary)
    author = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    asyncio.run(run_git(repo, *command, env=author))
    assert not canary.exists(), canary.read_text()


def test_committing_in_a_hostile_repository_runs_nothing(repo: Path) -> None:
    canary = repo.parent / "canary"
    _arm(repo, canary)
    (repo / "a").write_text("changed")
    asyncio.run(commit_paths(repo, ["a", "evil.sh"], "x"))
    assert not canary.exists(), canary.read_text()


def test_inherited_git_variables_do_not_redirect_it(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(repo.parent / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(repo.parent / "index"))
    assert asyncio.run(head(repo)) == asyncio.run(run_git(repo, "rev-parse", "HEAD")).stdout.decode().strip()


def test_knows_what_is_a_repository(repo: Path) -> None:
    (repo / ".gitignore").write_text("build/\n")
    for name in ("build", "src"):
        (repo / name).mkdir()
    answers = [asyncio.run(is_repository(path)) for path in (repo, repo / "src", repo / "build", repo.parent)]
    assert answers == [True, True, False, False]


def test_a_repository_without_commits_has_no_head(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert asyncio.run(head(tmp_path)) == ""


def test_a_private_index_leaves_the_users_alone(repo: Path) -> None:
    (repo / "a").write_text("changed")
    index = repo.parent / "private"
    asyncio.run(run_git(repo, "read-tree", "HEAD", index=index))
    assert asyncio.run(run_git(repo, "add", "a", index=index)).ok
    assert git(repo, "status", "--porcelain") == " M a\n"


def test_cancelling_kills_the_process(repo: Path) -> None:
    os.mkfifo(repo / "pipe")

    def opened() -> int:
        """Our end of the pipe, once git has opened its own and waits for what is written."""
        with suppress(OSError):
            return os.open(repo / "pipe", os.O_WRONLY | os.O_NONBLOCK)
        return 0

    async def cancel() -> None:
        task = asyncio.create_task(run_git(repo, "hash-object", "pipe"))
        ours = await soon(opened)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        os.close(ours)

    asyncio.run(cancel())


def test_cancelling_ends_while_much_is_being_printed(repo: Path) -> None:
    (repo / "large").write_bytes(b"\0" * 40_000_000)
    name = git(repo, "hash-object", "-w", "large").strip()

    async def cancel() -> None:
        for moment in (0.0, 0.01, 0.02, 0.04):
            task = asyncio.create_task(run_git(repo, "cat-file", "blob", name))
            await asyncio.sleep(moment)
            task.cancel()
            _, waiting = await asyncio.wait([task], timeout=60)
            assert not waiting, "it waits for a process whose output nobody reads"

    asyncio.run(cancel())
