"""Describe a model before it is asked, and what a provider can do."""

from typing import Final, Protocol

from msgspec import Struct

from kith.core.events import Event
from kith.core.model import Emit, Model, Prompt

QUEUED: Final = "waiting for the model's slot"
ASKED: Final = "asked"  # a wait for the slot or the load is over
LOADING: Final = "loading the model"
READING: Final = "reading"  # the server took the prompt: it is never sent again


def ignore(event: Event) -> None:
    """The emit of those who tell nobody."""


# --- models and providers ------------------------------------------------------------------------


class Facts(Struct, frozen=True):
    """One model as its server runs it. Windows in tokens; 0, "" and None where unknown.

    `server` is an address. `digest` names the weights. `window` is the running window, read from the
    server after the load (or, where not `verified`, the requested one). `trained` is the model's own
    maximum. `tools`: the chat template takes tools. `keeps_thinking`: it always renders former thinking,
    so that sending it back keeps the prompt's beginning. `counts_cache`: the server reports cached
    tokens. `quantisation` and `parameters` are in the server's words. `cloud`: prompts leave this machine
    and its own network. `refuses`: a prompt that is too long is always refused, never cut.
    `least_cached`: tokens of the shortest prefix that is cached. `sees`: it takes pictures.
    """

    name: str
    server: str = ""
    digest: str = ""
    window: int = 0
    trained: int = 0
    slots: int = 1
    tools: bool | None = None
    thinking: bool | None = None
    keeps_thinking: bool = False
    counts_cache: bool = False
    verified: bool = True
    quantisation: str = ""
    parameters: str = ""
    cloud: bool = False
    refuses: bool = False
    least_cached: int = 0
    sees: bool | None = None


class Provider(Model, Protocol):
    """A model of a server, which can also be looked at. Everything raises ModelError."""

    async def facts(self, emit: Emit = ...) -> Facts:
        """Load the model if it is not loaded, telling how far that is, and read what really runs."""
        ...

    async def count(self, prompt: Prompt) -> int | None:
        """The prompt's exact size in tokens, template and tools included; None when the server cannot say."""
        ...

    async def warm(self, prompt: Prompt) -> None:
        """Let the server read a prompt (system and tools) ahead of time; nothing is answered."""
        ...

    async def close(self) -> None:
        """Let go of connections, and of an engine that was held; the next call takes them again."""
        ...
