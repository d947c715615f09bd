"""How a conversation begins: the folder, its settings, whether they are trusted, and where it goes on."""

from typing import TYPE_CHECKING

from kith.faces.lines import from_home, printable

if TYPE_CHECKING:
    from kith.faces.conversation.talk import Talk


async def open_conversation(talk: "Talk") -> None:
    """Open the project and greet. Raises KithError."""
    from kith.app.project import Project

    talk.project = Project.open(talk.root, talk.flags)
    where = printable(from_home(str(talk.root)))
    talk.say(f"kith in {where}", "bold")
    talk.say("/help for commands, Shift-Tab for modes, Ctrl-D leaves", "dim")
    if talk.begin.words:
        talk.submit(talk.begin.words)
