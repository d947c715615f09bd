"""What "always" would allow, in the words that every face shows beside that choice."""

from kith.core.policy import bare_call
from kith.core.values import CallTarget, Question
from kith.view.printing import printable


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
