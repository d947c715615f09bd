"""Ask a search engine that the person chose: their own SearXNG, or Brave's."""

import html
import re
from collections.abc import Mapping
from typing import Any, Final, Literal
from urllib.parse import quote_plus

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kith.core.hosts import Host
from kith.features.browse.address import Address, parse_address
from kith.features.browse.faults import PageError
from kith.features.browse.fetching import Reach, Response, ask, within

BRAVE: Final = "https://api.search.brave.com"
_MOST: Final = 2_000_000  # bytes of an answer
_RESULTS: Final = 8
_LONGEST: Final = 400  # characters of a query


class Engine(Struct, frozen=True):
    """A search engine: its address, the kind of its interface, and the key that it wants."""

    address: Address
    kind: Literal["searxng", "brave"] = "searxng"
    key: str = ""

    @property
    def place(self) -> Host:
        """Its host, which the person chose: it may be in a private network, with any port."""
        return Host(self.address.host, self.address.port)

    def __repr__(self) -> str:
        return f"Engine({self.kind}, {self.address})"


class Found(Struct, frozen=True):
    """One result: where, its title, and the lines that the engine shows of it."""

    url: str
    title: str = ""
    snippet: str = ""


class Results(Struct, frozen=True):
    """The first results; `silent` are engines behind a SearXNG that gave no answer."""

    found: tuple[Found, ...]
    silent: tuple[str, ...] = ()


class _SearxRow(Struct):
    url: str | None = None
    title: str | None = None
    content: str | None = None


class _Searx(Struct):
    results: list[_SearxRow]
    unresponsive_engines: list[Any] = []


class _BraveRow(Struct):
    url: str | None = None
    title: str | None = None
    description: str | None = None


class _BraveWeb(Struct):
    results: list[_BraveRow] = []


class _Brave(Struct):
    web: _BraveWeb | None = None


async def search(engine: Engine, query: str, reach: Reach) -> Results:
    """Search. Raises PageError."""
    words = " ".join(query.split())[:_LONGEST]
    reach = replace(reach, own=(*reach.own, engine.place), most=_MOST)
    async with within(reach):
        answer = await ask(_request(engine, words), reach, headers=_key(engine))
    if answer.status != 200 or answer.cut:
        raise PageError("status", str(answer.status))
    try:
        return _read_searx(answer) if engine.kind == "searxng" else _read_brave(answer)
    except msgspec.MsgspecError:
        raise PageError("kind", answer.kind or "no media type") from None


def _request(engine: Engine, words: str) -> Address:
    base = engine.address.rest.rstrip("/")
    if engine.kind == "brave":
        return replace(
            engine.address, rest=f"{base}/res/v1/web/search?q={quote_plus(words)}&count={_RESULTS}"
        )
    base = base.removesuffix("/search")
    return replace(engine.address, rest=f"{base}/search?q={quote_plus(words)}&format=json")


def _key(engine: Engine) -> Mapping[str, str]:
    if not engine.key:
        return {}
    if engine.kind == "brave":
        return {"X-Subscription-Token": engine.key, "Accept": "application/json"}
    return {"Authorization": f"Bearer {engine.key}"}  # of a proxy in front of it


def _read_searx(answer: Response) -> Results:
    data = msgspec.json.decode(answer.body, type=_Searx)
    silent = tuple(str(each[0]) for each in data.unresponsive_engines if isinstance(each, list) and each)
    rows = ((each.url, each.title, each.content) for each in data.results)
    return Results(_first(rows), silent)


def _read_brave(answer: Response) -> Results:
    data = msgspec.json.decode(answer.body, type=_Brave)
    rows = ((each.url, each.title, each.description) for each in (data.web or _BraveWeb()).results)
    return Results(_first(rows))


def _first(rows: Any) -> tuple[Found, ...]:
    """The first rows with an address that could be fetched."""
    found = []
    for url, title, snippet in rows:
        try:
            address = str(parse_address(url or "-"))
        except ValueError:
            continue
        found.append(Found(address, _plain(title), _plain(snippet)))
    return tuple(found[:_RESULTS])


def _plain(text: str | None) -> str:
    """One line without tags: engines mark the words that were searched for."""
    return " ".join(html.unescape(re.sub(r"</?(?:strong|b|em)>", "", text or "")).split())
