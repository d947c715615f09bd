"""Behind a veil a workspace has no private files, and a tool sees every workspace through it."""

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kith.core.errors import TreeError
from kith.core.run import Run
from kith.core.values import Answer, Question
from kith.core.workspace import ShellCommand, Trial, Workspace
from kith.tools import standard_tools
from kith.tools.veiled import Veil, hide, veil_tools
from kith.trees.local import open_tree

SECRET = b"TOKEN=abc\n"
VEIL = Veil(frozenset({".env", "deploy.env"}), (".env",), frozenset({sha256(SECRET).hexdigest()}))


def behind(root: Path, state: Path, look: Callable[[Workspace], Awaitable[Any]]) -> Any:
    """What is seen in a trial behind the veil."""
    (root / ".env").write_bytes(SECRET)
    (root / "deploy.env").write_bytes(b"OTHER=1\n")
    (root / "link").symlink_to(".env")
    (root / "built.log").write_text("ignored\n")
    (root / ".gitignore").write_text(".env\n*.log\n")

    async def run() -> Any:
        async with open_tree(root, state / "state", state / "cache").trial() as trial:
            veiled = hide(trial, VEIL)
            assert isinstance(veiled, Trial)  # tools that look at what changed still can
            return await look(veiled)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (".env", "looks like it holds secrets"),
        ("./tests/../.env", "looks like it holds secrets"),
        ("deploy.env", "looks like it holds secrets"),
        ("link", "looks like it holds secrets"),  # by what is in it
        ("built.log", "is ignored by git"),
    ],
)
def test_what_is_private_is_refused_in_words(repository: Path, tmp_path: Path, path: str, words: str) -> None:
    async def look(workspace: Workspace) -> None:
        with pytest.raises(TreeError, match=words):
            await workspace.read(path)

    behind(repository, tmp_path, look)


def test_the_rest_is_there_and_can_be_changed(repository: Path, tmp_path: Path) -> None:
    async def look(workspace: Workspace) -> None:
        files = await workspace.files()
        assert "utils.py" in files and "deploy.env" not in files
        await workspace.write("new.py", b"x = 1\n")
        assert await workspace.read("new.py") == b"x = 1\n"
        for path in (".env", "deploy.env"):
            with pytest.raises(TreeError):
                await workspace.write(path, b"")
        assert isinstance(workspace, Trial)
        assert "new.py" in {change.path for change in await workspace.changes()}

    behind(repository, tmp_path, look)


def test_commands_and_checks_do_not_see_masked_files(repository: Path, tmp_path: Path, sandbox: None) -> None:
    async def look(workspace: Workspace) -> None:
        assert isinstance(workspace, Trial)
        for run in (workspace.exec, workspace.check):
            ran = await run(ShellCommand("cat .env link; cat built.log"))
            assert "TOKEN" not in ran.output and "ignored" in ran.output

    behind(repository, tmp_path, look)


def test_tools_answer_the_model_in_words(repository: Path, tmp_path: Path) -> None:
    async def nobody(question: Question) -> Answer:
        raise AssertionError(question)

    async def use(workspace: Workspace) -> list[str]:
        inner = workspace.inner  # type: ignore[attr-defined]
        run = Run(lambda event, path: None, nobody, inner)
        tools = {tool.name: tool for tool in veil_tools(standard_tools(), VEIL)}
        read = await tools["read"].fn({"paths": [".env"]}, run)
        listed = await tools["list"].fn({}, run)
        found = await tools["search"].fn({"pattern": "TOKEN|OTHER"}, run)
        return [read.text, listed.text, found.text]

    read, listed, found = behind(repository, tmp_path, use)
    assert "the person" in read
    assert "env" not in listed and found.startswith("No matches")
