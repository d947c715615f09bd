"""`/why` in a conversation."""

from kith.features.route.command import show_why, why_text
from kith.terminal.conversation.talk import Talk
from kith.view.printing import printable


async def why(talk: Talk, rest: str) -> None:
    """Show the models asked, the alternatives, and the outcome. Raises UsageError."""

    shown = show_why(talk.project, rest or talk.id)
    talk.say(printable("\n\n".join(map(why_text, shown["decisions"]))))
