"""Tools that need no model, each as a form made from its schema."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kith.agent.direct_tools import DirectTool
from kith.features.web.html.assets import address
from kith.view.markup import NOTHING, Html, element

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
