"""Replays give way: a person's task comes first."""

import asyncio
from pathlib import Path

from kith.core.events import Options, RunEnded, RunStarted
from kith.core.run import new_id
from kith.features.coach.experiment import in_peace, is_busy
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session
from waiting import soon


def test_a_task_that_is_at_work_makes_the_machine_busy(tmp_path: Path) -> None:
    log = Log(tmp_path / LOG_FILE)
    assert not is_busy(log)
    with Session(log, new_id()) as session:
        assert not is_busy(log)  # a conversation in which nothing was asked
        session.emit(RunStarted("task", "/", "m", "1"))
        assert is_busy(log)
        session.emit(RunEnded("done", ""))
        assert not is_busy(log)
        session.emit(RunStarted("replay", "/", "m", "1", Options("replay")))
        assert not is_busy(log)


def test_what_a_task_interrupts_is_done_again(tmp_path: Path) -> None:
    log, begun, ended = Log(tmp_path / LOG_FILE), list[int](), list[int]()

    async def work() -> str:
        begun.append(1)
        try:
            await asyncio.sleep(0 if len(begun) > 1 else 600)
        finally:
            ended.append(1)
        return "done"

    async def both() -> str:
        doing = asyncio.ensure_future(in_peace(log, work, 0.05))
        await soon(lambda: begun)
        with Session(log, new_id()) as session:
            session.emit(RunStarted("task", "/", "m", "1"))
            await soon(lambda: ended)
            assert (begun, ended) == ([1], [1])  # it gave way
            session.emit(RunEnded("done", ""))
        return await doing

    assert asyncio.run(both()) == "done"
    assert len(begun) == 2
