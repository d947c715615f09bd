"""Start, find, resume, copy, rename and delete conversations."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from kith.agent.conversations import (
    Fork,
    files_since,
    find_conversation,
    forget,
    go_back,
    last_conversation,
    tell_damage,
)
from kith.agent.conversations import fork as copy_session
from kith.agent.conversations import rename as name_conversation
from kith.agent.kept_trial import waiting_sessions
from kith.core.errors import KithError, UsageError
from kith.core.feature import Lazy, SlashCommand
from kith.core.run import new_id, short_session
from kith.memory.applied import short_id
from kith.memory.listing import Summary
from kith.memory.turns import SessionTurn, turns
from kith.terminal.conversation.earlier_turns import show_earlier
from kith.terminal.conversation.talk import Talk
from kith.terminal.rendering.panels import in_rows
from kith.view.lines import count, shortened
from kith.view.printing import printable

COMMANDS: Final = (
    SlashCommand(
        "rename",
        "This conversation",
        "give the conversation a name",
        Lazy(f"{__name__}:rename"),
        rest="[NAME]",
    ),
    SlashCommand(
        "save",
        "This conversation",
        "conversations are saved as they happen",
        Lazy(f"{__name__}:save"),
        rest="[NAME]",
        bare=True,
        bare_words=1,
        more="Says under which id; with a NAME, gives it that name.",
    ),
    SlashCommand("new", "Conversations", "begin a new conversation", Lazy(f"{__name__}:new")),
    SlashCommand(
        "clear",
        "Conversations",
        "begin a new conversation",
        Lazy(f"{__name__}:new"),
        bare=True,
        same_as="new",
    ),
    SlashCommand(
        "sessions",
        "Conversations",
        "what was done here; pick one to go on with",
        Lazy(f"{__name__}:sessions"),
        rest="[WORDS]",
        more="With WORDS, those in whose id, name, tasks or last words all of them stand.",
    ),
    SlashCommand(
        "resume",
        "Conversations",
        "go on with another conversation",
        Lazy(f"{__name__}:resume"),
        rest="[ID]",
        takes="session",
        more="By its id, or the beginning of one; without it you pick. What had been cut short goes on.",
    ),
    SlashCommand(
        "load",
        "Conversations",
        "go on with another conversation",
        Lazy(f"{__name__}:resume"),
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
        Lazy(f"{__name__}:fork"),
        rest="[TURN]",
        more="TURN is a number from /back: the copy then ends before it. Files stay as they are.",
    ),
    SlashCommand(
        "back",
        "Conversations",
        "go back to an earlier turn (Esc Esc)",
        Lazy(f"{__name__}:back"),
        rest="[TURN]",
        more="In a copy: the conversation as it is stays. Files go back too, if you want. The words "
        "of the turn come into the line, to be written anew.",
    ),
    SlashCommand(
        "delete",
        "Conversations",
        "forget a conversation for good",
        Lazy(f"{__name__}:delete"),
        rest="[ID]",
        bare=True,
        takes="session",
    ),
)


_MOST: Final = 200  # conversations to pick from
_DAY_S: Final = 24 * 3600.0


# --- another conversation --------------------------------------------------------------------


async def new(talk: Talk, rest: str) -> None:
    """Begin a new conversation with the same model; the old one stays in the log."""
    before = talk.id if talk.past.started else ""
    talk.enter(new_id())
    again = f" The one before: /resume {short_session(before)}" if before else ""
    talk.say(f"A new conversation.{again}", "dim")


async def sessions(talk: Talk, rest: str) -> None:
    """List the sessions here, and resume the one that is picked."""
    if id := await _pick(talk, rest):
        await _go_into(talk, id)


async def resume(talk: Talk, rest: str) -> None:
    """Resume a conversation: by its id, its name, or one that is picked. Raises UsageError."""
    id = find_conversation(talk.project, rest).id if rest else await _pick(talk)
    if id:
        await _go_into(talk, id)


async def _go_into(talk: Talk, id: str) -> None:
    if talk.project.log.is_open(id):
        raise UsageError(f"Conversation {short_session(id)} is open in another kith.")
    talk.enter(id)
    await _show(talk)


async def go_on_with(talk: Talk, wanted: str) -> None:
    """Begin in an earlier conversation: by its id or name, the "last" one, or one to "pick"."""
    try:
        if wanted == "pick":
            id = await _pick(talk)
        elif wanted == "last":
            id = last_conversation(talk.project).id
        else:
            id = find_conversation(talk.project, wanted).id
        if id:
            talk.id = id
            await _show(talk)
    except KithError as error:
        talk.say(printable(str(error)), "red")


async def _show(talk: Talk) -> None:
    """Show the state of the conversation, and offer to resume an interrupted task."""
    past = talk.past
    if damage := tell_damage(talk.project.log, talk.id):
        talk.say(damage, "yellow")
    show_earlier(talk.voice, talk.project.log, talk.id)
    talk.voice.set_todo(past.todo)
    if past.started and past.ended is None and not talk.project.log.is_open(talk.id):
        await _offer_rest(talk)


async def _offer_rest(talk: Talk) -> None:
    """Offer to finish an interrupted task."""
    talk.say("Its last task was cut short.", "yellow")
    if await talk.terminal.press("Go on with it?  [y]es  [n]o", "yn") == "y":
        talk.submit("/continue")


async def _pick(talk: Talk, words: str = "", asked: str = "Continue which session?") -> str:
    """The id of the conversation that the person picks, "" for none."""
    found = [each for each in talk.project.log.sessions(talk.root, _MOST, words=words) if each.talks]
    if not found:
        about = f" with {printable(words)}" if words else ""
        talk.say(f"There is no conversation{about} in this folder yet.")
        return ""
    waiting = waiting_sessions(talk.project.settings.state, talk.project.root)
    rows = in_rows([_row(each, each.id in waiting) for each in found], talk.terminal.width - 4)
    at = next((number for number, each in enumerate(found) if each.id == talk.id), 0)
    chosen = await talk.terminal.pick(asked, rows, at)
    return "" if chosen is None else found[chosen].id


def _row(summary: Summary, waits: bool) -> tuple[str, str, str, str]:
    title = f"(fork) {summary.title}" if summary.source else summary.title
    title = f"(waits) {title}" if waits else title
    return short_session(summary.id), when(summary.at), summary.status, title


def when(at: float) -> str:
    """`14:05` of today, else the day."""
    moment = datetime.fromtimestamp(at)
    return moment.strftime("%H:%M" if time.time() - at < _DAY_S / 2 else "%Y-%m-%d")


# --- the present one -------------------------------------------------------------------------


def need_words(talk: Talk) -> None:
    """Raises UsageError where nothing was said yet."""
    if talk.past.started is None:
        raise UsageError("Nothing was said here yet.")


async def rename(talk: Talk, rest: str) -> None:
    """Give the conversation a name. Raises UsageError, BusyError."""
    need_words(talk)
    title = rest or await talk.terminal.type_line("Its name:", talk.past.title)
    if title.strip():
        named = printable(name_conversation(talk.project, talk.id, title))
        talk.say(f"Renamed to {named}. Resume: kith -r {short_session(talk.id)}")


async def save(talk: Talk, rest: str) -> None:
    """Say how the conversation is found again; give it a name if there is one."""
    if rest:
        need_words(talk)
        name_conversation(talk.project, talk.id, rest)
    elif talk.past.started is None:
        talk.say("Nothing was said here yet. A conversation is saved as it happens.")
        return
    title = talk.past.title
    name = f' as "{printable(title)}"' if title else ""
    id = short_session(talk.id)
    talk.say(f"Saved{name}. Resume: /resume {id}, or kith -r {id}")


async def delete(talk: Talk, rest: str) -> None:
    """Forget a conversation, once the person has said yes. Raises UsageError, BusyError."""
    project = talk.project
    id = project.log.find(rest) if rest else await _pick(talk, asked="Forget which one?")
    if not id:
        return
    title = next((each.title for each in project.log.sessions(None, 0, (id,))), "")
    talk.say(f"{short_session(id)}  {shortened(printable(title), 60)}", "bold")
    talk.say("Its changes stay in your files, and can no longer be undone.")
    if await talk.terminal.press("Forget it for good?  [y]es  [n]o", "yn") != "y":
        return
    forget(project.settings, project.log, id)
    if id == talk.id:
        talk.enter(new_id())
    talk.say(f"{short_session(id)} is gone.")


# Going back: a copy of the conversation, whole or as it was before a turn.


async def fork(talk: Talk, rest: str) -> None:
    """Go on in a copy, of everything or of what was said before a turn. Raises UsageError."""
    need_words(talk)
    made = copy_session(talk.project, talk.id, _number(rest))
    _tell_copy(talk, made)


async def back(talk: Talk, rest: str) -> None:
    """Go back before a turn, in a copy; files too if the person wants. Raises UsageError, TreeError."""
    need_words(talk)
    every = turns(talk.project.log, talk.id)
    number = _number(rest) or await _pick_turn(talk, every)
    if not number:
        return
    files = files_since(talk.project, talk.id, number)
    key = "n"
    if files:
        named = ", ".join(files[:3]) + (f" and {len(files) - 3} more" if files[3:] else "")
        talk.say(f"Since then {printable(named)} changed.")
        key = await talk.terminal.press("Take that back, too?  [y]es  [n]o, only the words  [c]ancel", "ync")
    if key == "c":
        return
    if key == "y":
        made = await go_back(talk.project, talk.id, number)
    else:
        made = copy_session(talk.project, talk.id, number)
    for undone in made.undone:
        talk.say(f"Undid {short_id(undone.undoes)}: {count(len(undone.files), 'file')}.", "green")
    _tell_copy(talk, made)
    talk.terminal.prefill(made.words)


def _number(rest: str) -> int:
    """The number of a turn, 0 for none. Raises UsageError."""
    if rest and not rest.isdigit():
        raise UsageError(f"A turn is a number, not {rest!r}; /back lists them.")
    return int(rest or 0)


async def _pick_turn(talk: Talk, every: Sequence[SessionTurn]) -> int:
    rows = [(str(each.number), when(each.at), _what(each)) for each in every]
    shown = in_rows(rows, talk.terminal.width - 4)
    chosen = await talk.terminal.pick("Go back to before which turn?", shown, len(rows) - 1)
    return 0 if chosen is None else every[chosen].number


def _what(turn: "SessionTurn") -> str:
    files = f"  ({count(len(turn.files), 'file')} changed)" if turn.files else ""
    return f"{turn.words}{files}"


def _tell_copy(talk: Talk, made: Fork) -> None:
    before = talk.id
    talk.enter(made.id)
    talk.voice.set_todo(talk.past.todo)
    was = f"/resume {short_session(before)}"
    talk.say(f"A copy, {short_session(made.id)}. The conversation as it was: {was}", "dim")
