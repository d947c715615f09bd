"""The change of a conversation: shown, applied after all, thrown away, undone; and a look at git."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from textwrap import shorten
from typing import Final

from msgspec.structs import replace

from kith.agent.permits import look_with_git
from kith.agent.waiting_changes import (
    apply_in,
    apply_waiting,
    discard_waiting,
    find_waiting,
    read_waiting,
)
from kith.core.errors import UsageError
from kith.core.events import Applied
from kith.core.feature import Lazy, SlashCommand
from kith.core.run import SHORT
from kith.core.trial_names import trials_of
from kith.core.values import Answer, FileChange, Question
from kith.edits import summarise
from kith.memory.applied import find_applied, find_undone, holds, short_id
from kith.memory.turns import turns
from kith.terminal.conversation.slash_commands import split_arguments
from kith.terminal.conversation.talk import Talk
from kith.terminal.rendering.diffs import changes_lines
from kith.terminal.rendering.panels import pairs_lines
from kith.terminal.rendering.spans import words
from kith.terminal.reverting import offer_revert
from kith.view.lines import count, shortened
from kith.view.printing import printable

COMMANDS: Final = (
    SlashCommand(
        "diff",
        "The change",
        "the change that waits, or the last one",
        Lazy(f"{__name__}:diff"),
        rest="[PATH ...]",
        anytime=True,
        more="The ID of another session in place of PATH shows the change that waits there.",
    ),
    SlashCommand(
        "apply",
        "The change",
        "apply a change that waits",
        Lazy(f"{__name__}:apply"),
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
        Lazy(f"{__name__}:discard"),
        rest="[ID]",
        takes="session",
    ),
    SlashCommand(
        "undo",
        "The change",
        "undo a change",
        Lazy(f"{__name__}:undo"),
        rest="[ID]",
        more="The last one, or the one with this id. Later edits stay. /redo brings it again.",
    ),
    SlashCommand("redo", "The change", "restore what was undone last", Lazy(f"{__name__}:redo")),
    SlashCommand(
        "git",
        "The change",
        "look at the repository: its status, log, diffs and more",
        Lazy(f"{__name__}:git"),
        rest="[ARGUMENTS]",
        takes="git",
        anytime=True,
        more="Only what looks: nothing is written, and no program of the repository is started.",
    ),
)


_MOST: Final = 400  # lines of each file's diff; of files that are named, all
_NAMED: Final = 100_000
_TASK: Final = 50  # characters of a task in a line
_ROLES: Final = {"+": "diff.added", "-": "diff.removed", "@": "diff.place"}


# --- the change that waits, or the last one --------------------------------------------------


async def diff(talk: Talk, rest: str) -> None:
    """Show the change that waits, else the last one that was applied. Raises UsageError for no such file."""
    wanted = split_arguments(rest)
    if len(wanted) == 1 and (waiting := _waiting_elsewhere(talk, wanted[0])):
        files, wanted = _files_of(talk, waiting), []
        head = f"Not applied. To have it: /apply {rest}, to throw it away: /discard {rest}"
    else:
        head, files = await _newest(talk)
    if wanted:
        files = [file for file in files if any(_is_meant(file.path, each) for each in wanted)]
        if not files:
            raise UsageError(f"The change has no file {' or '.join(wanted)}.")
    if not files:
        talk.say("Nothing was changed yet.")
        return
    screen = talk.terminal
    most = _NAMED if wanted else _MOST
    screen.show_lines(changes_lines(files, screen.width, screen.look.glyphs, most=most))
    talk.say(head, "dim")


def _waiting_elsewhere(talk: Talk, wanted: str) -> str:
    """The trial of another session, if the word is an id that begins so, and a change waits there."""
    found = [each.name for each in talk.project.tree.waiting() if each.session.startswith(wanted)]
    return found[-1] if found and len(wanted) >= SHORT else ""


def _files_of(talk: Talk, name: str) -> Sequence[FileChange]:
    return summarise(talk.project.tree.waiting_change(name))


async def _newest(talk: Talk) -> tuple[str, Sequence[FileChange]]:
    """The newest change, and its state."""
    project = talk.project
    if talk.at_work:  # its trial is in use
        files = talk.past.proposed
        return ("Not applied yet: the task goes on.", files) if files else await _applied(talk)
    if waiting := await read_waiting(project, talk.id):
        return "Not applied. To have it: /apply, to throw it away: /discard", summarise(waiting)
    return await _applied(talk)


async def _applied(talk: Talk) -> tuple[str, Sequence[FileChange]]:
    every = talk.project.log.applied(str(talk.project.root))
    own = [each for session, each in every if session == talk.id and not each.undoes]
    if not own:
        return "", ()
    last = own[-1]
    if holds(every, last.change_id):
        return f"Applied as {short_id(last.change_id)}. Undo: /undo", last.files
    return "Applied, and undone since. Redo: /redo", last.files


def _is_meant(path: str, wanted: str) -> bool:
    name = wanted.removeprefix("@").removeprefix("./").rstrip("/")
    return path == name or path.startswith(f"{name}/") or fnmatchcase(path, name)


async def apply(talk: Talk, rest: str) -> None:
    """Check the change that waits, and ask for it again; words in place of a yes are the next task."""
    said: list[str] = []
    waiting = await find_waiting(talk.project, rest or trials_of(talk.id))

    async def answer(question: Question) -> Answer:
        given = await talk.answer(question)
        said.extend([given.text] if given.choice == "revise" else [])
        return replace(given, choice="none") if given.choice == "revise" else given

    if waiting.session == talk.id:
        with talk.session() as session:
            result = await apply_in(talk.project, session, waiting, answer)
    else:
        result = await apply_waiting(talk.project, waiting, answer, [talk.hear])
    talk.show_result(result)
    for each in said:
        talk.submit(each)


async def discard(talk: Talk, rest: str) -> None:
    """Throw the change that waits away, once the person has said yes. Raises UsageError where none does."""
    waiting = await find_waiting(talk.project, rest or trials_of(talk.id))
    files = [change.path for change in talk.project.tree.waiting_change(waiting.name)]
    named = printable(", ".join(files[:3])) + (f" and {len(files) - 3} more" if files[3:] else "")
    if await talk.terminal.press(f"Throw away the change of {named}?  [y]es  [n]o", "yn") != "y":
        return
    gone = await discard_waiting(talk.project, waiting)
    talk.say(f"Discarded the change of {count(len(gone), 'file')}. Your files stay as they are.")


# --- back and forth --------------------------------------------------------------------------


async def undo(talk: Talk, rest: str) -> None:
    """Undo the last change of this folder, or the one that is named. Raises KithError."""
    if not rest:
        last = find_applied(talk.project.log.applied(str(talk.project.root)), gone=talk.project.log.gone())
        if not await _is_agreed(talk, last, last.change_id, "Undo it?"):
            return
    undone = await talk.project.undo(rest)
    _tell_files(talk, undone)
    talk.say(f"Undid {short_id(undone.undoes)}. /redo restores it.", "green")

    async def agree(question: str) -> bool:
        return await talk.terminal.press(f"{question}  [y]es  [n]o", "yn") == "y"

    if told := await offer_revert(talk.project, undone, agree):
        talk.say(told)


async def redo(talk: Talk, rest: str) -> None:
    """Restore what was undone last. Raises KithError."""
    taken = find_undone(talk.project.log.applied(str(talk.project.root)))
    if not await _is_agreed(talk, taken, taken.undoes, "Restore it?"):
        return
    undone = await talk.project.undo(taken.change_id)
    _tell_files(talk, undone)
    task = _task_of(talk, taken.undoes)
    of_task = f', the change of "{task}"' if task else ""
    talk.say(f"Restored {short_id(taken.undoes)}{of_task}. Undo: /undo", "green")


def _task_of(talk: Talk, change_id: str) -> str:
    """The task whose change this is, in a line; "" where the log does not say."""
    log = talk.project.log
    every = log.applied(str(talk.project.root))
    session = next((session for session, each in every if each.change_id == change_id), "")
    said = (turn.words for turn in turns(log, session) if change_id in turn.changes)
    return printable(shorten(next(said, ""), _TASK, placeholder=" ..."))


async def _is_agreed(talk: Talk, applied: Applied, change_id: str, asked: str) -> bool:
    """True if a change was made in this conversation, or the person agrees anyway."""
    log = talk.project.log
    every = log.applied(str(talk.project.root))
    session = next((session for session, each in every if each.change_id == change_id), talk.id)
    if session == talk.id:
        return True
    title = next((each.title for each in log.sessions(None, 0, (session,))), "")
    talk.say(f'This is of another conversation, "{shortened(printable(title), 50)}":')
    _tell_files(talk, applied)
    return await talk.terminal.press(f"{asked}  [y]es  [n]o", "yn") == "y"


def _tell_files(talk: Talk, applied: Applied) -> None:
    rows = [(file.path, f"+{file.added} -{file.removed}") for file in applied.files]
    talk.terminal.show_lines(pairs_lines(rows, talk.terminal.width))


# --- git -------------------------------------------------------------------------------------


async def git(talk: Talk, rest: str) -> None:
    """Run a git command that only reads. Raises UsageError for any other."""
    ran = await look_with_git(talk.project, split_arguments(rest))
    if ran.code:
        talk.say(printable(ran.output.rstrip("\n")), "red")
        return
    lines = ran.output.rstrip("\n").split("\n") if ran.output.strip() else ["git says nothing."]
    in_diff = any(line.startswith("diff --git ") for line in lines)
    talk.terminal.show_lines([words(line, _role(line) if in_diff else "") for line in lines])


def _role(line: str) -> str:
    """The style of a line of a diff."""
    if line.startswith(("+++", "---", "diff --git ", "index ")):
        return "dim"
    return _ROLES.get(line[:1], "")
