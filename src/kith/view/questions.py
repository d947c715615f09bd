"""Questions and answers in words, the same on every surface."""

from typing import Final

from kith.core.policy import bare_call
from kith.core.values import Answer, CallTarget, Question
from kith.view.printing import printable

_ANSWERS: Final = {
    "all": "Everything was kept",
    "none": "Nothing was kept",
    "some": "A part was kept",
    "edit": "It was edited",
    "revise": "Something else was asked for",
    "back": "Back to the whole change",
    "yes": "Yes",
    "no": "No",
    "always": "Yes, always",
}


def question_text(question: Question) -> str:
    """A question in one piece: warnings, then the question, then the command that it is about."""
    target = f": {question.target.text}" if question.target and question.target.text else ""
    return "\n".join((*question.warnings, f"{question.text}{target}"))


def word_answer(answer: Answer) -> str:
    """Word the choice of an answer."""
    return _ANSWERS.get(answer.choice, answer.choice)


def always_words(question: Question) -> str:
    """The pattern, word for word and visible; "" for a question that has none."""
    if not question.pattern or "always" not in question.choices:
        return ""
    if question.effect == "call":
        server, _, tool = bare_call(question.pattern).partition("/")
        named = f"{printable(tool)} of {printable(server)}"
        return f"Always: in this project, {named}, whatever its arguments, until it describes itself anew"
    target = question.target or CallTarget()
    if question.pattern == " ".join(target.hosts):
        return f"Always: in this project, sandboxed commands may reach {printable(question.pattern)}"
    command = target.text if target.hosts else question.pattern
    return f"Always: in this project, exactly this command: {printable(command)}"
