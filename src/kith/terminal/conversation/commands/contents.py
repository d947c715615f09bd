"""Show a conversation's contents: the list, the window, the last answer, full tool output."""

import base64
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from kith.agent.context_usage import Explained, compact_now, explain_conversation
from kith.agent.step_list import set_list
from kith.agent.tasks import THREAD
from kith.core.errors import UsageError
from kith.core.feature import Lazy, SlashCommand
from kith.core.processes import run_program
from kith.terminal.conversation.live_screen import LiveScreen
from kith.terminal.conversation.talk import Talk, need_model
from kith.terminal.rendering.panels import context_lines, todo_lines
from kith.view.printing import printable

COMMANDS: Final = (
    SlashCommand(
        "todo",
        "This conversation",
        "the model's list, or set it",
        Lazy(f"{__name__}:todo"),
        rest="[STEP; STEP]",
        anytime=True,
        more="With steps, separated by `;`, they become the list. The model gets it with your next message.",
    ),
    SlashCommand(
        "context",
        "This conversation",
        "what fills the model's window",
        Lazy(f"{__name__}:context"),
        anytime=True,
        more="Estimated, or counted by the server where it can; /compact makes room.",
    ),
    SlashCommand(
        "compact",
        "This conversation",
        "sum up the conversation now, to make room",
        Lazy(f"{__name__}:compact"),
        more="The model sums up; the task and what it changed, ran and read are kept. The log keeps all.",
    ),
    SlashCommand(
        "details",
        "This conversation",
        "what the tools said in full (Ctrl-O)",
        Lazy(f"{__name__}:details"),
        anytime=True,
    ),
    SlashCommand(
        "copy",
        "This conversation",
        "copy the last answer",
        Lazy(f"{__name__}:copy"),
        rest="[code|diff]",
        anytime=True,
        more="To the clipboard of this machine, or of your terminal (OSC 52). `code`: the last "
        "block of code in it, `diff`: the last change.",
    ),
)


# A text on the person's clipboard: by the terminal itself, and by a program of this machine.

# xterm's control sequences, "OSC 52"; terminals refuse longer ones (https://invisible-island.net/xterm/ctlseqs/).
_OSC: Final = "\x1b]52;c;{}\x07"
_LONGEST: Final = 74_994  # bytes in base 64
_PROGRAM_S: Final = 3.0


async def put_on_clipboard(text: str, screen: LiveScreen) -> str:
    """Copy it; returns in words how. A terminal does not say whether it took it."""
    encoded = base64.b64encode(text.encode()).decode()
    asked = len(encoded) <= _LONGEST
    if asked:
        screen.signal(_OSC.format(encoded))
    for program in _programs():
        if await _feed(program, text):
            return f"with {program[0]}"
    return (
        "by your terminal, if it lets programs do so" if asked else "nowhere: it is too long for the terminal"
    )


def _programs() -> Iterator[Sequence[str]]:
    """The programs that reach a clipboard from here."""
    known: list[tuple[str, ...]] = [("pbcopy",)] if sys.platform == "darwin" else []
    known += [("clip.exe",)] if sys.platform == "win32" or "WSL_DISTRO_NAME" in os.environ else []
    known += [("wl-copy",)] if os.environ.get("WAYLAND_DISPLAY") else []
    if os.environ.get("DISPLAY"):
        known += [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    known += [("tmux", "load-buffer", "-w", "-")] if os.environ.get("TMUX") else []
    yield from (program for program in known if shutil.which(program[0]))


async def _feed(program: Sequence[str], text: str) -> bool:
    """Give the text to a program; whether it took it."""
    with suppress(OSError, TimeoutError):
        # What holds a selection stays behind, so nothing of its is waited for but the first process.
        ended = await run_program(program, seconds=_PROGRAM_S, input=text.encode(), keep=False)
        return ended.code == 0
    return False


_BLOCK: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n(.*?)^ {0,3}\1", re.M | re.S)


async def todo(talk: Talk, rest: str) -> None:
    """The model's list, as it stands or as the person sets it. Raises BusyError while the model works."""
    steps = [step.strip() for step in rest.split(";") if step.strip()]
    if steps:
        begun = talk.past.started is not None
        talk.id, result = await set_list(talk.project, {"items": steps}, talk.id if begun else "")
        talk.voice.set_todo(talk.past.todo)
        if begun:  # else it comes with the first task
            talk.notes.append(f"The person set your list of steps:\n{result.text}")
    items, screen = talk.past.todo, talk.terminal
    if not items:
        talk.say("The list is empty.")
    screen.show_lines(todo_lines(items, screen.width, screen.look.glyphs, len(items)))


# --- the window ------------------------------------------------------------------------------


async def context(talk: Talk, rest: str) -> None:
    """Show the parts of the next request, and the room that is left. Raises KithError."""
    opened = await need_model(talk)
    found = await explain_conversation(talk.project, talk.past, opened)
    screen = talk.terminal
    parts = _gather_tools(found)
    screen.show_lines(
        context_lines(parts, found.window, screen.width, screen.look.glyphs, found.model or "no model")
    )
    how = "Counted by the server." if found.exact else "Estimated."
    room = "" if found.window else " How large the window is, nobody tells."
    talk.say(f"{how}{room} /compact makes room.", "dim")


def _gather_tools(found: Explained) -> list[tuple[str, int]]:
    """The parts, with those of single tools in one."""
    tools = [cost.tokens for cost in found.costs if cost.tool]
    rest = [(cost.part, cost.tokens) for cost in found.costs if not cost.tool]
    return [*rest[:1], (f"{len(tools)} tools", sum(tools)), *rest[1:]] if tools else rest


async def compact(talk: Talk, rest: str) -> None:
    """Let the model sum up now, and say what that saved. Raises KithError."""
    opened = await need_model(talk)
    with talk.session() as session:
        done = await compact_now(talk.project, session, opened, talk.answer)
    if done is None:
        talk.say("There is nothing to summarise yet.")
        return
    saved = 1 - done.after / done.before if done.before else 0.0
    talk.say(f"{done.before:,} tokens before, {done.after:,} now ({saved:.0%} less).", "green")
    if done.summary:
        talk.say(printable(done.summary.strip()), "dim")


# --- what was folded -------------------------------------------------------------------------


async def details(talk: Talk, rest: str) -> None:
    """Thoughts, and what tools were given and said, on a screen of its own."""
    await talk.terminal.view("the newest first", talk.voice.details.lines(talk.terminal.width))


# --- the last answer -------------------------------------------------------------------------


async def copy(talk: Talk, rest: str) -> None:
    """Put the last answer, its last block of code, or the last change on the clipboard. Raises UsageError."""
    text = await _wanted(talk, rest)
    how = await put_on_clipboard(text, talk.terminal)
    lines = text.count("\n") + 1
    talk.say(f"Copied {lines:,} {'line' if lines == 1 else 'lines'} {how}.", "dim")


async def _wanted(talk: Talk, rest: str) -> str:
    if rest == "diff":
        files = talk.past.applied[-1].files if talk.past.applied else talk.past.proposed
        if not files:
            raise UsageError("Nothing was changed yet.")
        return "".join(file.diff for file in files)
    if rest not in ("", "code"):
        raise UsageError(f"/copy takes nothing, code or diff, not {rest!r}.")
    said = _last_words(talk)
    if not said:
        raise UsageError("No model has said anything here yet.")
    if rest == "":
        return said
    blocks = [match[2] for match in _BLOCK.finditer(said)]
    if not blocks:
        raise UsageError("The last answer holds no block of code.")
    return blocks[-1].rstrip("\n")


def _last_words(talk: Talk) -> str:
    said = (
        each.text.strip() for each in reversed(talk.past.threads.get(THREAD, ())) if each.role == "assistant"
    )
    return next(filter(None, said), "")
