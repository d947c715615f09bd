"""Going back: a copy of the conversation, whole or as it was before a turn."""

from collections.abc import Sequence

from kith.agent.forks import Fork, files_since, go_back
from kith.agent.forks import fork as copy_session
from kith.core.errors import UsageError
from kith.memory.applied import short_id
from kith.memory.turns import SessionTurn, turns
from kith.terminal.conversation.commands.sessions import SHORT, need_words, when
from kith.terminal.conversation.talk import Talk
from kith.terminal.rendering.panels import in_rows
from kith.view.lines import count
from kith.view.printing import printable


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
        talk.say(f"Took {short_id(undone.undoes)} back: {count(len(undone.files), 'file')}.", "green")
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
    talk.say(f"A copy, {made.id[:SHORT]}. The conversation as it was: /resume {before[:SHORT]}", "dim")
