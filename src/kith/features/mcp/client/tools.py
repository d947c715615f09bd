"""Tools of other programs as kith's own: named after their server, asked about, with plain schemas."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any, Final

from kith.context.budget import fit_middle
from kith.core.calls import call_identity, call_target
from kith.core.errors import KithError
from kith.core.events import Progress
from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import ToolResult
from kith.features.mcp.client.places import Listed, Said
from kith.features.mcp.client.schemas import complete, plain_schema
from kith.features.mcp.client.words import clean_words

_NAME: Final = 64  # characters: the most that model servers take
_DESCRIPTION: Final = 1_000
_LINE: Final = 60
_DIGITS: Final = 6
Tell = Callable[[int, int], None]
# A tool's own name, its arguments, the seconds it may take, and whom to tell how far it is.
Call = Callable[[str, Mapping[str, Any], float, Tell], Awaitable[Said]]


def make_tools(
    server: str, listed: Iterable[Listed], call: Call, taken: Iterable[str] = ()
) -> tuple[Tool, ...]:
    """The tools of a server, in the order of their names, which differ from those that are `taken`."""
    made: list[Tool] = []
    once = {each.name: each for each in listed}
    for each in sorted(once.values(), key=lambda each: each.name):
        name = name_tool(server, each.name, (*taken, *(tool.name for tool in made)))
        made.append(_make_tool(server, name, each, call))
    return tuple(made)


def choose(listed: Iterable[Listed], patterns: Sequence[str]) -> tuple[Listed, ...]:
    """Those of a server's tools that a person wants, by patterns for their own names."""
    return tuple(each for each in listed if any(fnmatchcase(each.name, pattern) for pattern in patterns))


def name_tool(server: str, name: str, taken: Sequence[str] = ()) -> str:
    """`SERVER_name` in letters, digits and underscores; ending in a digest where it is too long, or taken."""
    owner, own = (re.sub(r"[^A-Za-z0-9]+", "_", each).strip("_") for each in (server, name))
    plain = own if own.startswith(f"{owner}_") else f"{owner}_{own}"
    if len(plain) <= _NAME and plain not in taken:
        return plain
    digest = sha256(f"{server}/{name}".encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return f"{plain[: _NAME - _DIGITS - 1]}_{digest}"


def _make_tool(server: str, name: str, listed: Listed, call: Call) -> Tool:
    schema = plain_schema(listed.schema)
    description = clean_words(listed.description or f"{listed.name}, of {server}.", _DESCRIPTION)
    identity = call_identity(server, listed.name, [listed.description, listed.schema])

    async def use(args: Mapping[str, Any], run: Run) -> ToolResult:
        def tell(done: int, total: int) -> None:
            run.emit(Progress(f"{server} works", done, total))

        try:
            said = await call(listed.name, complete(args, listed.schema), run.limits.exec.seconds, tell)
        except KithError as error:
            text = f"{server} gave no answer: {error}."
            return ToolResult("", text, ok=False, detail={"line": text})
        text = fit_middle(said.text, run.limits.exec.output)
        return ToolResult("", text, said.ok, {"line": _in_a_line(said)})

    return Tool(name, description, schema, "call", use, lambda args: call_target(identity, args))


def _in_a_line(said: Said) -> str:
    """An answer for people: itself where it is short, else how long it is."""
    text = said.text.strip()
    if len(text) <= _LINE and "\n" not in text:
        return clean_words(text, _LINE)
    return f"{'' if said.ok else 'an error, '}{len(text):,} characters"
