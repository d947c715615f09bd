"""The copy: what is taken along, what is left out and said, and that the original never notices."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from kith.core.workspace import ShellCommand
from kith.trees.copy import clone_tree, open_copy
from kith.trees.environment import Surroundings
from kith.trees.local import open_tree


def git(root: Path, *args: str) -> str:
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *args]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "node_modules/left").mkdir(parents=True)
    (root / "big").mkdir()
    (root / "src").mkdir()
    for path, size in {"src/a": 1, "node_modules/left/pad": 2, "big/data": 5000, "src/cache.tmp": 3}.items():
        (root / path).write_text("x" * size)
    (root / "node_modules/bin").symlink_to("left/pad")
    (root / ".gitignore").write_text("node_modules/\nbig/\n*.tmp\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


def test_ignored_files_come_along_up_to_the_limit(root: Path, tmp_path: Path) -> None:
    notes = clone_tree(root, [".gitignore", "src/a"], tmp_path / "copy", limit=1000)
    assert (tmp_path / "copy/node_modules/bin").read_text() == "xx"
    assert (tmp_path / "copy/src/cache.tmp").read_text() == "xxx"
    assert not (tmp_path / "copy/big").exists()
    assert len(notes) == 1 and notes[0].startswith("big ")


def test_notes_say_what_was_left_out_and_it_is_no_deletion(root: Path, tmp_path: Path) -> None:
    async def main() -> None:
        async with open_copy(
            root, tmp_path / "state", Surroundings(), boxed=False, confined=False, ignored_limit=1000
        ) as trial:
            assert [note.split()[0] for note in trial.notes] == ["big"]
            assert await trial.changes() == ()

    asyncio.run(main())


def test_commits_and_stashes_stay_in_the_copy(root: Path, tmp_path: Path) -> None:
    before = git(root, "rev-parse", "--all"), (root / ".git/index").read_bytes()

    async def main() -> None:
        async with open_copy(root, tmp_path / "state", Surroundings(), boxed=False, confined=False) as trial:
            ran = await trial.exec(
                ShellCommand(
                    "set -e; export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=A"
                    " GIT_COMMITTER_EMAIL=a@b.c; git log --format=%s; echo 2 > src/a; git stash -q;"
                    " git stash pop -q; git commit -qam second; git gc -q; git fsck"
                )
            )
            assert ran.code == 0 and ran.output.startswith("first\n"), ran.output
            assert await trial.commits() == ["second"]

    asyncio.run(main())
    assert (git(root, "rev-parse", "--all"), (root / ".git/index").read_bytes()) == before


def test_a_linked_worktree_is_no_repository_in_the_copy(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", tmp_path / "linked")
    notes = clone_tree(tmp_path / "linked", ["src/a"], tmp_path / "copy")
    assert not (tmp_path / "copy/.git").exists() and "elsewhere" in notes[0]


def test_a_named_copy_comes_back_and_an_unfinished_one_is_made_again(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"

    async def begin() -> None:
        trial = open_copy(root, state, Surroundings(), "kept", boxed=False, confined=False)
        entered = await trial.__aenter__()
        await entered.write("src/a", b"kept")
        (state / "trials/kept").rename(tmp_path / "kept")  # as if the process had died here
        await trial.__aexit__(None, None, None)
        (tmp_path / "kept").rename(state / "trials/kept")

    async def again(expected: bytes) -> None:
        async with open_copy(root, state, Surroundings(), "kept", boxed=False, confined=False) as trial:
            assert await trial.read("src/a") == expected

    asyncio.run(begin())
    asyncio.run(again(b"kept"))
    asyncio.run(begin())
    (state / "trials/kept/record").unlink()
    asyncio.run(again(b"x"))


def test_plain_commands_have_a_home_of_their_own_and_no_credentials(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    tree = open_tree(root, tmp_path / "state", tmp_path / "cache", sandbox="off")

    async def main() -> None:
        for place in (tree, None):
            async with tree.trial() as trial:
                ran = await (place or trial).exec(ShellCommand("env; ls -A ~; touch ~/x $TMPDIR/y"))
                assert ran.code == 0 and not ran.sandboxed
                assert "canary" not in ran.output and f"HOME={Path.home()}\n" not in ran.output

    asyncio.run(main())
