"""What a person can tell the conversation itself: `/command`, some plain words of old, and `!command`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kith.core.errors import UsageError

if TYPE_CHECKING:
    from kith.faces.conversation.talk import Talk

Do = Callable[["Talk", str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Command:
    """A command: what follows it, what it is for, and what it does with the rest of the line.

    `bare`: it may be said without its slash, where nothing else stands on the line (words that people know).
    `anytime`: it only looks, and waits for no work.
    """

    name: str
    meaning: str
    do: Do
    rest: str = ""
    bare: bool = False
    anytime: bool = False


async def _leave(talk: "Talk", rest: str) -> None:
    talk.terminal.leave()


async def _help(talk: "Talk", rest: str) -> None:
    for command in COMMANDS.values():
        talk.say(f"  /{command.name:10} {command.rest:12} {command.meaning}")


COMMANDS: dict[str, Command] = {
    each.name: each
    for each in (
        Command("help", "this list", _help, bare=True, anytime=True),
        Command("quit", "leave", _leave, bare=True, anytime=True),
        Command("exit", "leave", _leave, bare=True, anytime=True),
    )
}


async def answer(talk: "Talk", words: str) -> None:
    """Carry out a command, or give the words to the model. Raises KithError for what the person can mend."""
    command, rest = find_command(words)
    talk.say(f"> {words}", "bold")
    if command:
        await command.do(talk, rest)
    else:
        await talk.do(words)


def find_command(words: str) -> tuple[Command | None, str]:
    """The command that is meant, and the rest of the line; None for a task. Raises UsageError."""
    name, _, rest = words.strip().removeprefix("/").partition(" ")
    if not words.startswith("/"):
        found = COMMANDS.get(name)
        return (found, "") if found and found.bare and not rest else (None, "")
    if name in COMMANDS:
        return COMMANDS[name], rest.strip()
    import difflib

    close = difflib.get_close_matches(name, COMMANDS, 1)
    hint = f"did you mean /{close[0]}?" if close else "/help lists what there is."
    raise UsageError(f"There is no /{name}; {hint}")


def at_any_time(words: str) -> Do | None:
    """What a command does, where it need not wait until the work is over."""
    try:
        command, _ = find_command(words)
    except UsageError:
        return None
    return command.do if command and command.anytime else None
