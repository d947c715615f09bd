"""A workspace, and tools, in which what is private stays out of sight: for models in the cloud."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kith.core.errors import HiddenError
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import Changes, Ran, ToolResult
from kith.core.workspace import ExecLimits, Job, ShellCommand, Trial, Workspace
from kith.tools.paths import clean_path, visible

_DEFAULT = ExecLimits()


def _secret(path: str) -> HiddenError:
    why = f"{visible(path)} looks like it holds secrets"
    return HiddenError(why, "you do not get to see it: work without it, or ask the person")


class Veil(Struct, frozen=True):
    """The hidden files: by path, and by content (SHA-256), whatever leads there.

    `masked` are those that commands must not read either.
    """

    hidden: frozenset[str] = frozenset()
    masked: tuple[str, ...] = ()
    digests: frozenset[str] = frozenset()


class Veiled(Struct, frozen=True):
    """A workspace behind a veil. Files that git ignores are not read either."""

    inner: Workspace
    veil: Veil

    @property
    def root(self) -> Path:
        return self.inner.root

    @property
    def confined(self) -> bool:
        return self.inner.confined

    async def files(self) -> Sequence[str]:
        return [path for path in await self.inner.files() if path not in self.veil.hidden]

    async def read(self, path: str) -> bytes:
        plain = clean_path(path)
        if plain in self.veil.hidden:
            raise _secret(path)
        data = await self.inner.read(path)
        if sha256(data).hexdigest() in self.veil.digests:
            raise _secret(path)
        if plain not in await self.inner.files():
            why = f"{visible(path)} is ignored by git"
            advice = "it is not read here; if a command writes it, let the command print it"
            raise HiddenError(why, advice)
        return data

    async def read_many(self, paths: Iterable[str]) -> dict[str, bytes]:
        shown = set(paths).intersection(await self.files())
        contents = await self.inner.read_many(sorted(shown))
        return {p: data for p, data in contents.items() if sha256(data).hexdigest() not in self.veil.digests}

    async def write(self, path: str, data: bytes | None) -> None:
        if clean_path(path) in self.veil.hidden:
            raise _secret(path)
        await self.inner.write(path, data)

    async def exec(self, command: ShellCommand, limits: ExecLimits = _DEFAULT) -> Ran:
        return await self.inner.exec(replace(command, hidden=self.veil.masked), limits)

    async def apply(self, changes: Changes) -> str:
        return await self.inner.apply(changes)

    def trial(self, name: str = "") -> AbstractAsyncContextManager[Trial]:
        @asynccontextmanager
        async def veiled() -> Any:
            async with self.inner.trial(name) as trial:
                yield VeiledTrial(trial, self.veil)

        return veiled()


class VeiledTrial(Veiled, frozen=True):
    """A trial behind a veil."""

    inner: Trial

    async def changes(self) -> Changes:
        return await self.inner.changes()

    async def check(self, command: ShellCommand, limits: ExecLimits = _DEFAULT) -> Ran:
        return await self.inner.check(replace(command, hidden=self.veil.masked), limits)

    @property
    def jobs(self) -> Sequence[Job]:
        return self.inner.jobs

    async def launch(
        self, command: ShellCommand, ended: Callable[[Job], object], limits: ExecLimits = _DEFAULT
    ) -> Job:
        return await self.inner.launch(replace(command, hidden=self.veil.masked), ended, limits)

    def turn(self) -> AbstractAsyncContextManager[None]:
        return self.inner.turn()

    async def checkpoint(self, name: str) -> Changes:
        return await self.inner.checkpoint(name)

    async def remember(self, changes: Changes | None = None, *, only: bool = False) -> Changes:
        return await self.inner.remember(changes, only=only)

    async def withdraw(self) -> None:
        await self.inner.withdraw()

    async def recall(self, name: str) -> Changes:
        return await self.inner.recall(name)

    async def go_back(self, name: str) -> None:
        await self.inner.go_back(name)

    async def commits(self) -> Sequence[str]:
        return await self.inner.commits()


def hide(workspace: Workspace, veil: Veil) -> Workspace:
    """The workspace behind the veil; a trial stays one."""
    return VeiledTrial(workspace, veil) if isinstance(workspace, Trial) else Veiled(workspace, veil)


def veil_tools(tools: tuple[Tool, ...], veil: Veil) -> tuple[Tool, ...]:
    """The same tools, which see every workspace through the veil."""
    return tuple(_veiled(tool, veil) for tool in tools)


def _veiled(tool: Tool, veil: Veil) -> Tool:
    async def use(args: Mapping[str, Any], run: Run) -> ToolResult:
        return await tool.fn(args, run.inside(hide(run.workspace, veil)))

    return replace(tool, fn=use)
