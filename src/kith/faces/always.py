"""What "always" would allow, in the words that every face shows beside that choice."""

from kith.core.values import Question
from kith.faces.lines import printable


def always_words(question: Question) -> str:
    """The pattern, word for word and visible; "" for a question that has none."""
    if not question.pattern or "always" not in question.choices:
        return ""
    shown = printable(question.pattern)
    if question.effect == "net" and ": " not in question.pattern:
        return f"Always: in this project, sandboxed commands may reach {shown}"
    return f"Always: in this project, exactly this command: {shown}"
