"""`/panel` in a conversation."""

import asyncio

from kith.core.errors import UsageError
from kith.core.events import Delta, Event
from kith.features.confer.session import Conferred, Motion, run_confer
from kith.terminal.conversation.talk import Talk
from kith.view.printing import printable


async def panel(talk: Talk, rest: str) -> None:
    """Let several models confer; the next task knows what they agreed on. Raises UsageError."""
    if not rest:
        raise UsageError("Confer about what? /panel WORDS")

    def hear(event: Event, path: tuple[str, ...]) -> None:
        if not isinstance(event, Delta):  # several speak at once; each is shown when it has spoken
            talk.hear(event, path)

    hurry = asyncio.Event()
    work = asyncio.ensure_future(run_confer(talk.project, Motion(rest), talk.answer, [hear], hurry))
    told = await _until_decided(talk, work, hurry)
    talk.voice.rest()
    if told.minutes and told.minutes.concluded:
        talk.notes.append(f"# What several models agreed on\n{told.minutes.concluded.text}")
        talk.say("The next task knows this.", "dim")
    else:
        talk.say(printable(told.result.report["text"]), "red")


async def _until_decided(talk: Talk, work: "asyncio.Future[Conferred]", hurry: asyncio.Event) -> "Conferred":
    """Wait for the decision; a person's first stop makes them decide at once."""
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        this = asyncio.current_task()
        if talk.closing or work.cancelled() or this is None:
            work.cancel()
            raise
        this.uncancel()
        hurry.set()
        talk.say("They decide now; Esc again stops.", "yellow")
        return await work
