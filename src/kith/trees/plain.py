"""Run a command where there is no sandbox: in a folder, with the allowed variables and a home of its own."""

import asyncio
from dataclasses import replace
from pathlib import Path, PurePosixPath

from kith.core.values import Ran
from kith.core.workspace import Command, ExecLimits
from kith.trees.exec import run_process
from kith.trees.files import follow_links
from kith.trees.sandbox import shell
from kith.trees.scratch import Scratch
from kith.trees.toolchains import allowed_environment


async def run_plain(
    root: Path, scratch: Path, toolchains: tuple[Path, ...], command: Command, limits: ExecLimits
) -> Ran:
    """Run a shell command in the tree at `root`; its home and temporary files go to `scratch`."""
    folder = root if command.folder in ("", ".") else root / follow_links(root, command.folder)
    home, temporary = scratch / "home", scratch / "tmp"
    for each in (home, temporary):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    private = {"HOME": str(home), "TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)}
    kept = Scratch(temporary, limits.scratch, PurePosixPath(temporary))
    ran = await run_process(
        [*shell(), command.line],
        command=command.line,
        env=allowed_environment(root, toolchains, command.env) | private,
        cwd=folder,
        limits=limits,
        input=command.input,
        sandboxed=False,
        scratch=kept,
    )
    return replace(ran, output=ran.output + await asyncio.to_thread(kept.settle))
