"""The queue before the model: never more inside than may be, never more waiting, and nobody is forgotten."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.features.gateway.openai_replies import TurnedAwayError
from kith.features.gateway.request_queue import RequestQueue


@given(
    st.integers(1, 3),
    st.integers(0, 4),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=20),
)
def test_everybody_gets_a_turn_or_a_no(parallel: int, room: int, visits: list[tuple[int, int]]) -> None:
    """`visits`: how long each stays, and after how many steps it loses patience (0: never)."""

    async def scene() -> None:
        queue, inside, most, turned_away = RequestQueue(room), 0, 0, 0

        async def visit(steps: int) -> None:
            nonlocal inside, most, turned_away
            try:
                async with queue.turn():
                    inside += 1
                    most = max(most, inside)
                    assert queue.waiting <= room
                    try:
                        for _ in range(steps):
                            await asyncio.sleep(0)
                    finally:
                        inside -= 1
            except TurnedAwayError as error:
                turned_away += 1
                assert error.status == 429 and error.wait_s > 0

        tasks = []
        for number, (steps, patience) in enumerate(visits):
            tasks.append(asyncio.ensure_future(visit(steps)))
            if patience:
                asyncio.get_running_loop().call_soon(tasks[-1].cancel)
            if number == len(visits) // 2:
                queue.open(parallel)
            await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await asyncio.gather(*tasks, return_exceptions=True)
        assert not any(isinstance(task.exception(), AssertionError) for task in tasks if not task.cancelled())
        assert (queue.running, queue.waiting, inside) == (0, 0, 0) and most <= parallel

    asyncio.run(scene())


def test_an_end_sends_away_who_waits_and_spares_who_is_in() -> None:
    async def scene() -> None:
        queue, let_go = RequestQueue(5), asyncio.Event()
        queue.open(1)

        async def visit() -> str:
            async with queue.turn():
                await let_go.wait()
                return "done"

        inside, waiting = asyncio.ensure_future(visit()), asyncio.ensure_future(visit())
        await asyncio.sleep(0)
        queue.close()
        with pytest.raises(TurnedAwayError, match="about to end"):
            await waiting
        with pytest.raises(TurnedAwayError):
            await visit()
        let_go.set()
        assert await inside == "done"

    asyncio.run(scene())
