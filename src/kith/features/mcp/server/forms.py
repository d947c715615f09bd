"""A question as a form of the client's: what it says, which fields it has, what was answered in it."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from mcp_types import ElicitResult

from kith.core.values import Answer, Question
from kith.view.evidence import word_evidence
from kith.view.printing import printable
from kith.view.wording import always_words, question_text, word_size

LONGEST: Final = 16_000  # characters: nobody says yes to what a form does not show whole
_UNSAID: Final = ("edit", "some")  # choices that need more than a word


def words_of(question: Question, warnings: Sequence[str] = ()) -> str:
    """The question with all that it is about, nothing of it hidden, and what kith warned of before."""
    return "\n".join(_lines(question, warnings))


def _lines(question: Question, warnings: Sequence[str]) -> Iterator[str]:
    if question.evidence:
        yield word_evidence(question.evidence)
    yield printable(question_text(question))
    yield from map(printable, warnings)
    if always := always_words(question):
        yield always
    if question.files:
        yield word_size(question.files)
    for file in question.files:
        yield ""
        yield from map(printable, file.diff.rstrip("\n").split("\n"))
    if question.draft:
        yield ""
        yield from map(printable, question.draft.split("\n"))


def form_of(question: Question) -> dict[str, Any]:
    """The form's fields as JSON Schema: yes or no for a change, else one of the choices; and words."""
    words = {"type": "string", "title": "Or say what should be different", "default": ""}
    if question.kind == "change":
        yes = {"type": "boolean", "title": "Yes, do it", "default": False}
        return {"type": "object", "properties": {"yes": yes, "words": words}, "required": ["yes"]}
    choices = [each for each in question.choices if each not in (*_UNSAID, "revise")]
    if not choices:
        words = {"type": "string", "title": "Your answer"}
        return {"type": "object", "properties": {"words": words}, "required": ["words"]}
    choice = {"type": "string", "title": "Your choice", "enum": choices}
    fields = {"choice": choice} | ({"words": words} if "revise" in question.choices else {})
    return {"type": "object", "properties": fields, "required": ["choice"]}


def answer_of(question: Question, said: ElicitResult, by: str) -> Answer:
    """What was answered. A form that was declined or closed is a no, and so is all but a clear yes."""
    fields = (said.content or {}) if said.action == "accept" else {}
    words = str(fields.get("words") or "").strip()
    if question.kind == "change":
        if fields.get("yes") is True:
            return Answer("all", by=by)
        return Answer("revise" if words and "revise" in question.choices else "none", words, by=by)
    if not question.choices:
        return Answer("yes" if words else "no", words, by=by)
    choice = fields.get("choice")
    if words and "revise" in question.choices and choice not in ("yes", "always"):
        return Answer("revise", words, by=by)
    known = isinstance(choice, str) and choice in question.choices and choice not in _UNSAID
    return Answer(str(choice) if known else "no", by=by)
