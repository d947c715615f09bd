"""A trial on an overlay: the user's tree below, untouched, and a layer above it that takes every change."""

import os
import secrets
import stat
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kith.core.errors import TreeError
from kith.core.values import Ran
from kith.core.workspace import ExecLimits, ShellCommand
from kith.trees.compare import Stamp, Touched, outside_repositories, stamp_of
from kith.trees.environment import Surroundings
from kith.trees.exec import NOT_FOUND, Captured
from kith.trees.files import (
    PROTECTED,
    FileState,
    Folder,
    delete_file,
    is_folder,
    look_at,
    open_folder,
    read_link,
    show_path,
    split_path,
    told,
    write_file,
)
from kith.trees.git import git_argv, git_env
from kith.trees.launch import BASE
from kith.trees.listing import SKIPPED, ignored, list_files
from kith.trees.refused_names import holds_repository
from kith.trees.sandbox import BARE, HOME, Box, capture_boxed, run_boxed
from kith.trees.shared_space import open_shared_space
from kith.trees.trial import SideTrial
from kith.trees.trial_folder import SCRATCH, claim_folder
from kith.trees.walk import LONGEST, remove_tree, walk

# The two layers of an overlay, read and written from outside while nothing has them mounted.

Kind = Literal["file", "link", "folder", "opaque", "whiteout", "special"]
UPPER: Final = "upper"  # the layer, in the trial's folder
_OPAQUE = "user.overlay.opaque"
_WHITEOUT = 0o160000  # as a mode: the type that BSD has for it


class LayerEntry(Struct, frozen=True):
    """One path of the upper layer. The stamp tells two states of a file apart."""

    kind: Kind
    stamp: Stamp


class Layers(Struct, frozen=True):
    """The user's tree (`lower`, never written) and the layer above it."""

    lower: Path
    upper: Path

    def look(self, path: str) -> FileState | None:
        layer = self.layer_of(path)
        return look_at(layer, path) if layer else None

    def readlink(self, path: str) -> str | None:
        layer = self.layer_of(path)
        return read_link(layer, path) if layer else None

    def put(self, path: str, state: FileState | None) -> None:
        """Create or replace a file or link in the upper layer, with its folders, or delete it with None.

        A file keeps the permissions it had. Raises TreeError where a folder lies that is not empty.
        """
        if state is None:
            self._delete(path)
            return
        if self._is_folder(path):
            self._clear_folder(path)
        old = self.look(path)
        folder_path, name = split_path(path)
        self._raise_folder(folder_path)
        with told(path), open_folder(self.upper, folder_path) as folder:
            temporary = f".kith-{secrets.token_hex(6)}.tmp"
            try:
                permissions = old.permissions if old and stat.S_IFMT(old.mode) == stat.S_IFREG else None
                folder.create(temporary, state.content, state.mode, permissions, durable=False)
                folder.move(temporary, folder, name)
            except OSError:
                with suppress(OSError):
                    folder.unlink(temporary)
                raise

    def scan(self) -> dict[str, LayerEntry]:
        """Every path of the upper layer; of nested repositories only their `.git`, of the tree's own none."""
        found = dict[str, LayerEntry]()
        # Each path is looked at in both layers.
        for visit in walk(self.upper, LONGEST - 2 - len(os.fsencode(self.lower))):
            if visit.path and _is_opaque(visit.folder.fd):
                found[visit.path] = LayerEntry("opaque", ("opaque",))
            if not visit.path:
                visit.folders = [name for name in visit.folders if name not in PROTECTED]
                visit.files = [name for name in visit.files if name not in PROTECTED]
            elif ".git" in visit.folders or ".git" in visit.files:
                found[f"{visit.path}/.git"] = LayerEntry("folder", ())
                visit.folders = []
                continue
            for name in (*visit.folders, *visit.files):
                with suppress(FileNotFoundError):
                    found[visit.inside + name] = _entry(visit.folder.stat(name))
        return found

    def find_in(self, entries: Mapping[str, LayerEntry]) -> Callable[[str], bool]:
        """Says of a path whether anything is there, by all the entries of the upper layer.

        Unlike `shows` it looks once at each folder, of which a command may nest more than a thousand.
        """
        known = {"": True}

        def shines_through(folder: str) -> bool:
            """True if the lower layer's files in a folder are visible."""
            unknown = list[str]()
            while folder not in known:
                unknown.append(folder)
                folder = split_path(folder)[0]
            found = known[folder]
            for each in reversed(unknown):
                entry = entries.get(each)
                plain = entry is None or entry.kind == "folder"
                found = known[each] = found and plain and is_real_folder(self.lower / each)
            return found

        def is_there(path: str) -> bool:
            return path in entries or (
                shines_through(split_path(path)[0]) and os.path.lexists(self.lower / path)
            )

        return is_there

    def may_hide(self, entries: Mapping[str, LayerEntry]) -> bool:
        """False when every file of the lower layer that has no entry of its own still shows."""
        for path, entry in entries.items():
            if entry.kind in ("whiteout", "opaque", "special"):
                return True
            below = self.lower / path
            if is_real_folder(below) != (entry.kind == "folder") and os.path.lexists(below):
                return True
        return False

    def touched(self, entries: Mapping[str, LayerEntry], listed: Sequence[str]) -> Touched:
        """Compare the upper layer's entries with `listed`, the files of the lower one."""
        present = [path for path, entry in entries.items() if entry.kind in ("file", "link")]
        return Touched(present, [path for path in listed if _is_hidden(path, entries)])

    def shows(self, path: str) -> bool:
        """True when anything lies at `path`."""
        layer = self.layer_of(path)
        return layer is not None and os.path.lexists(layer / path)

    def layer_of(self, path: str) -> Path | None:
        """The layer that decides what is at `path`, None when it was deleted or replaced."""
        lower_shows = True
        for prefix in prefixes(path):
            mode = self._upper_mode(prefix)
            if mode is None:
                return self.lower if lower_shows else None
            if mode == _WHITEOUT:
                return None
            if not stat.S_ISDIR(mode):
                return self.upper
            hidden = _is_opaque(self.upper / prefix) or not is_real_folder(self.lower / prefix)
            lower_shows = lower_shows and not hidden
        return self.upper

    def _upper_mode(self, path: str) -> int | None:
        """The mode in the upper layer, whose folders above `path` are known to be real ones."""
        try:
            found = os.lstat(self.upper / path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise TreeError(f"{show_path(path)}: {(error.strerror or str(error)).lower()}") from error
        return _WHITEOUT if _is_whiteout(found) else found.st_mode

    def _is_folder(self, path: str) -> bool:
        layer = self.layer_of(path)
        return layer is not None and is_real_folder(layer / path)

    def _delete(self, path: str) -> None:
        folder_path, name = split_path(path)
        self._raise_folder(folder_path)
        with told(path), open_folder(self.upper, folder_path) as folder:
            with suppress(FileNotFoundError):
                folder.unlink(name)
            if self.shows(path):
                os.mknod(name, stat.S_IFCHR, 0, dir_fd=folder.fd)

    def _raise_folder(self, path: str) -> None:
        """Have the folder `path` in the upper layer, with the permissions it has below."""
        for prefix in prefixes(path):
            mode = self._upper_mode(prefix)
            if mode is not None and stat.S_ISDIR(mode):
                continue
            shown = self.shows(prefix)
            if shown and not self._is_folder(prefix):
                raise TreeError(f"{show_path(prefix)} is not a folder")
            permissions = stat.S_IMODE((self.lower / prefix).stat().st_mode) if shown else None
            above, name = split_path(prefix)
            with told(prefix), open_folder(self.upper, above) as folder:
                _make_folder(folder, name, permissions, opaque=mode == _WHITEOUT)

    def _clear_folder(self, path: str) -> None:
        """Take away a folder without files, so that a file can have its place."""
        if self._has_files(path):
            raise TreeError(f"{show_path(path)} is a folder")
        if self._upper_mode(path) is not None:
            remove_tree(self.upper / path)

    def _has_files(self, path: str) -> bool:
        """True when anything but folders shows below `path`."""
        waiting = [path]
        while waiting:
            above, names = waiting.pop(), set[str]()
            for layer in (self.lower, self.upper):
                with suppress(OSError, TreeError), open_folder(layer, above) as folder:
                    names.update(os.listdir(folder.fd))  # noqa: PTH208  (of a descriptor)
            for each in (f"{above}/{name}" for name in names):
                if self._is_folder(each):
                    waiting.append(each)
                elif self.shows(each):
                    return True
        return False


def is_real_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def prefixes(path: str) -> Iterator[str]:
    """The folders on the way to `path`, the outermost first, and `path` itself; none for ""."""
    for end, char in enumerate(path):
        if char == "/":
            yield path[:end]
    if path:
        yield path


def _is_hidden(path: str, entries: Mapping[str, LayerEntry]) -> bool:
    """True when the file `path` of the lower layer no longer shows."""
    below_opaque = False
    for prefix in prefixes(path):
        entry = entries.get(prefix)
        if entry is None:
            return below_opaque
        if prefix == path or entry.kind not in ("folder", "opaque"):
            return prefix != path or entry.kind not in ("file", "link")
        below_opaque = below_opaque or entry.kind == "opaque"
    return False


def _entry(found: os.stat_result) -> LayerEntry:
    if _is_whiteout(found):
        return LayerEntry("whiteout", ("whiteout",))
    stamp = stamp_of(found)
    if stat.S_ISREG(found.st_mode):
        return LayerEntry("file", stamp)
    if stat.S_ISLNK(found.st_mode):
        return LayerEntry("link", stamp)
    return LayerEntry("folder", ()) if stat.S_ISDIR(found.st_mode) else LayerEntry("special", stamp)


def _is_whiteout(found: os.stat_result) -> bool:
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == 0


def _is_opaque(folder: Path | int | None) -> bool:
    try:
        assert folder is not None  # overlays are Linux's
        return os.getxattr(folder, _OPAQUE) == b"y"
    except OSError:
        return False  # no such attribute


def _make_folder(folder: Folder, name: str, permissions: int | None, opaque: bool) -> None:
    if opaque:
        folder.unlink(name)
    folder.mkdir(name)
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder.fd)
    try:
        if permissions is not None:
            os.fchmod(fd, permissions)
        if opaque:
            os.setxattr(fd, _OPAQUE, b"y")
    finally:
        os.close(fd)


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
    around: Surroundings,
    name: str = "",
    hosts: tuple[str, ...] = (),
    base: Path | None = None,
) -> AsyncIterator[SideTrial]:
    """A trial of the tree at `root`, kept in `state` while the block lasts. See `claim_folder` for `name`.

    `base` is the folder of a finished trial whose upper layer commands find between the tree and this one's.
    """
    with claim_folder(state, root, name) as folder:
        for layer in (UPPER, "work"):
            (folder / layer).mkdir(exist_ok=True)
        if base is not None:
            (folder / BASE).symlink_to(base / UPPER)
        (folder / UPPER).chmod(root.stat().st_mode & 0o7777)
        box = Box(
            root,
            root,
            True,
            around,
            (state,),
            _excludes(root),
            folder,
            hosts=hosts,
            scratch=folder / SCRATCH,
        )

        def above() -> AbstractAsyncContextManager[SideTrial]:
            return open_overlay(root, state, around, hosts=hosts, base=folder)

        ground = OverlayGround(box, Layers(root, folder / UPPER))
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


class OverlayGround(Struct, frozen=True):
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
        if self.box.shared is None:
            self.layers.put(path, state)
        elif state is not None:
            self._write_inside(self.box.shared.tree, path, state)
        elif self.layers.look(path) is not None:
            delete_file(self.box.shared.tree, path)

    def _write_inside(self, tree: Path, path: str, state: FileState) -> None:
        """Through the mount that processes have: they notice at once."""
        if is_folder(tree, path):
            if any(visit.files for visit in walk(tree / path)):
                raise TreeError(f"{show_path(path)} is a folder")
            remove_tree(tree / path)
        write_file(tree, path, state.content, state.mode)

    @asynccontextmanager
    async def share(self) -> AsyncIterator["OverlayGround"]:
        assert self.box.overlay is not None
        async with open_shared_space(self.box.overlay, self.root, self.box.hosts, BARE) as shared:
            yield replace(self, box=replace(self.box, shared=shared))

    async def run_job(self, command: ShellCommand, limits: ExecLimits, name: str) -> Ran:
        assert self.box.overlay is not None
        scratch = self.box.overlay / name
        try:
            return await run_boxed(replace(self.box, scratch=scratch), command, limits)
        finally:
            remove_tree(scratch)

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
        """True if the trial has the user's repository with all of its ignore rules, and no others."""
        if self.has_own_history() or not (self.root / ".git").exists():
            return False
        entries = self.layers.scan()
        changed = any(path.rpartition("/")[2] == ".gitignore" for path in entries)
        return not changed and not self.layers.may_hide(entries)

    def has_own_history(self) -> bool:
        below = self.box.overlay is not None and (self.box.overlay / BASE).is_symlink()
        return below or os.path.lexists(self.layers.upper / ".git")

    async def run(self, command: ShellCommand, limits: ExecLimits, clean: bool = False) -> Ran:
        return await run_boxed(self.box.clean if clean else self.box, command, limits)

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
