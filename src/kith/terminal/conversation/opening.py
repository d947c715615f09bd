"""How a conversation begins: the folder, its settings, whether they are trusted, and where it goes on."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kith.core.errors import KithError
from kith.core.events import Event
from kith.terminal.rendering.markdown import render_said
from kith.view.lines import from_home
from kith.view.printing import printable

if TYPE_CHECKING:
    from kith.memory.past import Past
    from kith.terminal.conversation.talk import Talk

_SHOWN: Final = 3  # turns of an earlier conversation that are shown again
_LINES: Final = 20  # of each answer


async def open_conversation(talk: "Talk") -> None:
    """Open the project, ask what has to be asked, and greet. Raises KithError."""
    from kith.agent.held_servers import hold_servers
    from kith.agent.project import Project

    talk.project = Project.open(talk.root, talk.flags)
    _dress(talk)
    talk.say(f"kith in {printable(from_home(str(talk.root)))}", "bold")
    talk.say("/help lists commands, Shift-Tab changes the mode, Ctrl-D leaves", "dim")
    if mended := talk.project.log.mended:
        talk.say(printable(mended), "yellow")
        talk.project.log.mended = ""
    await _ask_trust(talk)
    talk.project = await hold_servers(talk.project)
    if talk.begin.resume:
        await _go_on(talk)
    talk.warming = asyncio.ensure_future(_warm(talk))


def _dress(talk: "Talk") -> None:
    """The terminal as the person wants it."""
    chosen = talk.project.settings
    talk.terminal.settle_in(chosen)
    talk.terminal.know(lambda: talk.project, lambda: talk.id)
    if talk.begin.mode is None:
        talk.set_mode(chosen.mode)


async def _ask_trust(talk: "Talk") -> None:
    """What the folder brings along counts once the person has seen it."""
    from kith.agent.project import Project
    from kith.terminal.trust import ask_at_start

    if talk.project.settings.brought.standing in ("new", "changed") and await ask_at_start(
        talk.terminal, talk.root
    ):
        talk.project = Project.open(talk.root, talk.flags)


# --- going on --------------------------------------------------------------------------------


async def _go_on(talk: "Talk") -> None:
    """An earlier conversation: its end is shown, and what was cut short in it can be gone on with."""
    from kith.agent.conversations import find_conversation, last_conversation
    from kith.terminal.conversation.commands.sessions import pick_session

    try:
        if talk.begin.resume == "pick":
            if id := await pick_session(talk):
                await go_into(talk, id)
            return
        last = talk.begin.resume == "last"
        found = (
            last_conversation(talk.project) if last else find_conversation(talk.project, talk.begin.resume)
        )
        await go_into(talk, found.id)
    except KithError as error:
        talk.say(printable(str(error)), "red")


async def go_into(talk: "Talk", id: str) -> None:
    """Make an earlier conversation the present one."""
    from kith.agent.conversations import tell_damage

    talk.id = id
    past = talk.past
    if damage := tell_damage(talk.project.log, id):
        talk.say(damage, "yellow")
    show_earlier(talk, past)
    if past.started and past.ended is None and not talk.project.log.is_open(id):
        await _offer_rest(talk)


def show_earlier(talk: "Talk", past: "Past") -> None:
    """The last turns of a conversation: what the person said, and the model's last words on it."""
    from kith.agent.tasks import THREAD
    from kith.memory.turns import turns

    said, spoken = past.threads.get(THREAD, ()), turns(talk.project.log, talk.id)
    if len(spoken) > _SHOWN:
        talk.say(f"({len(spoken):,} turns; the last of them:)", "dim")
    ends = [*(turn.after for turn in spoken[1:]), len(said)]
    for turn, end in list(zip(spoken, ends, strict=False))[-_SHOWN:]:
        talk.terminal.echo(turn.words)
        words = [each.text for each in said[turn.after : end] if each.role == "assistant" and each.text]
        screen = talk.terminal
        for text in words[-1:]:
            lines = render_said(text, screen.width, screen.look.glyphs)
            screen.show_lines([*lines[-_LINES:], ()])
    talk.voice.set_todo(past.todo)


async def _offer_rest(talk: "Talk") -> None:
    """What its process had no time to finish."""
    talk.say("Its last task was cut short.", "yellow")
    if await talk.terminal.press("[g]o on with it  [n]ot now", "gn") == "g":
        talk.submit("/continue")


async def _warm(talk: "Talk") -> None:
    """Get the model ready meanwhile; what goes wrong is said when the model is asked."""
    from kith.agent.tasks import warm_up

    def tell(event: Event) -> None:
        if not talk.working:  # else it may be another one by now
            talk.status.hear(event)
            talk.terminal.redraw()

    with suppress(KithError, OSError):
        await warm_up(talk.project, tell)
