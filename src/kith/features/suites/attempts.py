"""Tasks of a suite done by kith: here, each in a process and a state of its own, or elsewhere."""

import asyncio
import json
import os
import shlex
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from msgspec import Struct

from kith import __version__
from kith.core.errors import KithError
from kith.core.processes import run_program
from kith.features.suites.results import SuiteResult
from kith.features.suites.suite import Prepared, Suite
from kith.trees.git import run_git

_MARGIN_S: Final = 120.0  # over the task's own limit: its checks, and its end


class SuiteTask(Struct, frozen=True):
    """A task, prepared in a folder that is a git repository, for one model ("" for the first found)."""

    id: str
    model: str
    folder: Path
    prepared: Prepared
    seconds: int

    @property
    def check(self) -> str:
        """The command that runs the visible tests, in their environment; "" where kith is to find one."""
        tests, pairs = self.prepared.run_tests, self.prepared.env.items()
        command = tests if isinstance(tests, str) else shlex.join(tests or ())
        if not command or not pairs:  # a sandbox lets few variables through
            return command
        return shlex.join(["env", *(f"{name}={value}" for name, value in pairs), "sh", "-c", command])


class Attempted(Struct, frozen=True):
    """The end of a task: its change as a patch ("" for none), and kith's own account."""

    task: SuiteTask
    patch: bytes
    model: str = ""
    verdict: str = ""
    code: int = 0
    read: int = 0
    written: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    reason: str = ""


# Does tasks elsewhere, in any order.
Elsewhere = Callable[[Sequence[SuiteTask]], AsyncIterator[Attempted]]


async def do_here(tasks: Sequence[SuiteTask], jobs: int) -> AsyncIterator[Attempted]:
    """Do tasks on this machine, so many at once, in the order of their ends."""
    turns = asyncio.Semaphore(jobs)

    async def one(task: SuiteTask) -> Attempted:
        async with turns:
            return await _attempt(task)

    for ended in asyncio.as_completed([one(task) for task in tasks]):
        yield await ended


async def _attempt(task: SuiteTask) -> Attempted:
    words = [sys.executable, "-m", "kith", "run", "-C", str(task.folder), "--yes", "--unproven"]
    words += ["--output-format", "json", "--max-task-seconds", str(task.seconds)]
    words += [f"--model={task.model}"] if task.model else []
    words += [f"--check={task.check}"] if task.check else []
    begun = time.monotonic()
    with TemporaryDirectory(prefix="kith-suite-state-") as state:
        env = {**os.environ, **task.prepared.env, "XDG_STATE_HOME": state}
        try:
            request = task.prepared.instruction.encode()
            ended = await run_program(words, seconds=task.seconds + _MARGIN_S, input=request, env=env)
        except TimeoutError:
            return Attempted(task, b"", code=-1, seconds=time.monotonic() - begun, reason="it did not end")
    seconds = time.monotonic() - begun
    report = _report(ended.stdout)
    usage = report.get("usage") or {}
    await run_git(task.folder, "add", "--all")
    diff = await run_git(task.folder, "diff", "--cached", "--binary", "HEAD")
    return Attempted(
        task,
        diff.stdout,
        str(report.get("model") or task.model),
        str(report.get("evidence") or ""),
        ended.code,
        int(usage.get("input", 0)),
        int(usage.get("output", 0)),
        float(report.get("usd") or 0.0),
        seconds,
        str(report.get("text") or "")[:300] if ended.code else "",
    )


def _report(text: bytes) -> dict[str, Any]:
    try:
        report = json.loads(text)
    except ValueError:
        return {}
    return report if isinstance(report, dict) else {}


async def grade(suite: Suite, attempted: Attempted) -> SuiteResult:
    """Lay the patch over a fresh folder, and let the hidden tests decide. Raises KithError."""
    with TemporaryDirectory(prefix="kith-suite-") as place:
        folder = Path(place) / "tree"
        await suite.prepare(attempted.task.id, folder)
        if attempted.patch:
            applied = await run_git(folder, "apply", "--whitespace=nowarn", "-", input=attempted.patch)
            if not applied.ok:
                raise KithError(f"The patch of {attempted.task.id} does not apply: {applied.complaint}.")
        verdict = await suite.grade(attempted.task.id, folder)
    return SuiteResult(
        attempted.task.id,
        attempted.model or attempted.task.model,
        __version__,
        verdict.passed,
        attempted.task.model,
        verdict.score,
        attempted.verdict,
        attempted.code,
        attempted.read,
        attempted.written,
        attempted.usd,
        round(attempted.seconds, 1),
        attempted.reason or ("" if verdict.passed else verdict.reason[:300]),
    )
