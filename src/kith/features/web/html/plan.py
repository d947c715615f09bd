"""A plan as a list: its steps, what it takes for granted, what it reads and changes."""

from typing import Final

from kith.core.values import Plan
from kith.features.web.html.diff import show_path
from kith.view.markup import NOTHING, Html, element

_NUMBERED: Final = "numbered"


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
