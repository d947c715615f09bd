"""Questions as forms, with what was answered, and plans as lists; `review.js` sends the answers."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from kith.core.values import Answer, Kept, Plan, Question, TodoItem
from kith.edits.pieces import pieces_of
from kith.features.web.html.diff import diff_html, show_path
from kith.view.evidence import word_evidence
from kith.view.lines import count
from kith.view.markup import NOTHING, Html, element, joined
from kith.view.wording import always_words, with_asker, word_answer, word_planned

# Plans as lists: the plan of a task, and the model's own list.

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
            _named("Reads", _files(plan, plan.read, "not found")),
            _named("Changes", _files(plan, plan.modify, "new")),
            _named("Open", [element("span", each) for each in plan.questions]),
            _named("Confidence", [element("span", plan.confidence)] if plan.confidence else []),
        ),
        class_="plan",
    )


def _files(plan: Plan, paths: Sequence[str], absent: str) -> list[Html]:
    return [element("code", show_path(word_planned(plan, each, absent))) for each in paths]


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


_REVISE: Final = "Say what to do differently"
_HINTS: Final = (
    ("q", "go to this question"),
    ("j k", "next part, previous part"),
    ("y n", "keep, leave"),
    ("A N", "keep all, none"),
    ("c", "comment"),
    ("s u", "side by side or not"),
    ("Enter", "apply"),
)


def question_html(session_id: str, question: Question, project: str = "", plan: Plan | None = None) -> Html:
    """The form of an open question; `plan` is what a question about one asks about.

    Its fields are the business of `review.js`, which sends {choice, text, kept: [{path, hunks}]}.
    """
    body, buttons = _parts(question, project, plan)
    words = element("p", *_asked(question), class_="asked", id="asked")
    always = element("p", always_words(question), class_="dim always") if always_words(question) else NOTHING
    said = element("p", class_="said", role="alert")
    without = element("p", "Answering here needs JavaScript.", class_="dim")
    return element(
        "form",
        element(
            "div", words, always, element("div", *buttons, class_="answers script"), said, class_="asking"
        ),
        element("noscript", without),
        body,
        class_="review",
        data_post=f"/api/sessions/{quote(session_id, safe='')}/answers/{quote(question.id, safe='')}",
        data_review=question.kind,
        aria_labelledby="asked",
        autocomplete="off",
    )


def answered_html(question: Question, answer: Answer) -> Html:
    """A question that is over: what was asked, what was answered, and where."""
    where = f" (answered in {answer.by})" if answer.by else ""
    kept = [_kept(question, each) for each in answer.kept if each.hunks] if answer.choice == "some" else []
    return element(
        "div",
        element("p", *_asked(question, open_=False), class_="asked"),
        element("p", element("strong", f"{word_answer(answer)}."), element("span", where, class_="dim")),
        element("ul", *(element("li", each) for each in kept)) if kept else NOTHING,
        element("blockquote", answer.text, class_="words") if answer.text else NOTHING,
        class_="answered",
    )


def _asked(question: Question, *, open_: bool = True) -> Sequence[str]:
    """The words of a question; a command stands apart from them, as it will run.

    The receipt repeats the evidence, so a question that is over does not.
    """
    if question.target and question.target.text:
        target = element("code", question.target.text, class_="target")
        return element("span", f"{with_asker(question)}:"), target
    warned = (element("strong", line, class_="warn") for line in question.warnings)
    lines = [element("span", line, element("br")) for line in warned]
    if question.evidence and open_:
        lines.append(element("span", word_evidence(question.evidence), element("br")))
    return (*lines, question.text)


def _kept(question: Question, kept: Kept) -> str:
    """`parts 1 and 3 of 4 of utils.py`."""
    pieces = next((len(pieces_of(file)) for file in question.files if file.path == kept.path), 0)
    numbers = [str(number + 1) for number in sorted(kept.hunks)]
    of = f" of {pieces}" if pieces else ""
    return f"{'part' if len(numbers) == 1 else 'parts'} {', '.join(numbers)}{of} of {show_path(kept.path)}"


# --- kinds of questions ----------------------------------------------------------------------


def _parts(question: Question, project: str, plan: Plan | None) -> tuple[Html, list[Html]]:
    """The body of a question, and the buttons that answer it."""
    if question.kind == "change":
        choose = "some" in question.choices
        hints = _hints() if choose else NOTHING
        return joined((hints, diff_html(question.files, choose=choose))), _change_buttons(question, choose)
    buttons = _yes_no(question, project)
    if "edit" in question.choices:
        buttons.insert(1, _button("edit", "Go on with my version", "e", disabled=True))
    if "revise" in question.choices:
        buttons.append(_revise())
    shown = plan_html(plan) if question.kind == "plan" and plan else NOTHING
    return joined((shown, _draft(question.draft) if question.draft else NOTHING)), buttons


def _change_buttons(question: Question, choose: bool) -> list[Html]:
    if not choose:
        return [
            *(_button("all", "Apply it", "y", "first"), _button("none", "No", "n")),
            _button("back", "Back to the whole change") if "back" in question.choices else NOTHING,
            _revise() if "revise" in question.choices else NOTHING,
        ]
    pieces = sum(len(pieces_of(file)) for file in question.files)
    every = "Apply it" if pieces == 1 else f"Apply all {count(pieces, 'part')}"
    return [
        _button("all", every, "Enter", "first"),
        _button("some", "Apply what is kept", "Enter", disabled=True),
        _button("planned", "Apply only what was planned") if "planned" in question.choices else NOTHING,
        _button("none", "Apply nothing", "Enter"),
        _revise() if "revise" in question.choices else NOTHING,
    ]


def _yes_no(question: Question, project: str) -> list[Html]:
    yes, no = {"plan": ("Go on", "No"), "tool": ("Allow it", "No")}.get(question.kind, ("Yes", "No"))
    found = [_button("yes", yes, "y", "first"), _button("no", no, "n")]
    if "always" in question.choices:
        where = f"in {project}" if project else "in this project"
        found.insert(1, _button("always", f"Always {where}", "a"))
    return found


def _button(value: str, words: str, key: str = "", kind: str = "", disabled: bool = False) -> Html:
    # Enter gives the first answer, which another one may become.
    shown = (
        element("kbd", key, class_="enter" if key == "Enter" else None, aria_hidden="true")
        if key
        else NOTHING
    )
    return element("button", words, shown, name="choice", value=value, class_=kind or None, disabled=disabled)


def _revise() -> Html:
    """Words for the model, with the comments on single pieces: hidden until they are wanted."""
    field = element(
        "textarea", name="text", rows=3, aria_label=_REVISE, placeholder="What should be different?"
    )
    send = _button("revise", "Send", "Ctrl Enter", "first")
    return element(
        "details",
        element("summary", _REVISE, element("kbd", "d", aria_hidden="true"), class_="button"),
        element("div", field, element("div", send, class_="end"), class_="saying"),
        class_="revise",
    )


def _draft(draft: str) -> Html:
    rows = min(max(draft.count("\n") + 2, 6), 28)
    # A browser drops the first line break in a field.
    return element(
        "textarea", f"\n{draft}", name="draft", rows=rows, class_="draft", aria_label="Your version"
    )


def _hints() -> Html:
    keys = (
        element("span", *(element("kbd", key) for key in keys.split()), f" {what}") for keys, what in _HINTS
    )
    return element("p", *keys, class_="hints script dim", aria_label="Keys")
