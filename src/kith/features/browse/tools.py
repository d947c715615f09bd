"""The tool `web`, which reads pages and searches: what the policy sees of it, and what it does."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import unquote

from msgspec import Struct

from kith.agent.known_secrets import known_values
from kith.agent.permits import permits_of
from kith.agent.project import Project
from kith.context.redact import Redactor
from kith.core.errors import UsageError
from kith.core.hosts import parse_host
from kith.core.model import Beforehand, Tool
from kith.core.run import Run
from kith.core.values import CallTarget, Effect, ToolResult
from kith.features.browse import BrowseSettings
from kith.features.browse.address import Address, is_closed, parse_address
from kith.features.browse.answers import refuse_page, refuse_search, tell_page, tell_results
from kith.features.browse.cache import Cache, Page
from kith.features.browse.faults import PageError
from kith.features.browse.fetching import Reach, fetch
from kith.features.browse.page import is_text, read_page
from kith.features.browse.robots import check_robots
from kith.features.browse.searching import BRAVE, Engine, search
from kith.settings.features import check_extra
from kith.tools.answers import refused

# One tool with short words: both in tools of their own cost a third more in every request.
_PAGE: Final = {"url": {"type": "string"}, "start": {"type": "integer"}}
_PAGES: Final = {"type": "object", "properties": _PAGE, "required": ["url"]}
_BOTH: Final = {"type": "object", "properties": {"query": {"type": "string"}, **_PAGE}}
_SECRET: Final = "Not sent: this holds a secret of the user. Leave it out."
_EITHER: Final = "Give a url to read a page, or a query to search."


def tells_nothing(text: str) -> bool:
    """No secret is known."""
    return False


class Web(Struct, frozen=True):
    """The web as one project may use it.

    `characters` of a page fit into one answer. A text that `tells` a secret is not sent. Without an `engine`
    nothing can be searched.
    """

    reach: Reach
    cache: Cache
    characters: int = 12_000
    engine: Engine | None = None
    tells: Callable[[str], bool] = tells_nothing

    def tool(self) -> Tool:
        """The tool of this web."""
        if self.engine:
            words = "Read a page, or search the web."
            return Tool("web", words, _BOTH, "web", self.answer, self.target, effect_of, self.look)
        return Tool("web", "Read a web page.", _PAGES, "web", self.answer, self.target, effect_of, self.look)

    async def look(self, args: Mapping[str, Any], run: Run) -> Beforehand:
        """Look at a call before anybody is asked about it."""
        return self.judge(args)

    def judge(self, args: Mapping[str, Any]) -> Beforehand:
        """Refuse what nobody should be asked about; write the address in its clean form."""
        url, query = (args.get(name, "").strip() for name in ("url", "query"))
        if bool(url) == bool(query):
            return Beforehand(args, refusal=_EITHER, fault="malformed")
        if self.tells(unquote(url or query)):
            return Beforehand(args, refusal=_SECRET, fault="forbidden")
        if query:
            return Beforehand({"query": query})
        try:
            address = parse_address(url)
        except ValueError as error:
            return Beforehand(args, refusal=str(error), fault="malformed")
        if is_closed(address, self.reach.own):
            private = PageError("private", address.origin)
            return Beforehand(args, refusal=refuse_page(address, private).text, fault="forbidden")
        return Beforehand({"url": str(address), "start": _start_of(args)})

    def target(self, args: Mapping[str, Any]) -> CallTarget:
        """The page or the words, and the host that gets them."""
        if self.engine and "query" in args:
            return CallTarget(args["query"], (str(self.engine.address.place),))
        return target_of(parse_address(args["url"]))

    async def answer(self, args: Mapping[str, Any], run: Run) -> ToolResult:
        """Search, or read a part of a page that fits the model's window."""
        return await self.read(args, min(self.characters, run.limits.exec.output))

    async def read(self, args: Mapping[str, Any], most: int) -> ToolResult:
        """Search, or read a part of a page of at most so many characters."""
        if self.engine and "query" in args:
            try:
                return tell_results(args["query"], await search(self.engine, args["query"], self.reach))
            except PageError as error:
                return refuse_search(self.engine, error)
        address, start = parse_address(args["url"]), _start_of(args)
        kept = self.cache.find(address)
        if kept is None and start:
            return refused("This page is not kept any more: read it without start first.")
        try:
            page = kept or await self._load(address)
        except PageError as error:
            return refuse_page(address, error)
        return tell_page(page, start, most)

    async def _load(self, address: Address) -> Page:
        """Fetch a page, and keep it. Raises PageError."""
        allowed = partial(check_robots, reach=self.reach, cache=self.cache)
        answer = await fetch(address, self.reach, allowed, is_text)
        if answer.status >= 300:
            raise PageError("status", str(answer.status))
        if not is_text(answer):
            raise PageError("kind", answer.kind)
        page = Page(str(address), str(answer.address), await read_page(answer), answer.cut)
        if answer.stored:
            self.cache.keep(page)
        return page


def effect_of(args: Mapping[str, Any]) -> Effect:
    """A later part of a page comes from what was kept, and reaches nobody."""
    return "read" if _start_of(args) else "web"


def _start_of(args: Mapping[str, Any]) -> int:
    return max(0, int(args.get("start") or 0))


def target_of(address: Address) -> CallTarget:
    """A page, as the policy sees it."""
    return CallTarget(str(address), (str(address.place),))


# The web by the settings of a project.


def make_tools(project: Project) -> tuple[Tool, ...]:
    """The tool, made by the settings. Raises UsageError for wrong ones."""
    return (make_web(project).tool(),)


def make_web(project: Project) -> Web:
    """The web by the settings of a project. Raises UsageError for wrong ones, and without the extra."""
    check_extra("browse", "The web for models")
    chosen = project.settings.section(BrowseSettings)
    return Web(
        _reach_of(project, chosen),
        Cache.of(project.settings.cache, project.root),
        chosen.characters,
        _engine_of(chosen),
        partial(_tells_secret, project),
    )


def _reach_of(project: Project, chosen: BrowseSettings) -> Reach:
    """The hosts of the person's own network, and the redirects that need no question."""
    try:
        private = tuple(map(parse_host, chosen.private))
    except ValueError as error:
        raise UsageError(f"browse.private: {error}") from error
    permits = permits_of(project)

    def agreed(address: Address) -> bool:
        return permits.allows("web", target_of(address))

    own = (*private, *map(parse_host, project.settings.reachable))
    return Reach(own, agreed, chosen.seconds, chosen.max_bytes)


def _engine_of(chosen: BrowseSettings) -> Engine | None:
    """The engine that the person set. Raises UsageError for an address or a key that is none."""
    place = chosen.search or (BRAVE if chosen.engine == "brave" else "")
    if not place:
        return None
    try:
        address = parse_address(place)
    except ValueError as error:
        raise UsageError(f"browse.search: {error}") from error
    key = os.environ.get(chosen.key_env, "") if chosen.key_env else ""
    if chosen.key_env and not key:
        raise UsageError(f"browse.key_env: the variable {chosen.key_env} is not set.")
    return Engine(address, chosen.engine, key)


def _tells_secret(project: Project, text: str) -> bool:
    """True if a text holds a known secret, as it is or in another spelling."""
    values = known_values(project.root, project.settings)
    clean, guessed = (Redactor(each).clean(text)[0] for each in (values, ()))
    return clean != guessed
