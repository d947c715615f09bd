"""Tools from outside: what programs that are no part of kith offer a model, for a task or a conversation."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from kith.core.model import Emit, Tool
from kith.settings import Settings


class OutsideTools(Protocol):
    """The servers of tools that these settings name, connected until they are closed."""

    chosen: Settings

    def begin(self) -> None:
        """Connect to all of them at once; the first caller starts that too."""

    async def served(self) -> object:
        """Wait until it is known what each of them offers."""

    async def connect(self, window: int, emit: Emit) -> None:
        """Wait likewise; tell once what is amiss, and what it costs a model with this window."""

    def tools(self, window: int) -> tuple[Tool, ...]:
        """The tools for a model with this window (0: unknown), always the same; none before `connect`."""
        ...

    async def aclose(self) -> None:
        """Let all of them end."""


OpenTools = Callable[[Settings, Path], OutsideTools]  # for the folder that is worked in
