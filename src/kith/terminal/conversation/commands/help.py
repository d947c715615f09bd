"""List the commands and keys, and leave."""

from typing import Final

from kith.core.errors import UsageError
from kith.core.feature import Lazy, SlashCommand
from kith.terminal.conversation.slash_commands import find_command, groups, slash_commands
from kith.terminal.conversation.talk import Talk
from kith.terminal.rendering.panels import pairs_lines
from kith.terminal.rendering.spans import Span, words, wrap

COMMANDS: Final = (
    SlashCommand(
        "help",
        "kith",
        "this list, or more about one command",
        Lazy(f"{__name__}:help"),
        rest="[COMMAND]",
        bare=True,
        anytime=True,
        takes="command",
    ),
    SlashCommand("quit", "kith", "leave (Ctrl-D)", Lazy(f"{__name__}:leave"), bare=True, anytime=True),
    SlashCommand(
        "exit", "kith", "leave (Ctrl-D)", Lazy(f"{__name__}:leave"), bare=True, anytime=True, same_as="quit"
    ),
)


_WIDEST: Final = 90  # columns
_INDENT: Final = (Span("  "),)
_KEYS: Final = (
    ("Enter", "send; while the model works, it hears it at its next step"),
    ("Ctrl-J, Alt-Enter", "a new line, as \\ at the end of one"),
    ("Esc, Ctrl-C", "stop the model; Ctrl-C twice leaves"),
    ("Esc Esc", "go back to an earlier turn"),
    ("Shift-Tab", "another mode: ask, plan, auto"),
    ("Ctrl-O, Ctrl-T", "what the tools said; the model's list"),
    ("Ctrl-G, Ctrl-R", "write in your editor; search what you sent"),
    ("@FILE", "a file that the model is to read"),
    ("!CMD, !!CMD", "run a command in a trial; !! keeps it from the model"),
)


async def help(talk: Talk, rest: str) -> None:
    """All commands, or more about one. Raises UsageError."""
    if rest:
        command, _ = find_command(f"/{rest.removeprefix('/').split()[0]}")
        if command is None:
            raise UsageError(f"There is no /{rest}; /help lists what there is.")
        _tell(talk, command)
        return
    width = max(len(_usage(each)) for each in slash_commands().values())
    for title, group in groups().items():
        talk.say(f"\n{title}", "bold")
        rows = [(_usage(each), each.meaning) for each in group if not each.same_as]
        talk.terminal.show_lines(pairs_lines(rows, talk.terminal.width, first=width))
    talk.say("\nKeys", "bold")
    talk.terminal.show_lines(pairs_lines(_KEYS, talk.terminal.width, first=width))
    talk.say("\nMore about one: /help COMMAND", "dim")


async def leave(talk: Talk, rest: str) -> None:
    """End the conversation; it is saved."""
    talk.terminal.leave()


def _usage(command: SlashCommand) -> str:
    names = [command.name, *(each.name for each in slash_commands().values() if each.same_as == command.name)]
    return " ".join(filter(None, [", ".join(f"/{name}" for name in names), command.rest]))


def _tell(talk: Talk, command: SlashCommand) -> None:
    """Show a command's name, purpose and details."""
    command = slash_commands()[command.same_as or command.name]
    meaning = f"{command.meaning[:1].upper()}{command.meaning[1:]}."
    beside = "It need not wait while the model works." if command.anytime else ""
    talk.say(_usage(command), "bold")
    for line in filter(None, (meaning, command.more, beside)):
        talk.terminal.show_lines(wrap(words(line), min(talk.terminal.width, _WIDEST), _INDENT, _INDENT))
