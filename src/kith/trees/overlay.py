"""A trial on an overlay: the user's tree below, untouched, and a layer above it that takes every change."""

import os
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kith.core.errors import TreeError
from kith.core.values import Ran
from kith.core.workspace import Command, ExecLimits
from kith.trees.compare import Stamp, Touched, outside_repositories
from kith.trees.exec import NOT_FOUND, Captured
from kith.trees.files import FileState
from kith.trees.git import git_argv, git_env
from kith.trees.launch import BASE
from kith.trees.layers import LayerEntry, Layers
from kith.trees.listing import SKIPPED, ignored, list_files
from kith.trees.refused_names import holds_repository
from kith.trees.sandbox import capture_boxed, run_boxed
from kith.trees.sandbox_view import HOME, Box
from kith.trees.trial import SideTrial
from kith.trees.trial_folder import claim_folder

# Outside a repository an empty one lends its rules, so that .gitignore files still count.
_IGNORED = (
    "git rev-parse -q --git-dir >/dev/null 2>&1"
    ' || { git init -q --bare /tmp/none && export GIT_DIR=/tmp/none GIT_WORK_TREE="$PWD"; };'
    ' exec "$@" 2>/dev/null'
)
_GIT_LIMITS = ExecLimits(seconds=60.0, output=256_000_000)  # kith's own git, whose answer is needed whole


@asynccontextmanager
async def open_overlay(
    root: Path,
    state: Path,
    toolchains: tuple[Path, ...],
    name: str = "",
    hosts: tuple[str, ...] = (),
    base: Path | None = None,
) -> AsyncIterator[SideTrial]:
    """A trial of the tree at `root`, kept in `state` while the block lasts. See `claim_folder` for `name`.

    `base` is the folder of a finished trial whose upper layer commands find between the tree and this one's.
    """
    with claim_folder(state, root, name) as folder:
        for layer in ("upper", "work"):
            (folder / layer).mkdir(exist_ok=True)
        if base is not None:
            (folder / BASE).symlink_to(base / "upper")
        (folder / "upper").chmod(root.stat().st_mode & 0o7777)
        box = Box(
            root,
            root,
            True,
            toolchains,
            (state,),
            _excludes(root),
            folder,
            hosts=hosts,
            scratch=folder / "tmp",
        )

        def above() -> AbstractAsyncContextManager[SideTrial]:
            return open_overlay(root, state, toolchains, hosts=hosts, base=folder)

        ground = OverlayGround(box, Layers(root, folder / "upper"))
        yield SideTrial(ground, folder, above=above if base is None else None)


def _excludes(root: Path) -> tuple[tuple[Path, Path], ...]:
    """The user's own ignore rules, shown where git looks for them in the box."""
    env = git_env(root)
    default = Path(env.get("XDG_CONFIG_HOME") or Path(env.get("HOME", "/"), ".config"), "git/ignore")
    pairs = (
        (env[f"GIT_CONFIG_KEY_{n}"], env[f"GIT_CONFIG_VALUE_{n}"])
        for n in range(int(env["GIT_CONFIG_COUNT"]))
    )
    named = [Path(value) for key, value in pairs if key == "core.excludesfile"]
    return (((named or [default])[-1], Path(HOME, ".config/git/ignore")),)


@dataclass(frozen=True, slots=True)
class OverlayGround:
    """The layers of a trial, and the box in which they are mounted for each command."""

    box: Box
    layers: Layers
    confined: bool = True

    @property
    def root(self) -> Path:
        return self.box.root

    def look(self, path: str) -> FileState | None:
        return self.layers.look(path)

    def readlink(self, path: str) -> str | None:
        return self.layers.readlink(path)

    def put(self, path: str, state: FileState | None) -> None:
        self.layers.put(path, state)

    def shares(self, path: str) -> bool:
        return self.layers.layer_of(path) == self.root

    def stamps(self) -> Mapping[str, Stamp]:
        return {path: entry.stamp for path, entry in self.layers.scan().items() if entry.stamp}

    async def touched(self, by_products: Mapping[str, Stamp]) -> Touched:
        entries = self.layers.scan()
        if not entries:
            return Touched((), ())
        kept = dict(_without(entries, by_products))
        listed = await list_files(self.root) if self.layers.may_hide(kept) else ()
        touched = self.layers.touched(kept, listed)
        is_there = self.layers.find_in(entries)
        own = outside_repositories(touched.present, lambda folder: holds_repository(folder, is_there))
        return replace(touched, present=own)

    async def ignored(self, paths: Collection[str]) -> set[str]:
        if not paths:
            return set()
        if self._rules_hold():  # then git on the host says it, and of files that it lists it has said it
            return await ignored(self.root, set(paths).difference(await list_files(self.root)))
        asked = sorted(paths)
        names = b"".join(b"./" + os.fsencode(path) + b"\0" for path in asked)  # "./": a leading ":" is magic
        argv = ["sh", "-c", _IGNORED, "sh", *git_argv("check-ignore", "-z", "--stdin")]
        done = await self._capture(argv, names)
        if done.code not in (0, 1, NOT_FOUND):
            raise TreeError("git could not say which files of the trial are ignored")
        found = {os.fsdecode(name[2:]) for name in done.output.split(b"\0") if name}
        if not (self.root / ".git").exists():
            found |= {path for path in asked if not SKIPPED.isdisjoint(path.split("/"))}
        return found

    def _rules_hold(self) -> bool:
        """Whether the trial has the user's repository with all of its ignore rules, and no others."""
        if self.has_own_history() or not (self.root / ".git").exists():
            return False
        entries = self.layers.scan()
        changed = any(path.rpartition("/")[2] == ".gitignore" for path in entries)
        return not changed and not self.layers.may_hide(entries)

    def has_own_history(self) -> bool:
        below = self.box.overlay is not None and (self.box.overlay / BASE).is_symlink()
        return below or os.path.lexists(self.layers.upper / ".git")

    async def run(self, command: Command, limits: ExecLimits, clean: bool = False) -> Ran:
        return await run_boxed(replace(self.box, scratch=None) if clean else self.box, command, limits)

    async def git(self, *args: str, input: bytes = b"") -> bytes | None:
        done = await self._capture(git_argv(*args), input)
        return done.output if done.code == 0 else None

    async def _capture(self, argv: list[str], input: bytes) -> Captured:
        return await capture_boxed(self.box, argv, _GIT_LIMITS, input)


def _without(entries: Mapping[str, LayerEntry], by_products: Mapping[str, Stamp]) -> Mapping[str, LayerEntry]:
    """The entries that no check left behind; a folder it replaced counts as one that is still there."""
    kept = dict[str, LayerEntry]()
    for path, entry in entries.items():
        if by_products.get(path) != entry.stamp or not entry.stamp:
            kept[path] = entry
        elif entry.kind == "opaque":
            kept[path] = LayerEntry("folder", ())
    return kept
