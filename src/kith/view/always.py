"""What "always" would allow, in the words that every face shows beside that choice."""

from kith.core.calls import bare_call
from kith.core.hosts import split_target
from kith.core.values import Question
from kith.view.printing import printable


def always_words(question: Question) -> str:
    """The pattern, word for word and visible; "" for a question that has none."""
    if not question.pattern or "always" not in question.choices:
        return ""
    if question.effect == "call":
        server, _, tool = bare_call(question.pattern).partition("/")
        named = f"{printable(tool)} of {printable(server)}"
        return f"Always: in this project, {named}, whatever its arguments, until it describes itself anew"
    hosts, command = split_target(question.pattern) if question.effect == "net" else ((), question.pattern)
    if question.effect == "net" and not hosts:
        return f"Always: in this project, sandboxed commands may reach {printable(question.pattern)}"
    return f"Always: in this project, exactly this command: {printable(command)}"
