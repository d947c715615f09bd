"""What a person can tell the conversation itself: `/command`, some plain words of old, and `!command`."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from kith.core.errors import UsageError
from kith.core.feature import SlashCommand
from kith.terminal.conversation.commands.table import slash_commands

if TYPE_CHECKING:
    from kith.terminal.conversation.talk import Talk

Do = Callable[["Talk", str], Awaitable[None]]


async def answer(talk: "Talk", words: str) -> None:
    """Carry out a command, or give the words to the model. Raises KithError for what the person can mend."""
    talk.terminal.echo(words)
    command, rest = find_command(words)
    if words.startswith("!"):
        from kith.terminal.conversation.aside import run_typed

        await run_typed(talk, words)
    elif command:
        await command.run.load()(talk, rest)
    elif await _was_stopped(talk):
        await slash_commands()["continue"].run.load()(talk, words)
    else:
        await talk.do(words)


async def _was_stopped(talk: "Talk") -> bool:
    """Whether the person stopped the last task, with a change begun: what they say now is about that."""
    from kith.agent.waiting import is_under_way

    return talk.mode != "plan" and await is_under_way(talk.project, talk.id)


def find_command(words: str) -> tuple[SlashCommand | None, str]:
    """The command that is meant, and the rest of the line; None for a task. Raises UsageError."""
    name, _, rest = words.strip().removeprefix("/").partition(" ")
    if not words.startswith("/"):
        found = slash_commands().get(name)
        return (found, "") if found and found.bare and not rest else (None, "")
    if name in slash_commands():
        return slash_commands()[name], rest.strip()
    if "/" in name:  # a path, with which a task begins
        return None, ""
    import difflib

    close = difflib.get_close_matches(name, slash_commands(), 1)
    hint = f"did you mean /{close[0]}?" if close else "/help lists what there is."
    raise UsageError(f"There is no /{name}; {hint}")


def at_any_time(words: str) -> Do | None:
    """What a command does, where it need not wait until the work is over."""
    try:
        command, _ = find_command(words)
    except UsageError:
        return None
    return command.run.load() if command and command.anytime else None
