"""Every command of a conversation: what it is called, what follows it, what it is for, where it is done."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from kith.terminal.conversation.talk import Talk

# What a command's first word is, for those who complete it.
Takes = Literal[
    "", "command", "model", "mode", "session", "setting", "role", "skill", "template", "file", "git"
]


@dataclass(frozen=True, slots=True)
class Command:
    """A command: what follows it (`rest`), what it is for, `more` of that, and the function that does it.

    `place` is a module beside this one and its function, which is loaded when it is called. `bare`: it may be
    said without its slash where nothing else stands on the line (words that people know). `anytime`: it only
    looks, and waits for no work. `same_as`: another name for that command.
    """

    name: str
    meaning: str
    place: str
    rest: str = ""
    bare: bool = False
    anytime: bool = False
    takes: Takes = ""
    same_as: str = ""
    more: str = ""

    async def do(self, talk: "Talk", rest: str) -> None:
        """Carry it out with the rest of the line. Raises KithError."""
        module, _, function = self.place.partition(":")
        found = import_module(f"kith.terminal.conversation.commands.{module}")
        await getattr(found, function)(talk, rest)


_WORK: Final = (
    Command(
        "plan",
        "plan first, and ask; without a task: plan mode",
        "tasks:plan",
        "[TASK]",
        more="The model reads and plans; you agree, or say what to plan differently, and then it works.",
    ),
    Command(
        "retry",
        "do the last task again",
        "tasks:retry",
        "[WORDS]",
        more="WORDS are added to it: what was missing, or what to do differently. Files stay as they are.",
    ),
    Command(
        "continue",
        "go on with a task that was cut short",
        "sessions:go_on",
        "[WORDS]",
        more="In its own trial, with all that it had done there; the model hears WORDS first.",
    ),
    Command(
        "run",
        "run a command in a trial, the same as !COMMAND",
        "tasks:run",
        "COMMAND",
        more="The model is told of it with your next words; !!COMMAND keeps it from the model.",
    ),
    Command(
        "review",
        "say what is wrong with a change",
        "tasks:review",
        "[COMMIT]",
        more="Without a COMMIT (or a range such as main..HEAD) it is what is not committed. Linters and the "
        "model look; what holds is shown, and the model knows it with your next words. --apply proposes "
        "what was suggested as one change.",
    ),
    Command(
        "test",
        "write tests that notice planted faults",
        "tasks:test",
        "[TARGET]",
        takes="file",
        more="TARGET is a file, file::function or file::Class.method; without one: what is not committed.",
    ),
    Command(
        "panel",
        "let several models confer",
        "tasks:panel",
        "WORDS",
        more="Tools check what they claim, and the next task knows the outcome. Esc once lets them decide. "
        "Who confers: /config confer.models",
    ),
    Command(
        "template",
        "do a common task",
        "tasks:template",
        "[NAME ...]",
        takes="template",
        more="NAME is followed by name=value words; what is missing is asked for. Without NAME: the list.",
    ),
    Command(
        "init",
        "write an AGENTS.md from a scan",
        "tasks:init",
        more="Commands, layout and conventions that were found; you see the diff, and say yes or no.",
    ),
)
_CHANGE: Final = (
    Command(
        "diff",
        "the change that waits, or the last one",
        "changes:diff",
        "[PATH ...]",
        anytime=True,
        more="The ID of another session in place of PATH shows the change that waits there.",
    ),
    Command(
        "apply",
        "apply a change that waits",
        "changes:apply",
        "[ID]",
        takes="session",
        more="A change that was not applied waits in its trial. It is checked again on your files as they "
        "are now, and you are asked. ID is another session: kith sessions shows where one waits.",
    ),
    Command("discard", "throw away a change that waits", "changes:discard", "[ID]", takes="session"),
    Command(
        "undo",
        "take a change back",
        "changes:undo",
        "[ID]",
        more="The last one, or the one with this id. Later edits stay. /redo brings it again.",
    ),
    Command("redo", "bring again what was taken back last", "changes:redo"),
    Command(
        "git",
        "look at the repository: its status, log, diffs and more",
        "changes:git",
        "[ARGUMENTS]",
        takes="git",
        anytime=True,
        more="Only what looks: nothing is written, and no program of the repository is started.",
    ),
)
_TALK: Final = (
    Command("todo", "the model's list", "window:todo", anytime=True),
    Command(
        "context",
        "what fills the model's window",
        "window:context",
        anytime=True,
        more="Estimated, or counted by the server where it can; /compact makes room.",
    ),
    Command(
        "compact",
        "sum up the conversation now, to make room",
        "window:compact",
        more="The model sums up; the task and what it changed, ran and read are kept. The log keeps all.",
    ),
    Command("details", "what the tools said in full (Ctrl-O)", "window:details", anytime=True),
    Command(
        "copy",
        "copy the last answer",
        "window:copy",
        "[code|diff]",
        anytime=True,
        more="To the clipboard of this machine, or of your terminal (OSC 52). `code`: the last block of "
        "code in it, `diff`: the last change.",
    ),
    Command(
        "export",
        "write the conversation to a file",
        "sessions:export",
        "[FILE]",
        takes="file",
        more="FILE ends in .md, .html or .json; without one it is kith-ID.md in this folder.",
    ),
    Command("rename", "give the conversation a name", "sessions:rename", "[NAME]"),
    Command(
        "save",
        "conversations are saved as they happen",
        "sessions:save",
        "[NAME]",
        bare=True,
        more="Says under which id; with a NAME, gives it that name.",
    ),
)
_TALKS: Final = (
    Command("new", "begin a new conversation", "sessions:new"),
    Command("clear", "begin a new conversation", "sessions:new", bare=True, same_as="new"),
    Command(
        "sessions",
        "what was done here; pick one to go on with",
        "sessions:sessions",
        "[WORDS]",
        more="With WORDS, those in whose id, name, tasks or last words all of them stand.",
    ),
    Command(
        "resume",
        "go on with another conversation",
        "sessions:resume",
        "[ID]",
        takes="session",
        more="By its id, or the beginning of one; without it you pick. What had been cut short goes on.",
    ),
    Command(
        "load",
        "go on with another conversation",
        "sessions:resume",
        "[ID]",
        bare=True,
        takes="session",
        same_as="resume",
    ),
    Command(
        "fork",
        "go on in a copy of this conversation",
        "sessions:fork",
        "[TURN]",
        more="TURN is a number from /back: the copy then ends before it. Files stay as they are.",
    ),
    Command(
        "back",
        "go back to an earlier turn (Esc Esc)",
        "sessions:back",
        "[TURN]",
        more="In a copy: the conversation as it is stays. Files go back too, if you want. The words of the "
        "turn come into the line, to be written anew.",
    ),
    Command(
        "delete", "forget a conversation for good", "sessions:delete", "[ID]", bare=True, takes="session"
    ),
)
_MODELS: Final = (
    Command(
        "model",
        "show or choose the model",
        "models:model",
        "[NAME]",
        takes="model",
        more="Without a NAME you pick from a list. `route`: kith chooses for each task.",
    ),
    Command("models", "list the models that can be asked", "models:models", anytime=True),
    Command(
        "profile",
        "what was measured of models here",
        "models:profile",
        "[MODEL]",
        anytime=True,
        takes="model",
    ),
    Command(
        "why", "which models were asked here, and why", "models:why", "[ID]", anytime=True, takes="session"
    ),
)
_KITH: Final = (
    Command(
        "mode",
        "ask, plan (read-only) or auto (Shift-Tab)",
        "setup:mode",
        "[MODE]",
        anytime=True,
        takes="mode",
        more="ask: you are asked where it matters. plan: the model looks and answers, nothing is changed. "
        "auto: in the trial everything goes, and you are asked once, about the change.",
    ),
    Command(
        "config",
        "what is set and where it came from, or set it",
        "setup:config",
        "[KEY [VALUE]]",
        bare=True,
        takes="setting",
        more="KEY shows that one, or all of its table; `all` shows everything. A VALUE is written into "
        "your configuration, and counts from now on.",
    ),
    Command("roles", "who works, and in which words", "setup:roles", "[NAME]", anytime=True, takes="role"),
    Command(
        "skills", "what models can read up on here", "setup:skills", "[NAME]", anytime=True, takes="skill"
    ),
    Command("hooks", "commands that run around the work", "setup:hooks", anytime=True),
    Command("mcp", "servers of tools, and what they cost", "setup:mcp"),
    Command("doctor", "check servers, sandbox and folders", "setup:doctor"),
    Command(
        "help",
        "this list, or more about one command",
        "help:help",
        "[COMMAND]",
        bare=True,
        anytime=True,
        takes="command",
    ),
    Command("quit", "leave (Ctrl-D)", "help:leave", bare=True, anytime=True),
    Command("exit", "leave (Ctrl-D)", "help:leave", bare=True, anytime=True, same_as="quit"),
)
GROUPS: Final[dict[str, tuple[Command, ...]]] = {
    "Work": _WORK,
    "The change": _CHANGE,
    "This conversation": _TALK,
    "Conversations": _TALKS,
    "Models": _MODELS,
    "kith": _KITH,
}
COMMANDS: Final[dict[str, Command]] = {each.name: each for group in GROUPS.values() for each in group}
