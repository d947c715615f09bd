"""The web for models, off until switched on: pages as Markdown, and a search engine that the person chose."""

import argparse
from typing import Annotated, Literal

from msgspec import Meta, Struct

from kith.core.feature import Command, Feature, Lazy, lazy_in
from kith.terminal.options import add_folder, add_offline, number

_here = lazy_in(__name__)


def browse_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("words", metavar="URL", help="the page, or with --search the words to search")
    add("--search", action="store_true", help="ask your search engine (browse.search)")
    add("--start", type=number, metavar="N", default=0, help="the character that a long page begins at (0)")
    add_offline(parser)


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


FEATURE = Feature(
    "browse",
    "web pages and web search for models; off until you set browse.on",
    tools=(_here("offer:offer_tools"),),
    settings=Lazy(f"{__name__}:BrowseSettings"),
    commands=(
        Command(
            "browse",
            "Show a web page as models read it",
            Lazy(f"{__name__}:browse_arguments"),
            _here("command:browse_command"),
            "URL",
            group="Configure",
        ),
    ),
)
