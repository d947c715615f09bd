"""Processes beside the event loop: whatever they leave in their pipes, nobody waits for them for ever."""

import ast
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from kith.core import event_loop
from kith.core.processes import Started, Watch, run_program, start
from waiting import soon

SOURCE = Path(__file__).parents[2] / "src" / "kith"
T = TypeVar("T")
FILLS = "import os, time; os.write(1, b'x' * 60_000); os.write(1, b'x' * 10_000_000); time.sleep(600)"
ONLY_WAITS = "import time; time.sleep(600)"


def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(seconds):
            return await work

    return asyncio.run(bounded())


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


async def cancel(work: Coroutine[Any, Any, Any], begun: Path) -> None:
    """Cancel work that is under way, which is when its program has made a file."""
    task = asyncio.ensure_future(work)
    await soon(begun.exists)
    task.cancel()
    await asyncio.wait([task], timeout=60)
    assert task.cancelled()


@pytest.mark.parametrize("code", [FILLS, ONLY_WAITS])
@pytest.mark.parametrize("given", [None, b"x" * 10_000_000])
def test_a_program_that_is_cancelled_ends_at_once(code: str, given: bytes | None, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    program = python(f"open({str(begun)!r}, 'w'); {code}")
    within(90, cancel(run_program(program, seconds=600, input=given), begun))


def test_a_start_that_is_cancelled_twice_leaves_no_process() -> None:
    class Noted(Watch):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            made.append(transport)

    async def cancel_twice(before: int, between: int) -> None:
        starting = asyncio.ensure_future(start(Noted, python(ONLY_WAITS), stdout=asyncio.subprocess.PIPE))
        for turns in (before, between):
            for _ in range(turns):
                await asyncio.sleep(0)
            starting.cancel()
        await asyncio.wait([starting])
        for each in made:
            await soon(lambda each=each: each.get_returncode() is not None)

    made: list[Any] = []
    for before, between in ((2, 1), (3, 2), (5, 3)):
        within(60, cancel_twice(before, between))
    assert made


def test_a_program_out_of_time_leaves_no_process() -> None:
    async def overrun() -> int | None:
        process = await start(Watch, python(FILLS), stdout=asyncio.subprocess.PIPE)
        await process.end()
        return process.code

    with pytest.raises(TimeoutError):
        within(60, run_program(python(FILLS), seconds=0.2))
    assert within(60, overrun()) == -9


@pytest.mark.slow
def test_a_child_that_holds_the_output_is_not_waited_for() -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid)"
    ended = within(60, run_program(python(code), seconds=60))
    os.kill(int(ended.stdout), signal.SIGKILL)  # it still runs


def test_what_is_printed_comes_whole() -> None:
    code = "import sys; sys.stdout.write('x' * 3_000_000); sys.stderr.write('y'); sys.exit(3)"
    ended = within(60, run_program(python(code), seconds=60))
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

    codes = {code for _ in range(6) for code in within(60, some())}
    assert codes <= {0, -9, -15}  # 255: somebody else was told of the end
    assert not caplog.records


def test_no_other_module_starts_processes_in_the_loop() -> None:
    wanted = {"create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell"}
    found = {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        if any(name in (text := file.read_text(encoding="utf-8")) for name in wanted)
        for node in ast.walk(ast.parse(text))
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


@pytest.mark.slow
def test_a_task_that_will_not_end_is_left_behind(capfd: pytest.CaptureFixture[str]) -> None:
    async def work() -> str:
        task = asyncio.ensure_future(hang())
        await asyncio.sleep(0)
        assert not await event_loop.leave(task, seconds=0.1)
        return "done"

    assert event_loop.run_loop(work()) == "done"
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_thread_that_hangs_does_not_hold_up_python() -> None:
    code = (
        "import asyncio, time; from kith.core.event_loop import run_loop\n"
        "async def work():\n"
        "    task = asyncio.ensure_future(asyncio.to_thread(time.sleep, 60)); await asyncio.sleep(0.1)\n"
        "    return print('done', await asyncio.to_thread(lambda: 1))\n"
        "run_loop(work())"
    )
    ended = within(60, run_program(python(code), seconds=60))
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
        if "asyncio" in (text := file.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("asyncio.run", "asyncio.Runner")
    ]
    assert found == ["core/event_loop.py"]


def test_a_signal_that_comes_again_at_once_leaves_the_end_whole() -> None:
    """A terminal that is closed sends SIGHUP, and so does the shell in it."""
    ended = []
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)

    async def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(60)
        finally:
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0.05)
            ended.append("whole")

    try:
        with pytest.raises(SystemExit) as exit:
            event_loop.run_until_signal(work())
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (exit.value.code, ended) == (129, ["whole"])


def test_a_hangup_that_is_ignored_ends_nothing() -> None:
    async def work() -> str:
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0.01)
        return "done"

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert event_loop.run_until_signal(work()) == "done"
    finally:
        signal.signal(signal.SIGHUP, before)
