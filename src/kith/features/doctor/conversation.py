"""`/doctor` in a conversation."""

from kith.features.doctor.command import STYLES, WORDS, lines_of, summary, worst
from kith.features.doctor.examine import examine
from kith.terminal.conversation.talk import Talk


async def doctor(talk: Talk, rest: str) -> None:
    """Check servers, sandbox and folders, and show the fixes."""
    from rich.text import Text

    checks = await examine(talk.root, talk.flags)
    text = Text()
    for level, name, line in lines_of(checks, min(talk.terminal.width, 100)):
        text.append(f"{WORDS[level] if level else '':>6}  ", STYLES[level] if level else "")
        text.append(f"{name:<13} {line}\n")
    talk.terminal.show(text)
    talk.say(summary(checks), STYLES[worst(checks)])
