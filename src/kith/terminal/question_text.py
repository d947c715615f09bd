"""A question as one text, for faces that show its parts in one piece."""

from kith.core.values import Question


def question_text(question: Question) -> str:
    """The warnings, then the question; the command that it is about stands last, behind a colon."""
    target = f": {question.target.text}" if question.target and question.target.text else ""
    return "\n".join((*question.warnings, f"{question.text}{target}"))
