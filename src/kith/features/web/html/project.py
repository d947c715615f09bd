"""A project's files, listed or with numbered lines, and the tools that need no model, as forms."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from kith.agent.direct_tools import DirectTool
from kith.features.web.html.assets import address
from kith.features.web.html.diff import Token, colour_lines
from kith.view.lines import count
from kith.view.markup import NOTHING, Html, element, joined, visible

# A project's files: their list, and one of them with numbered lines.

MOST: Final = 5_000  # files in the list, lines of a file


def files_html(paths: Sequence[str], project: str = "") -> Html:
    """All the files, to be found by parts of their names."""
    shown = [element("li", element("a", path, href=file_address(path, project))) for path in paths[:MOST]]
    find = element(
        "input", type="search", placeholder="Find a file", aria_label="Find a file", data_filters="files"
    )
    head = element("header", element("h1", "Files"), element("div", find, class_="find script"))
    left = len(paths) - len(shown)
    more = [element("p", f"and {count(left, 'more file')}", class_="dim")] if left > 0 else []
    nothing = element("p", "No file like that.", class_="nothing", hidden=bool(paths))
    return element(
        "section", head, element("ul", *shown, id="files", class_="files"), nothing, *more, class_="listing"
    )


def file_html(path: str, text: str, project: str = "") -> Html:
    """One file; each line has a number, and an address of its own."""
    lines = text.split("\n")
    if lines[-1:] == [""]:
        lines.pop()
    tokens = colour_lines([visible(line) for line in lines[:MOST]], path)
    rows = (
        element("li", *_coloured(visible(line), words), id=f"L{number}")
        for number, (line, words) in enumerate(zip(lines, tokens, strict=False), 1)
    )
    home = element("a", "Files", href=f"/files?project={quote(project, safe='')}" if project else "/files")
    crumbs = element("p", home, *(f" / {part}" for part in path.split("/")), class_="crumbs")
    left = len(lines) - MOST
    more = [element("p", f"and {count(left, 'more line')}", class_="dim")] if left > 0 else []
    name = element("h1", path.rsplit("/", 1)[-1])
    return joined([crumbs, name, element("div", element("ol", *rows), class_="source", tabindex="0"), *more])


def _coloured(line: str, tokens: Sequence[Token]) -> Iterator[str]:
    done = 0
    for begin, end, name in tokens:
        yield line[done:begin]
        yield element("span", line[begin:end], class_=name)
        done = end
    yield line[done:]


def file_address(path: str, project: str = "") -> str:
    """Where a file is shown."""
    of = f"&project={quote(project, safe='')}" if project else ""
    return f"/files?path={quote(path, safe='', errors='replace')}{of}"  # not every name is text


_LONG: Final = ("content", "new", "old", "text")  # arguments that hold lines
_EFFECTS: Final = {"read": "answers at once", "write": "makes a change, and asks"}


def tools_html(tools: Iterable[DirectTool], project: str = "") -> Html:
    """All tools, those that only look first; `project` is the one they work in."""
    sections = [_tool(tool, project) for tool in tools]
    script = element("script", type="module", src=address("tools.js"))
    return element("div", element("h1", "Tools without a model"), *sections, script, class_="tools")


def _tool(tool: DirectTool, project: str) -> Html:
    fields = [
        _field(tool, name, schema, name in tool.schema.get("required", ()))
        for name, schema in tool.schema["properties"].items()
    ]
    form = element(
        "form",
        *fields,
        element("button", "Look" if tool.effect == "read" else "Propose", type="submit", class_="first"),
        element("p", class_="said", role="status"),
        element("pre", tabindex="0", hidden=True, aria_label=f"What {tool.name} found"),
        data_tool=tool.name,
        data_project=project,
    )
    head = (element("strong", tool.name), f" {tool.description} ", element("em", _EFFECTS[tool.effect]))
    return element("details", element("summary", *head), form, name="tool", class_="card")


def _field(tool: DirectTool, name: str, schema: Mapping[str, Any], needed: bool) -> Html:
    """An argument, with what the script needs to send it as its type."""
    id, kind = f"{tool.name}-{name}", str(schema.get("type", "string"))
    facts: dict[str, Any] = {"id": id, "name": name, "data_type": kind, "required": needed}
    if kind == "boolean":
        box = element("input", type="checkbox", **facts | {"required": False})
        return element("p", element("label", box, f" {_words(name)}"))
    if "enum" in schema:
        field = element("select", *(element("option", str(each)) for each in schema["enum"]), **facts)
    elif kind == "array" or name in _LONG:
        field = element("textarea", rows=2, spellcheck="false", **facts)
    else:
        number = "numeric" if kind == "integer" else None
        field = element("input", type="text", autocomplete="off", inputmode=number, **facts)
    hint = element("small", " one on a line") if kind == "array" else NOTHING
    return element("p", element("label", _words(name), hint, for_=id), field)


def _words(name: str) -> str:
    return name.replace("_", " ")
