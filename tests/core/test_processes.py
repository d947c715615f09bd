"""Processes beside the event loop: whatever they leave in their pipes, nobody waits for them for ever."""

import ast
import asyncio
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from kith.core import event_loop
from kith.core.processes import Started, Watch, run_program, start

SOURCE = Path(__file__).parents[2] / "src" / "kith"
T = TypeVar("T")
FILLS = "import os, time; os.write(1, b'x' * 60_000); os.write(1, b'x' * 10_000_000); time.sleep(60)"
ONLY_WAITS = "import time; time.sleep(60)"


def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(seconds):
            return await work

    return asyncio.run(bounded())


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


async def cancelled(work: Coroutine[Any, Any, Any]) -> float:
    """How long work takes to end that is cancelled once it is well under way."""
    task = asyncio.ensure_future(work)
    await asyncio.sleep(0.5)
    task.cancel()
    began = time.monotonic()
    await asyncio.wait([task], timeout=8)
    assert task.cancelled()
    return time.monotonic() - began


@pytest.mark.parametrize("code", [FILLS, ONLY_WAITS])
def test_a_program_that_is_cancelled_ends_at_once(code: str) -> None:
    assert within(20, cancelled(run_program(python(code), seconds=60))) < 2


def test_a_program_that_reads_nothing_is_cancelled() -> None:
    work = run_program(python(ONLY_WAITS), seconds=60, input=b"x" * 10_000_000)
    assert within(20, cancelled(work)) < 2


def test_a_program_out_of_time_leaves_no_process() -> None:
    async def overrun() -> int | None:
        process = await start(Watch, python(FILLS), stdout=asyncio.subprocess.PIPE)
        await process.end()
        return process.code

    with pytest.raises(TimeoutError):
        within(20, run_program(python(FILLS), seconds=0.5))
    assert within(20, overrun()) == -9


def test_a_child_that_holds_the_output_is_not_waited_for() -> None:
    code = "import os, subprocess; subprocess.Popen(['sleep', '8']); os.write(1, b'words')"
    began = time.monotonic()
    ended = within(20, run_program(python(code), seconds=20))
    assert ended.stdout == b"words" and time.monotonic() - began < 8


def test_what_is_printed_comes_whole() -> None:
    code = "import sys; sys.stdout.write('x' * 3_000_000); sys.stderr.write('y'); sys.exit(3)"
    ended = within(20, run_program(python(code), seconds=20))
    assert (ended.code, len(ended.stdout), ended.stderr) == (3, 3_000_000, b"y")


@pytest.mark.parametrize("leave", [Started.kill, Started.terminate, Started.let_go])
def test_a_process_that_ends_when_it_is_left_keeps_its_exit_code(
    leave: Callable[[Started[Watch]], None], caplog: pytest.LogCaptureFixture
) -> None:
    async def some() -> set[int | None]:
        processes = [await start(Watch, ["true"]) for _ in range(25)]
        for process in processes:
            leave(process)
        for process in processes:
            await process.watch.exited.wait()
            await process.end()
        return {process.code for process in processes}

    codes = {code for _ in range(6) for code in within(30, some())}
    assert codes <= {0, -9, -15}  # 255: somebody else was told of the end
    assert not caplog.records


def test_no_other_module_starts_processes_in_the_loop() -> None:
    wanted = {"create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell"}
    found = {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in wanted
    }
    assert found == {"core/processes.py"}


# --- the end of a loop ---------------------------------------------------------------------------


async def hang() -> None:
    """A task that no cancellation ends."""
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue


def test_a_task_that_will_not_end_is_left_behind(capfd: pytest.CaptureFixture[str]) -> None:
    async def work() -> str:
        task = asyncio.ensure_future(hang())
        await asyncio.sleep(0)
        assert not await event_loop.leave(task, seconds=0.1)
        return "done"

    began = time.monotonic()
    assert event_loop.run_loop(work()) == "done"
    assert time.monotonic() - began < 2 * event_loop.LEAVE_S
    assert capfd.readouterr() == ("", "")


def test_a_thread_that_hangs_does_not_hold_up_python() -> None:
    code = (
        "import asyncio, time; from kith.core.event_loop import run_loop\n"
        "async def work():\n"
        "    task = asyncio.ensure_future(asyncio.to_thread(time.sleep, 60)); await asyncio.sleep(0.1)\n"
        "    return print('done', await asyncio.to_thread(lambda: 1))\n"
        "run_loop(work())"
    )
    ended = within(20, run_program(python(code), seconds=15))
    assert (ended.code, ended.stdout, ended.stderr) == (0, b"done 1\n", b"")


def test_errors_in_threads_reach_who_waits_for_them() -> None:
    async def work() -> None:
        await asyncio.to_thread(lambda: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        event_loop.run_loop(work())


def test_every_command_ends_its_loop_within_bounds() -> None:
    found = [
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("asyncio.run", "asyncio.Runner")
    ]
    assert found == ["core/event_loop.py"]
