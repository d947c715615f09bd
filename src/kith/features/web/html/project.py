"""A project's files, listed or with numbered lines, and the tools that need no model, as forms."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct

from kith.agent.step_list import TODO
from kith.features.web.direct_tools import DirectTool
from kith.features.web.html.assets import address
from kith.features.web.html.diff import Token, colour_lines
from kith.features.web.html.listing import find_field
from kith.view.lines import count
from kith.view.markup import NOTHING, Html, element, joined, visible

# A project's files: their list, and one of them with numbered lines.

MOST: Final = 5_000  # files in the list, lines of a file


def files_html(paths: Sequence[str], project: str = "") -> Html:
    """All the files, to be found by parts of their names."""
    shown = [element("li", element("a", path, href=file_address(path, project))) for path in paths[:MOST]]
    head = element("header", element("h1", "Files"), find_field("Find a file", "files"))
    left = len(paths) - len(shown)
    more = [element("p", f"and {count(left, 'more file')}", class_="dim")] if left > 0 else []
    nothing = element("p", "No file matches.", class_="nothing", hidden=bool(paths))
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
    """The address of a file's page."""
    of = f"&project={quote(project, safe='')}" if project else ""
    return f"/files?path={quote(path, safe='', errors='replace')}{of}"  # not every name is text


_LONG: Final = ("content", "new", "old", "text")  # arguments that hold lines


class _Told(Struct, frozen=True):
    """A tool as a person is told of it: a sentence, and an example for each field."""

    about: str
    examples: Mapping[str, str]
    button: str = ""


_GROUPS: Final = {
    "read": ("Look", "Answers at once. Files with secrets are left out."),
    "write": ("Change", "kith makes the change in a copy, runs your checks, shows the diff and asks you."),
    "exec": ("Run", "Runs in a copy, in the sandbox. You decide about the files it changed."),
    "plan": ("Plan", "Gives the model steps to work through."),
}
_LABELS: Final = {
    "all": "replace every occurrence",
    "anchor": "line to find",
    "append": "append instead of overwriting",
    "before": "before that line instead of after it",
    "ignore_case": "ignore case",
    "literal": "plain text, not a regular expression",
    "where": "files",
}
_HIDDEN: Final = (("git", "message"),)  # a commit, which nobody makes here
_BUTTONS: Final = {"read": "Show", "write": "Propose the change", "exec": "Run", "plan": "Save the list"}
_PEOPLE: Final = {
    "read": _Told("Show files, or some of their lines", {"paths": "src/app.py\nsrc/app.py:10-40"}),
    "list": _Told("List files by folder or pattern", {"path": "src/**/*.py"}, "List"),
    "search": _Told("Find lines by a regular expression", {"pattern": "def main", "path": "src"}, "Search"),
    "symbols": _Told(
        "Show where a name is defined and who uses it", {"name": "main", "path": "src/app.py"}, "Find"
    ),
    "git": _Told(
        "Show the status, a diff, the log, a commit or who wrote a line",
        {"action": "status, diff, log, show or blame", "paths": "src/app.py", "revision": "HEAD~3"},
    ),
    "edit": _Told(
        "Replace one piece of a file",
        {"path": "src/app.py", "old": "timeout = 10", "new": "timeout = 30"},
    ),
    "write": _Told("Write a whole file", {"path": "notes.md", "content": "# Notes"}),
    "replace": _Told(
        "Replace a text in one file or many",
        {"old": "http://old.example.org", "new": "https://new.example.org", "where": "*.md"},
    ),
    "append": _Told("Add lines at the end of a file", {"text": "*.log", "path": ".gitignore"}),
    "insert": _Told(
        "Add lines before or after a line",
        {"text": "import json", "anchor": "import os", "path": "src/app.py"},
    ),
    "rename": _Told("Rename an identifier everywhere", {"old": "get_user", "new": "load_user"}),
    "refactor": _Told(
        "Rename, move, extract or inline code by its syntax tree",
        {"target": "src/app.py:get_user", "to": "load_user"},
    ),
    "bash": _Told("Run a command", {"command": "python -m pytest -q"}),
    "todo": _Told("Set the list of steps of a new session", {"items": "Read the parser\nAdd a test"}),
}


def tools_html(tools: Iterable[DirectTool], project: str = "") -> Html:
    """All tools in groups, those that only look first; `project` is the one they work in."""
    found = list(tools)
    sections = [_group(kind, [each for each in found if _kind_of(each) == kind], project) for kind in _GROUPS]
    script = element("script", type="module", src=address("tools.js"))
    head = (element("h1", "Tools"), element("p", "Use kith's tools yourself, without a model.", class_="dim"))
    return element("div", *head, *sections, script, class_="tools")


def _kind_of(tool: DirectTool) -> str:
    return "plan" if tool.name == TODO else tool.effect


def _group(kind: str, tools: Sequence[DirectTool], project: str) -> Html:
    if not tools:
        return NOTHING
    name, about = _GROUPS[kind]
    head = element("header", element("h2", name), element("p", about, class_="dim"))
    return element("section", head, *(_tool(each, project) for each in tools))


def _tool(tool: DirectTool, project: str) -> Html:
    told = _PEOPLE.get(tool.name, _Told(tool.description, {}))
    fields = [
        _field(tool, name, schema, name in tool.schema.get("required", ()), told.examples.get(name, ""))
        for name, schema in tool.schema["properties"].items()
        if (tool.name, name) not in _HIDDEN
    ]
    form = element(
        "form",
        *fields,
        element("button", told.button or _BUTTONS[_kind_of(tool)], type="submit", class_="first"),
        element("p", class_="said", role="status"),
        element("pre", tabindex="0", hidden=True, aria_label=f"Result of {tool.name}"),
        data_tool=tool.name,
        data_project=project,
    )
    head = (element("strong", tool.name), f" {told.about}")
    return element("details", element("summary", *head), form, name="tool", class_="card")


def _field(tool: DirectTool, name: str, schema: Mapping[str, Any], needed: bool, example: str) -> Html:
    """An argument, with what the script needs to send it as its type."""
    id, kind = f"{tool.name}-{name}", str(schema.get("type", "string"))
    facts: dict[str, Any] = {"id": id, "name": name, "data_type": kind, "required": needed}
    if kind == "boolean":
        box = element("input", type="checkbox", **facts | {"required": False})
        return element("p", element("label", box, f" {_words(name)}"))
    shown = {"placeholder": f"Example: {example}" if example else None}
    if "enum" in schema:
        field = element("select", *(element("option", str(each)) for each in schema["enum"]), **facts)
    elif kind == "array" or name in _LONG:
        rows = max(2, example.count("\n") + 1)
        field = element("textarea", rows=rows, spellcheck="false", **facts, **shown)
    else:
        number = "numeric" if kind == "integer" else None
        field = element("input", type="text", autocomplete="off", inputmode=number, **facts, **shown)
    hints = ["one per line"] * (kind == "array") + ["optional"] * (not needed)
    hint = element("small", f" {', '.join(hints)}") if hints else NOTHING
    return element("p", element("label", _words(name), hint, for_=id), field)


def _words(name: str) -> str:
    return _LABELS.get(name, name.replace("_", " "))
