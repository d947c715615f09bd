"""`!command`: the person runs something themselves, and the model hears of it; of `!!command` it does not."""

import asyncio
from typing import Final

from kith.agent.side_commands import EMPTY
from kith.agent.side_commands import run_command as run_aside
from kith.core.errors import UsageError
from kith.core.events import Event, RunEnded, ToolEnded
from kith.core.values import Ran
from kith.terminal.conversation.talk import Talk
from kith.terminal.rendering.spans import cut
from kith.terminal.rendering.spans import words as words_of
from kith.view.printing import folded, printable

STOPPED: Final = "Stopped."
_WHOLE: Final = 24  # lines of output that are shown as they are
_HEAD, _TAIL = 6, 14  # of more than these, the first and the last
_LIVE: Final = 8  # lines that are seen while it runs
_INDENT: Final = "    "


async def run(talk: Talk, rest: str) -> None:
    """The same as `!COMMAND`. Raises UsageError."""
    if not rest:
        raise UsageError("Run what? /run COMMAND, or !COMMAND")
    await run_typed(talk, f"!{rest}")


async def run_typed(talk: Talk, words: str) -> None:
    """Carry out `!command` or `!!command`. Raises UsageError where there is none, KithError."""
    quiet = words.startswith("!!")
    command = words.lstrip("!").strip()
    if not command:
        raise UsageError(EMPTY)

    def show(event: Event, path: tuple[str, ...]) -> None:
        if isinstance(event, ToolEnded) and event.ran:
            talk.terminal.live("stream", None)
            _show_output(talk, event.ran)
        elif isinstance(event, RunEnded) and event.status not in ("done", "interrupted"):
            talk.say(printable(event.text), "dim" if event.status == "rejected" else "red")

    def hear(output: str) -> None:
        talk.terminal.live("stream", lambda width: _tail(talk, output, width))

    with talk.session() as session:
        session.listeners.append(show)
        try:
            await run_aside(talk.allowed, session, command, talk.answer, quiet=quiet, hear=hear)
        except asyncio.CancelledError:  # nothing else was cut short by it
            talk.terminal.live("stream", None)
            talk.voice.rest()
            talk.say(STOPPED, "yellow")


def _tail(talk: Talk, output: str, width: int) -> str:
    """The last lines while it runs."""
    lines = printable(output).split("\n")[-_LIVE:]
    more = talk.terminal.look.glyphs.more
    return talk.terminal.look.paint(cut(words_of(f"{_INDENT}{line}", "dim"), width, more) for line in lines)


def _show_output(talk: Talk, ran: Ran) -> None:
    """What it printed, folded where it is long; Ctrl-O has all of it."""
    lines = [folded(line) for line in printable(ran.output.strip("\n")).split("\n")]
    if lines == [""]:
        return
    talk.voice.details.kept.append((f"$ {printable(ran.command)}", "\n".join(lines)))
    if len(lines) > _WHOLE:
        more = f"... {len(lines) - _HEAD - _TAIL:,} more lines (Ctrl-O shows all)"
        lines = [*lines[:_HEAD], more, *lines[-_TAIL:]]
    talk.say("\n".join(f"{_INDENT}{line}".rstrip() for line in lines), "dim")
