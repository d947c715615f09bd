"""What stands beside a session's log: the plan, the open question, a build."""

from collections.abc import Callable

from kith.core.values import Plan, Question
from kith.features.web.html.plans import plan_html
from kith.features.web.html.questions import question_html
from kith.view.markup import NOTHING, Html, element, joined

Draw = Callable[[], Html]


def plan_section(plan: Plan | None) -> Html:
    """The section `plan`, hidden while there is none."""
    return _section("plan", "Plan", plan_html(plan) if plan else NOTHING)


def question_section(session: str, question: Question | None, plan: Plan | None, project: str = "") -> Html:
    """The section `question`, empty and hidden while nobody is asked."""
    if question is None:
        return _section("question", "", NOTHING)
    return _section("question", "", question_html(session, question, project, plan))


def build_section(draw: Draw | None) -> Html:
    """The section `build`, hidden where nothing is built."""
    return _section("build", "Build", draw() if draw else NOTHING)


def _section(id: str, title: str, inner: Html) -> Html:
    if not inner:
        return element("section", id=id, hidden=True)
    head = element("h2", title) if title else NOTHING
    return element("section", joined((head, inner)), id=id)
