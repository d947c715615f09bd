"""The state that a task began from: its commit, and that commit's files in a folder of their own."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from kith.core.errors import TreeError
from kith.trees.git import run_git
from kith.trees.walk import remove_tree

_PATIENCE: Final = 0.3  # seconds for a look at the tree, as a task begins: 6 ms, 80 ms for 20,000 files
_AUTHOR: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "kith"), ("EMAIL", "kith@localhost"), ("DATE", "2000-01-01T00:00:00Z"))
}


async def clean_commit(root: Path, patience: float = _PATIENCE) -> str:
    """The commit that the tree at `root` is, file by file.

    "" where it is none: something was changed or is not tracked, there is no commit, no git, or git takes
    longer than `patience` (seconds).
    """
    ask = run_git(root, "status", "--porcelain=v2", "--branch", "-z", "--ignore-submodules=dirty")
    try:
        async with asyncio.timeout(patience):
            ran = await ask
    except (TimeoutError, TreeError):
        return ""
    lines = [line for line in ran.stdout.split(b"\0") if line]
    heads = [line for line in lines if line.startswith(b"# branch.oid ")]
    if not ran.ok or not heads or any(not line.startswith(b"#") for line in lines):
        return ""
    name = heads[0].removeprefix(b"# branch.oid ").decode()
    return name if name.isalnum() else ""  # "(initial)" before the first one


async def check_out(root: Path, commit: str, target: Path) -> Path:
    """Put a commit's files into `target`, as a repository of its own; returns where `root` is in there.

    Neither the tree at `root` nor its index is touched, and no hook, filter or driver of it runs. What is
    there already stays as it is. Raises TreeError when the commit or one of its files is gone.
    """
    prefix = (await _ask(root, "rev-parse", "--show-prefix")).decode().strip()

    async def fill(folder: Path) -> None:
        index = folder.with_name(f"{folder.name}.index")
        try:
            await _ask(root, "read-tree", commit, index=index)
            await _ask(root, "checkout-index", "--all", f"--prefix={folder}/", index=index)
        finally:
            index.unlink(missing_ok=True)

    await _make(target, fill)
    return target / prefix


async def lay_out(files: Mapping[str, str], target: Path) -> None:
    """Put these files (path to text) into `target`, as a repository of its own. Raises TreeError."""

    async def fill(folder: Path) -> None:
        for path, text in files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")

    await _make(target, fill)


async def _make(target: Path, fill: Callable[[Path], Awaitable[None]]) -> None:
    """A repository with one commit of what `fill` puts into its folder; it is there whole, or not at all."""
    if (target / ".git" / "HEAD").exists():
        return
    making = target.with_name(f"{target.name}.{os.getpid()}")
    if making.exists():
        remove_tree(making)
    making.mkdir(parents=True)
    await fill(making)
    await _ask(making, "init", "--quiet", "--template=", "--initial-branch=main")
    await _ask(making, "add", "--all", "--force")
    await _ask(making, "commit", "--quiet", "--allow-empty", "--message=As it was", env=_AUTHOR)
    if not target.exists():
        making.rename(target)


async def _ask(root: Path, *args: str, index: Path | None = None, env: dict[str, str] | None = None) -> bytes:
    ran = await run_git(root, *args, index=index, env=env)
    if not ran.ok:
        raise TreeError(f"git {args[0]} refused: {ran.complaint}")
    return ran.stdout
