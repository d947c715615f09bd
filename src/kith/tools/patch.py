"""Apply edits in words to a tree, all or none; also the patches that models send to a shell."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kith.core.errors import TreeError
from kith.core.patterns import lazy_pattern
from kith.core.run import Run
from kith.core.values import Change, Changes, ToolResult
from kith.core.workspace import Workspace
from kith.edits import Edit, EditError, find_edits, make_changes, paths_of
from kith.tools.answers import refused, told
from kith.tools.paths import visible

# `apply_patch` is a command of Codex, which models that were trained with it call in any shell.
_HEREDOC = lazy_pattern(r"\s*apply_?patch\s+<<-?\s*([\"']?)(\w+)\1[ \t]*\n(.*?)\n?[ \t]*\2\s*", re.S)
_QUOTED = lazy_pattern(
    r"\s*(?:apply_?patch\s+)?([\"']?)(\*\*\* Begin Patch\n.*\n\*\*\* End Patch)\s*\1\s*", re.S
)


def patch_in(args: Mapping[str, Any]) -> str:
    """The patch that a command consists of; "" for any other command, or one in another folder."""
    command = args["command"]
    if args.get("folder", ".") not in ("", ".", "./") or "*** Begin Patch" not in command:
        return ""
    if found := _HEREDOC.fullmatch(command):
        return found[3]
    found = _QUOTED.fullmatch(command)
    return found[2] if found else ""


async def apply_patch(text: str, run: Run) -> ToolResult:
    """Apply a patch and say what it changed, for a model."""
    known = frozenset(await run.workspace.files())
    try:
        changes = await apply_edits(run.workspace, find_edits(text, known), known)
    except EditError as error:
        return refused(str(error))
    names = ", ".join(visible(change.path) for change in changes)
    return told(f"Changed {names}.", f"patched {names}")


async def apply_edits(tree: Workspace, edits: Sequence[Edit], known: frozenset[str]) -> Changes:
    """Make the changes of edits in a tree that holds the `known` files: all of them or none.

    Raises EditError or TreeError.
    """
    contents = {path: await _read_or_none(tree, path, known) for path in paths_of(edits, known)}
    changes = make_changes(edits, contents, known=known)
    await _write_all(tree, changes)
    return changes


async def _write_all(tree: Workspace, changes: Changes) -> None:
    """Write every file, keeping its mode unless that is changed, too; a refusal takes all of them back."""
    written: list[Change] = []
    try:
        for change in changes:
            await tree.write(change.path, change.after)
            written.append(change)
        made = (change for change in changes if change.after is not None)
        modes = tuple(replace(each, before=each.after) for each in made if each.mode != each.mode_before)
        if modes:
            await tree.apply(modes)
    except TreeError:
        for change in reversed(written):
            await tree.write(change.path, change.before)
        raise


async def _read_or_none(tree: Workspace, path: str, known: frozenset[str]) -> bytes | None:
    try:
        return await tree.read(path)
    except TreeError:
        if path in known:
            raise
        return None
