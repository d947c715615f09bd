"""`!command`: the person runs something themselves, and the model hears of it; of `!!command` it does not."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kith.core.errors import UsageError
from kith.core.events import Event, RunEnded, ToolEnded
from kith.core.values import Ran
from kith.faces.lines import folded, printable

if TYPE_CHECKING:
    from kith.faces.conversation.talk import Talk

STOPPED: Final = "Stopped."
_WHOLE: Final = 24  # lines of output that are shown as they are
_HEAD, _TAIL = 6, 14  # of more than these, the first and the last
_INDENT: Final = "    "


async def run_typed(talk: "Talk", words: str) -> None:
    """Carry out `!command` or `!!command`. Raises UsageError where there is none, KithError."""
    from kith.app.asides import EMPTY, run_command

    quiet = words.startswith("!!")
    command = words.lstrip("!").strip()
    if not command:
        raise UsageError(EMPTY)
    project = talk.project
    if talk.mode == "plan":
        project = replace(project, settings=replace(project.settings, read_only=True))

    def show(event: Event, path: tuple[str, ...]) -> None:
        if isinstance(event, ToolEnded) and event.ran:
            _show_output(talk, event.ran)
        elif isinstance(event, RunEnded) and event.status not in ("done", "interrupted"):
            talk.say(printable(event.text), "dim" if event.status == "rejected" else "red")

    with talk.session() as session:
        session.listeners.append(show)
        try:
            await run_command(project, session, command, talk.answer, quiet=quiet)
        except asyncio.CancelledError:  # nothing else was cut short by it
            talk.voice.rest()
            talk.say(STOPPED, "yellow")


def _show_output(talk: "Talk", ran: Ran) -> None:
    """What it printed, folded where it is long; Ctrl-O has all of it."""
    lines = [folded(line) for line in printable(ran.output.strip("\n")).split("\n")]
    if lines == [""]:
        return
    talk.voice.details.kept.append((f"$ {printable(ran.command)}", "\n".join(lines)))
    if len(lines) > _WHOLE:
        more = f"... {len(lines) - _HEAD - _TAIL:,} more lines (Ctrl-O shows all)"
        lines = [*lines[:_HEAD], more, *lines[-_TAIL:]]
    talk.say("\n".join(f"{_INDENT}{line}".rstrip() for line in lines), "dim")
