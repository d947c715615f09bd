"""What a model had said when it was stopped stays in its conversation."""

import asyncio
from pathlib import Path

import pytest

from kith.agent.partial_reply import keep_partial
from kith.core.events import Called, Delta, Event, Said
from kith.core.values import Message, say
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session

STEP = ("attempt 1",)


async def stopped_after(session: Session, *told: tuple[Event, tuple[str, ...]]) -> None:
    async def work() -> None:
        for event, path in told:
            session.emit(event, path)
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await keep_partial(session, "task", work())


def last_message(session: Session) -> Message:
    messages: list[Message] = session.past().threads["task"]
    return messages[-1]


def test_stopping_keeps_what_was_streamed(tmp_path: Path) -> None:
    with Session(Log(tmp_path / LOG_FILE), "s") as session:
        asyncio.run(
            stopped_after(
                session,
                (Said("task", say("Look")), STEP),
                (Delta("Gone.\n\n"), STEP),
                (Called("m", "edit", 1, stop="error"), STEP),
                (Delta("Hm.", "thinking"), STEP),
                (Delta("Two "), STEP),
                (Delta("elsewhere "), ("plan",)),
                (Delta("words\n\n"), STEP),
            )
        )
        kept = last_message(session)
        assert (kept.role, kept.text.strip(), kept.complete) == ("assistant", "Two words", False)


def test_nothing_is_kept_of_another_thread_or_a_whole_reply(tmp_path: Path) -> None:
    with Session(Log(tmp_path / LOG_FILE), "s") as session:
        whole = Message("assistant", say("All.").parts, "m")
        asyncio.run(
            stopped_after(
                session,
                (Said("task", say("Look")), STEP),
                (Delta("All.\n"), STEP),
                (Said("task", whole), STEP),
                (Said("plan", say("Plan")), STEP),
                (Delta("A plan.\n"), STEP),
            )
        )
        assert last_message(session) == whole
