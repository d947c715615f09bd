"""Offer the tools where the person switched them on; until then none of their code is loaded."""

from collections.abc import Callable
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from kith.agent.project import Project
from kith.core.feature import Lazy
from kith.core.model import Tool


class BrowseSettings(Struct, frozen=True):
    """The settings of the web for models: `[browse]`.

    `search` is the address of a search engine of the kind `engine`, `key_env` the variable with its key.
    `private` are hosts of the person's own network that pages may come from, written like `hosts`.
    """

    on: bool = False
    search: str = ""
    engine: Literal["searxng", "brave"] = "searxng"
    key_env: str = ""
    private: tuple[str, ...] = ()
    characters: Annotated[int, Meta(ge=1_000, le=100_000)] = 12_000  # of a page in one answer
    seconds: Annotated[float, Meta(ge=1, le=300)] = 30.0  # for a page with its redirects
    max_bytes: Annotated[int, Meta(ge=10_000, le=50_000_000)] = 5_000_000  # of a page, unpacked


_TOOLS: Final[Lazy[Callable[[Project], tuple[Tool, ...]]]] = Lazy("kith.features.browse.tools:make_tools")


def offer_tools(project: Project) -> tuple[Tool, ...]:
    """The tools, if they are on and may reach out. Raises UsageError for settings that cannot be used."""
    chosen = project.settings
    if not chosen.section(BrowseSettings).on or chosen.offline or chosen.read_only:
        return ()
    return _TOOLS.load()(project)
