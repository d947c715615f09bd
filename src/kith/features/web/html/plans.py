"""Plans as lists: the plan of a task, and the model's own list."""

from collections.abc import Sequence
from typing import Final

from kith.core.values import Plan, TodoItem
from kith.features.web.html.diff import show_path
from kith.view.markup import NOTHING, Html, element

_NUMBERED: Final = "numbered"
_WORDS: Final = {"pending": "to do", "active": "now", "done": "done"}


def plan_html(plan: Plan) -> Html:
    """A plan whose steps are numbered."""
    return element(
        "div",
        element("ol", *(element("li", step) for step in plan.steps), class_=_NUMBERED),
        element(
            "dl",
            _named("Assumes", [element("span", each) for each in plan.assumptions]),
            _named("Reads", [element("code", show_path(each)) for each in plan.read]),
            _named("Changes", [element("code", show_path(each)) for each in plan.modify]),
        ),
        class_="plan",
    )


def _named(name: str, items: list[Html]) -> Html:
    if not items:
        return NOTHING
    listed = element("ul", *(element("li", item) for item in items))
    return element("div", element("dt", name), element("dd", listed))


def todo_html(items: Sequence[TodoItem]) -> Html:
    """The section `todo`, hidden while there is no list."""
    done = sum(item.state == "done" for item in items)
    rows = (
        element(
            "li", element("span", f"{_WORDS[item.state]}: ", class_="aloud"), item.text, class_=item.state
        )
        for item in items
    )
    head = element("h2", f"To do: {done} of {len(items)} done")
    return element("section", head, element("ol", *rows), id="todo", class_="panel", hidden=not items)
