"""How a conversation begins once the person is greeted: the folder's own settings, and where it goes on."""

from kith.agent.held_servers import hold_servers
from kith.agent.project import Project
from kith.terminal.conversation.commands.sessions import go_on_with
from kith.terminal.conversation.line_context import make_line_context
from kith.terminal.conversation.talk import Talk
from kith.terminal.trust import ask_at_start


async def open_conversation(talk: Talk, resume: str) -> None:
    """Ask what has to be asked, and hold open what is used again and again. Raises KithError.

    `resume` is the id of a conversation to go on with, its beginning or its name, "last" for the newest one
    here, "pick" to be asked, "" for a new one.
    """
    talk.terminal.know(lambda changed: make_line_context(lambda: talk.project, lambda: talk.id, changed))
    if talk.project.settings.brought.standing in ("new", "changed") and await ask_at_start(
        talk.terminal, talk.root
    ):
        talk.project = Project.open(talk.root, talk.flags)
    talk.project = await hold_servers(talk.project)
    if resume:
        await go_on_with(talk, resume)
