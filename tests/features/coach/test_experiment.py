"""Replays give way to a person's task, and what they decide holds on the person's own tasks."""

import asyncio
from pathlib import Path

import pytest

from agreeing import agree
from kith.core.events import Options, RunEnded, RunStarted
from kith.core.run import Run, new_id
from kith.features.coach.experiment import Experiment, Recorded, ReplayResult, in_peace, is_busy, try_out
from kith.features.coach.strategy import Levers, Strategy
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session
from kith.trees.local import open_tree
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


@pytest.mark.parametrize(("own_loses", "verdict"), [(True, "refuse"), (False, "accept")])
def test_what_wins_on_exercises_is_given_up_where_it_loses_on_own_tasks(
    tmp_path: Path, own_loses: bool, verdict: str
) -> None:
    champion, other = Strategy(), Strategy(levers=Levers(edits="whole"))
    own = [Recorded(f"own {number}", "docs", ("true",), "/r", "c") for number in range(4)]
    bundled = [
        Recorded(f"bundled {number}", "docs", ("true",), exercise=f"e{number}") for number in range(40)
    ]

    async def replay(task: Recorded, strategy: Strategy) -> ReplayResult:
        wins = strategy is other
        return ReplayResult(wins != (own_loses and not task.exercise))

    (root := tmp_path / "project").mkdir()
    run = Run(lambda event, path: None, agree, open_tree(root, tmp_path / "state", tmp_path / "cache"))
    trial = Experiment("d", "m", "docs", champion, other, {})
    decision = asyncio.run(try_out(run, trial, [*own, *bundled], replay, lambda: True))
    assert decision.verdict == verdict
