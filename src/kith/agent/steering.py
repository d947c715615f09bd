"""Steer a running session from any screen: questions, answers, messages and stops.

The process that works on a session asks its own screen, and reads the session's inbox at the same time. The
first answer wins, from any screen.
"""

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from kith.core.events import Notice
from kith.core.run import Answerer, Hear
from kith.core.values import Answer, Change, Changes, Kept, Question
from kith.edits import keep_hunks, split_hunks
from kith.memory.inbox import Inbox, StopAsked
from kith.memory.session import Session

T = TypeVar("T")
_LOOK_S = 0.1  # between two looks into the inbox, which cost some microseconds each


def shared(session: Session, own: Answerer) -> Answerer:
    """An answerer that takes the first answer to a question: of the process's own screen, or of another."""
    inbox = Inbox(session.log, session.id)

    async def answer(question: Question) -> Answer:
        asking = asyncio.ensure_future(own(question))
        try:
            while not asking.done():
                if given := inbox.answer_to(question.id):
                    await _end(asking)  # its prompt leaves the screen before anything is said
                    return _taken(session, question, given)
                await asyncio.wait([asking], timeout=_LOOK_S)
            said = await asking  # a cancellation at the prompt passes on
        finally:
            await _end(asking)
        said = replace(said, by=said.by or "the terminal")
        # Without contents: those stay with the process that holds them.
        if inbox.claim(question.id, session.strip(replace(said, changes=None))):
            return said
        given = inbox.answer_to(question.id)
        return _taken(session, question, given) if given else said

    return answer


async def nobody_here(question: Question) -> Answer:
    """The answerer of a process without a screen: answers come from elsewhere."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets this event")


def _taken(session: Session, question: Question, given: Answer) -> Answer:
    """The answer from another screen, with the contents it refers to."""
    words = f"Answered in {given.by or 'another screen'}: {given.choice}."
    session.emit(Notice(words, topic="answered"))
    if given.choice != "some" and not (given.choice == "revise" and given.kept):
        return given
    return replace(given, changes=keep_pieces(question.changes, given.kept))


def keep_pieces(changes: Changes, kept: Sequence[Kept]) -> Changes:
    """Of each file the pieces with these numbers (those of `split_hunks`); files without any are left out."""
    wanted = {each.path: set(each.hunks) for each in kept}
    found: list[Change] = []
    for change in changes:
        known = set(range(len(split_hunks(change))))
        numbers = wanted.get(change.path, set()) & known
        if change.path in wanted and numbers == known:
            found.append(change)
        elif numbers:
            found.append(keep_hunks(change, numbers))
    return tuple(found)


def hearing(session: Session) -> Hear:
    """Yield messages to the model while it works; each is logged and marked as heard in one step."""
    inbox = Inbox(session.log, session.id)

    def hear() -> Iterator[str]:
        for number, letter in inbox.waiting():
            if letter.steers:
                with session.at_once():
                    yield letter.words
                    inbox.heard(number)

    return hear


async def until_stopped(session: Session, work: Awaitable[T]) -> T:
    """Do the work, unless somebody asks elsewhere for an end: that cancels it, like Ctrl-C."""
    inbox = Inbox(session.log, session.id)
    working = asyncio.ensure_future(work)
    try:
        while not working.done():
            await asyncio.wait([working], timeout=_LOOK_S)
            if not working.done() and (stop := inbox.take_stop()):
                session.emit(Notice(_stop_words(stop)))
                working.cancel()
        return await working
    finally:
        await _end(working)


def _stop_words(stop: StopAsked) -> str:
    said = "; ".join(letter.words for letter in stop.unheard if letter.words)
    unheard = f" The model was not told: {said}" if said else ""
    return f"Stopped from {stop.by or 'another screen'}.{unheard}"


async def _end(task: "asyncio.Future[T]") -> None:
    """Let a task end that is not needed any more; what it raises then is nobody's."""
    if not task.done():
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
