"""Lock files: killed holders leave them, and they go; nobody who holds one loses it."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from kith.core.locks import hold_now, let_go, sweep_locks
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session


def fork(work: Callable[[], bool]) -> int:
    """A process that does this, and ends with 0 if it went well."""
    child = os.fork()
    if not child:
        code = 1
        try:
            code = int(not work())
        finally:
            os._exit(code)
    return child


def code_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_only_locks_that_nobody_holds_are_swept(tmp_path: Path) -> None:
    def die() -> bool:
        held = hold_now(tmp_path / "killed.lock")
        os.kill(os.getpid(), signal.SIGKILL)
        return bool(held)

    assert code_of(fork(die)) == -signal.SIGKILL
    held = hold_now(tmp_path / "held.lock")
    assert held
    (tmp_path / "other.txt").touch()
    os.utime(tmp_path / "held.lock", (0, 0))  # age says nothing
    assert {each.name for each in tmp_path.iterdir()} == {"killed.lock", "held.lock", "other.txt"}
    sweep_locks(tmp_path, young_s=0)
    assert {each.name for each in tmp_path.iterdir()} == {"held.lock", "other.txt"}
    assert hold_now(tmp_path / "held.lock") is None
    let_go(held)


def test_a_session_removes_the_locks_of_killed_ones(tmp_path: Path) -> None:
    log = Log(tmp_path / LOG_FILE)
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / "killed.lock").touch()
    os.utime(tmp_path / "locks" / "killed.lock", (0, 0))
    (tmp_path / "locks" / "young.lock").touch()  # somebody may look at it just now
    with Session(log, "a"), Session(log, "b"):
        assert set(log.open_ids()) == {"a", "b"}
        assert not (tmp_path / "locks" / "killed.lock").exists()
    assert [path.name for path in (tmp_path / "locks").iterdir()] == ["young.lock"]
    log.close()


def test_racing_starts_and_sweeps_never_share_a_lock(tmp_path: Path) -> None:
    lock, mark = tmp_path / "one.lock", tmp_path / "mark"

    def hold() -> bool:
        for _ in range(500):
            if held := hold_now(lock):
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))  # fails where somebody else is in as well
                mark.unlink()
                let_go(held)
        return True

    def hold_and_forget() -> bool:
        for _ in range(500):
            if held := hold_now(lock):
                held.close()  # as a killed process does: the file stays
        return True

    def sweep() -> bool:
        for _ in range(7_000):
            sweep_locks(tmp_path, young_s=0)
        return True

    children = [fork(each) for each in (hold, hold, hold_and_forget, sweep, sweep)]
    assert [code_of(child) for child in children] == [0] * 5
    sweep_locks(tmp_path, young_s=0)
    assert not [*tmp_path.iterdir()]
