"""A project's files: their list, and one of them with numbered lines."""

from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import quote

from kith.features.web.html.syntax import Token, colour_lines
from kith.view.lines import count
from kith.view.markup import Html, element, joined, visible

MOST: Final = 5_000  # files in the list, lines of a file


def files_html(paths: Sequence[str], project: str = "") -> Html:
    """All the files, to be found by parts of their names."""
    shown = [element("li", element("a", path, href=address(path, project))) for path in paths[:MOST]]
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


def address(path: str, project: str = "") -> str:
    """Where a file is shown."""
    of = f"&project={quote(project, safe='')}" if project else ""
    return f"/files?path={quote(path, safe='', errors='replace')}{of}"  # not every name is text
