"""The model's own list as a panel."""

from collections.abc import Sequence

from kith.core.values import TodoItem
from kith.view.markup import Html, element

_WORDS = {"pending": "to do", "active": "now", "done": "done"}


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
