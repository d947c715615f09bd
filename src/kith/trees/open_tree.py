"""Open a tree: the user's files, with the best trials and the best sandbox that this machine can give."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal

from kith.core.errors import TreeError
from kith.core.values import Ran
from kith.core.workspace import Command, ExecLimits, SizeLimits, Trial
from kith.trees.copy import open_copy
from kith.trees.environment import find_toolchains
from kith.trees.journal import LIMITS
from kith.trees.local import LocalTree
from kith.trees.overlay import open_overlay
from kith.trees.sandbox import run_boxed, run_plain
from kith.trees.sandbox_probe import Abilities, probe
from kith.trees.sandbox_view import Box

Wish = Literal["auto", "require", "off", "outside"]  # whether commands are to be confined, and by whom
_OFF = Abilities("the sandbox is switched off", "the sandbox is switched off")


def open_tree(
    root: Path,
    state: Path,
    cache: Path,
    *,
    sandbox: Wish = "auto",
    limits: SizeLimits = LIMITS,
    hosts: tuple[str, ...] = (),
    config: Path | None = None,
) -> LocalTree:
    """The tree at `root`; `state` is for trials and journals, `cache` for what can be found out again.

    Nothing is changed in these folders, nor in `config`. With "auto" commands are confined where the machine
    can, with "off" never; "outside": a container or a virtual machine around kith confines them. `hosts` are
    those that every command may reach. Raises TreeError with "require" where the machine cannot, and for a
    folder that holds kith's own state.
    """
    root, cache = root.resolve(), cache.absolute()
    state = _make_state(state.absolute(), root)
    own = tuple(filter(None, (state, cache, config)))
    can = _find_abilities(sandbox, root, state, cache)
    confined = can.sandbox or sandbox == "outside"
    toolchains = find_toolchains(root)

    async def run(place: Path, command: Command, limits: ExecLimits) -> Ran:
        if can.sandbox:
            box = Box(place, place, False, toolchains, (state,), hosts=hosts)
            return await run_boxed(box, command, limits)
        return await run_plain(place, cache / "commands", toolchains, command, limits)

    def begin(tree: LocalTree, name: str) -> AbstractAsyncContextManager[Trial]:
        if can.overlay:
            return open_overlay(tree.root, state, toolchains, name, hosts)
        return open_copy(
            tree.root, state, toolchains, name, boxed=can.sandbox, confined=confined, hosts=hosts
        )

    return LocalTree(root, state, runner=run, trials=begin, confined=confined, limits=limits, own=own)


def _make_state(state: Path, root: Path) -> Path:
    if state.resolve().is_relative_to(root):
        raise TreeError(f"{root} holds kith's own files ({state}); open a project in it instead")
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    return state.resolve()


def _find_abilities(wish: Wish, root: Path, state: Path, cache: Path) -> Abilities:
    can = _OFF if wish in ("off", "outside") else probe(root, state, cache)
    if wish == "require" and not can.sandbox:
        raise TreeError(f"No sandbox on this machine: {can.no_sandbox}.")
    return can
