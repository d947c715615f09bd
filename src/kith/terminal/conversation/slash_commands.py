"""Every command of a conversation: those of the main job, and those of the features that are on."""

import difflib
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, get_args

from kith.core.errors import UsageError
from kith.core.feature import Group, SlashCommand, lazy_in
from kith.settings.check import has_value
from kith.settings.features import features

_here = lazy_in("kith.terminal.conversation.commands")

_KERNEL: Final = (
    SlashCommand(
        "plan",
        "Work",
        "plan first, and ask; without a task: plan mode",
        _here("tasks:plan"),
        rest="[TASK]",
        more="The model reads and plans; you agree, or say what to plan differently, and then it works.",
    ),
    SlashCommand(
        "retry",
        "Work",
        "do the last task again",
        _here("tasks:retry"),
        rest="[WORDS]",
        more="WORDS are added to it: what was missing, or what to do differently. Files stay as they are.",
    ),
    SlashCommand(
        "continue",
        "Work",
        "go on with a task that was cut short",
        _here("tasks:go_on"),
        rest="[WORDS]",
        more="In its own trial, with all that it had done there; the model hears WORDS first.",
    ),
    SlashCommand(
        "run",
        "Work",
        "run a command in a trial, the same as !COMMAND",
        _here("tasks:run"),
        rest="COMMAND",
        more="The model is told of it with your next words; !!COMMAND keeps it from the model.",
    ),
    SlashCommand(
        "template",
        "Work",
        "do a common task",
        _here("tasks:template"),
        rest="[NAME ...]",
        takes="template",
        more="NAME is followed by name=value words; what is missing is asked for. Without NAME: the list.",
    ),
    SlashCommand(
        "diff",
        "The change",
        "the change that waits, or the last one",
        _here("changes:diff"),
        rest="[PATH ...]",
        anytime=True,
        more="The ID of another session in place of PATH shows the change that waits there.",
    ),
    SlashCommand(
        "apply",
        "The change",
        "apply a change that waits",
        _here("changes:apply"),
        rest="[ID]",
        takes="session",
        more="A change that was not applied waits in its trial. It is checked again on your files "
        "as they are now, and you are asked. ID is another session: kith sessions shows where "
        "one waits.",
    ),
    SlashCommand(
        "discard",
        "The change",
        "throw away a change that waits",
        _here("changes:discard"),
        rest="[ID]",
        takes="session",
    ),
    SlashCommand(
        "undo",
        "The change",
        "take a change back",
        _here("changes:undo"),
        rest="[ID]",
        more="The last one, or the one with this id. Later edits stay. /redo brings it again.",
    ),
    SlashCommand("redo", "The change", "bring again what was taken back last", _here("changes:redo")),
    SlashCommand(
        "git",
        "The change",
        "look at the repository: its status, log, diffs and more",
        _here("changes:git"),
        rest="[ARGUMENTS]",
        takes="git",
        anytime=True,
        more="Only what looks: nothing is written, and no program of the repository is started.",
    ),
    SlashCommand(
        "cost",
        "This conversation",
        "calls, tokens, time and money so far",
        _here("overview:cost"),
        anytime=True,
    ),
    SlashCommand("todo", "This conversation", "the model's list", _here("contents:todo"), anytime=True),
    SlashCommand(
        "context",
        "This conversation",
        "what fills the model's window",
        _here("contents:context"),
        anytime=True,
        more="Estimated, or counted by the server where it can; /compact makes room.",
    ),
    SlashCommand(
        "compact",
        "This conversation",
        "sum up the conversation now, to make room",
        _here("contents:compact"),
        more="The model sums up; the task and what it changed, ran and read are kept. The log keeps all.",
    ),
    SlashCommand(
        "details",
        "This conversation",
        "what the tools said in full (Ctrl-O)",
        _here("contents:details"),
        anytime=True,
    ),
    SlashCommand(
        "copy",
        "This conversation",
        "copy the last answer",
        _here("contents:copy"),
        rest="[code|diff]",
        anytime=True,
        more="To the clipboard of this machine, or of your terminal (OSC 52). `code`: the last "
        "block of code in it, `diff`: the last change.",
    ),
    SlashCommand(
        "rename", "This conversation", "give the conversation a name", _here("sessions:rename"), rest="[NAME]"
    ),
    SlashCommand(
        "save",
        "This conversation",
        "conversations are saved as they happen",
        _here("sessions:save"),
        rest="[NAME]",
        bare=True,
        bare_words=1,
        more="Says under which id; with a NAME, gives it that name.",
    ),
    SlashCommand("new", "Conversations", "begin a new conversation", _here("sessions:new")),
    SlashCommand(
        "clear", "Conversations", "begin a new conversation", _here("sessions:new"), bare=True, same_as="new"
    ),
    SlashCommand(
        "sessions",
        "Conversations",
        "what was done here; pick one to go on with",
        _here("sessions:sessions"),
        rest="[WORDS]",
        more="With WORDS, those in whose id, name, tasks or last words all of them stand.",
    ),
    SlashCommand(
        "resume",
        "Conversations",
        "go on with another conversation",
        _here("sessions:resume"),
        rest="[ID]",
        takes="session",
        more="By its id, or the beginning of one; without it you pick. What had been cut short goes on.",
    ),
    SlashCommand(
        "load",
        "Conversations",
        "go on with another conversation",
        _here("sessions:resume"),
        rest="[ID]",
        bare=True,
        bare_words=1,
        takes="session",
        same_as="resume",
    ),
    SlashCommand(
        "fork",
        "Conversations",
        "go on in a copy of this conversation",
        _here("sessions:fork"),
        rest="[TURN]",
        more="TURN is a number from /back: the copy then ends before it. Files stay as they are.",
    ),
    SlashCommand(
        "back",
        "Conversations",
        "go back to an earlier turn (Esc Esc)",
        _here("sessions:back"),
        rest="[TURN]",
        more="In a copy: the conversation as it is stays. Files go back too, if you want. The words "
        "of the turn come into the line, to be written anew.",
    ),
    SlashCommand(
        "delete",
        "Conversations",
        "forget a conversation for good",
        _here("sessions:delete"),
        rest="[ID]",
        bare=True,
        takes="session",
    ),
    SlashCommand(
        "model",
        "Models",
        "show or choose the model",
        _here("models:model"),
        rest="[NAME]",
        takes="model",
        more="Without a NAME you pick from a list. `route`: kith chooses for each task.",
    ),
    SlashCommand(
        "models", "Models", "list the models that can be asked", _here("models:models"), anytime=True
    ),
    SlashCommand(
        "mode",
        "kith",
        "ask, plan (read-only) or auto (Shift-Tab)",
        _here("settings:mode"),
        rest="[MODE]",
        anytime=True,
        takes="mode",
        more="ask: you are asked where it matters. plan: the model looks and answers, nothing is "
        "changed. auto: in the trial everything goes, and you are asked once, about the "
        "change.",
    ),
    SlashCommand(
        "config",
        "kith",
        "show settings and their origin, or set one",
        _here("settings:config"),
        rest="[KEY [VALUE]]",
        bare=True,
        takes="setting",
        more="KEY shows that one, or all of its table; `all` shows everything. A VALUE is written "
        "into your configuration, and counts from now on.",
    ),
    SlashCommand(
        "status",
        "kith",
        "the model, the checks, and what waits here",
        _here("overview:status"),
        anytime=True,
    ),
    SlashCommand(
        "permissions",
        "kith",
        "what is allowed here without a question",
        _here("overview:permissions"),
        anytime=True,
    ),
    SlashCommand(
        "memory",
        "kith",
        "notes that models are told first",
        _here("overview:memory"),
        anytime=True,
    ),
    SlashCommand(
        "roles",
        "kith",
        "who works, and in which words",
        _here("settings:roles"),
        rest="[NAME]",
        anytime=True,
        takes="role",
    ),
    SlashCommand(
        "skills",
        "kith",
        "what models can read up on here",
        _here("settings:skills"),
        rest="[NAME]",
        anytime=True,
        takes="skill",
    ),
    SlashCommand("hooks", "kith", "commands that run around the work", _here("settings:hooks"), anytime=True),
    SlashCommand(
        "help",
        "kith",
        "this list, or more about one command",
        _here("help:help"),
        rest="[COMMAND]",
        bare=True,
        anytime=True,
        takes="command",
    ),
    SlashCommand("quit", "kith", "leave (Ctrl-D)", _here("help:leave"), bare=True, anytime=True),
    SlashCommand(
        "exit", "kith", "leave (Ctrl-D)", _here("help:leave"), bare=True, anytime=True, same_as="quit"
    ),
)


@cache
def slash_commands() -> Mapping[str, SlashCommand]:
    """The commands that there are by name, each group together."""
    every = (*_KERNEL, *(each for feature in features() for each in feature.slash_commands))
    return {each.name: each for group in get_args(Group) for each in every if each.group == group}


def groups() -> Mapping[Group, tuple[SlashCommand, ...]]:
    """The commands that there are, by the group in which the help lists them."""
    every = slash_commands().values()
    return {group: tuple(each for each in every if each.group == group) for group in get_args(Group)}


def find_command(words: str) -> tuple[SlashCommand | None, str]:
    """The command that is meant, and the rest of the line; None for a task. Raises UsageError."""
    name, _, rest = words.strip().removeprefix("/").partition(" ")
    if not words.startswith("/"):
        found = slash_commands().get(name)
        return (found, rest.strip()) if found and _is_bare(found, rest.split()) else (None, "")
    if name in slash_commands():
        return slash_commands()[name], rest.strip()
    if "/" in name:  # a path, with which a task begins
        return None, ""
    close = difflib.get_close_matches(name, slash_commands(), 1)
    hint = f"did you mean /{close[0]}?" if close else "/help lists what there is."
    raise UsageError(f"There is no /{name}; {hint}")


def _is_bare(command: SlashCommand, words: Sequence[str]) -> bool:
    """True where these words may follow a command without its slash: most sentences are tasks."""
    if command.bare and command.takes == "setting" and words:
        return has_value(words[0])
    return command.bare and len(words) <= command.bare_words


def split_arguments(rest: str) -> list[str]:
    """The words as a shell would part them. Raises UsageError for a quote that nobody closed."""
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise UsageError(f"A quote is not closed in {rest!r}.") from error
