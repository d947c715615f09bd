"""One attempt at a run, on this machine: a clone, kith in it as a process, checkpoints, and one result."""

import asyncio
import json
import os
import secrets
import shutil
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct

from kith.core.errors import (
    EXIT_HALF_DONE,
    EXIT_HELD_BACK,
    EXIT_NO_MODEL,
    EXIT_TRY_LATER,
    EXIT_UNRECORDED,
    BusyError,
    KithError,
    TreeError,
)
from kith.core.locks import hold_when_free
from kith.core.processes import DRAIN_S, Started, happens, run_program
from kith.features.fleet.artefacts import Store, digest_of
from kith.features.fleet.attempts import Attempt, Result, Spent, Standing
from kith.features.fleet.checkout import check_out, commit_all, diff_since, resolve
from kith.features.fleet.checkpoints import pack, unpack
from kith.features.fleet.database import Fleet
from kith.features.fleet.settings import FleetSettings, without_dsn
from kith.features.fleet.stream import Events, command_line, end_kith, start_kith
from kith.features.forges.client import Forge
from kith.features.forges.texts import make_title
from kith.memory.database import copy_log
from kith.memory.log import LOG_FILE, Log
from kith.memory.receipt import describe_run
from kith.trees.walk import remove_tree

# Ends that say something of the machine, and nothing of the task: another worker tries.
_ELSEWHERE: Final = (EXIT_NO_MODEL, EXIT_HALF_DONE, EXIT_UNRECORDED, EXIT_TRY_LATER)
_SLOT_S: Final = 0.5
_APPLY_S: Final = 120.0
_FULL_MB: Final = 16
_MB: Final = 1 << 20
_LONGEST_PAUSE_S: Final = 120.0
_TURN_S: Final = 60.0  # for a folder of a run to be made or removed
_PROCESS: Final = "process"  # a file in it: the group of kith's processes
_LOCK: Final = "runs.lock"
_OWNER: Final = "worker"  # another one: the worker's process
_TITLE: Final = 72  # characters of a commit's first line
_TAIL: Final = 4_000  # characters of what kith said, for the reason

_GIVEN_BACK: Final[Mapping[str, str]] = {
    "drained": "the worker was stopped",
    "cut off": "the worker was cut off from the database",
}

Why = Literal["ended", "superseded", "cancelled", "over budget", "drained", "cut off"]


class Machine(Struct, frozen=True):
    """A worker's means. `close`: the database, asked with little patience; `stop`: the worker is to drain.

    `servers`: the model server of each model whose slots are counted; `forge`: for pull requests.
    """

    name: str
    fleet: Fleet
    close: Fleet
    settings: FleetSettings
    folder: Path
    store: Store
    servers: Mapping[str, str]
    stop: asyncio.Event
    forge: Forge | None = None

    def has_space(self) -> bool:
        return self.free_mb() >= self.settings.free_mb

    def free_mb(self) -> int:
        return shutil.disk_usage(self.folder).free // _MB


class JobEnd(Struct, frozen=True):
    """The end of kith's process, and its costs."""

    why: Why
    code: int
    spent: Spent
    applied: bool = False
    output: bytes = b""


async def perform(machine: Machine, run: int) -> None:
    """Do the next attempt at a run, and write down its end. Never raises for what befalls the run."""
    attempt = await machine.fleet.begin(run, machine.name, machine.settings.limits)
    if attempt is None:
        return
    spent = Spent()
    try:
        async with own_folder(machine, f"{attempt.batch}-{attempt.task.key}") as folder:
            job = Job(machine, attempt, folder)
            try:
                await job.do()
            finally:
                spent = job.spent
    except (KithError, OSError) as error:
        # What failed here at once would fail again at once.
        pause_s = min(_LONGEST_PAUSE_S, machine.settings.silence_seconds / 30 * 2**attempt.failures)
        why = str(error).rstrip(".")
        await machine.fleet.give_back(attempt, spent, why, failed=True, pause_s=pause_s)


@asynccontextmanager
async def own_folder(machine: Machine, name: str) -> AsyncIterator[Path]:
    """An empty folder at the same place on every machine (a log names its tree); removed at the end.

    An older attempt of a worker that hangs may still use the place: its kith is killed, its folder moved.
    """
    runs = machine.folder / "runs"
    runs.mkdir(exist_ok=True, mode=0o700)
    folder = runs / name
    turn = hold_when_free(machine.folder / _LOCK, _TURN_S)
    await asyncio.to_thread(turn.__enter__)
    try:
        await asyncio.to_thread(_clear, folder)
        folder.mkdir(mode=0o700)
        (folder / _OWNER).write_text(str(os.getpid()))
        own = folder.stat().st_ino
    finally:
        turn.__exit__(None, None, None)
    try:
        yield folder
    finally:
        with suppress(OSError):
            if folder.stat().st_ino == own:
                await asyncio.to_thread(_clear, folder)


def _clear(folder: Path) -> None:
    """Move a run's folder out of the way, end the kith that works in it, and remove it."""
    old = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    try:
        folder.rename(old)
    except FileNotFoundError:
        return
    with suppress(OSError, ValueError):
        group = int((old / _PROCESS).read_text())
        if os.fsencode(folder) in Path(f"/proc/{group}/cmdline").read_bytes():  # no number used again
            os.killpg(group, signal.SIGKILL)
    remove_tree(old)


def clear_leftovers(folder: Path) -> None:
    """Remove the folders of runs whose workers on this machine have died. Raises BusyError, OSError."""
    runs = folder / "runs"
    with hold_when_free(folder / _LOCK, _TURN_S):
        for each in runs.iterdir() if runs.is_dir() else ():
            if not _is_owned(each):
                _clear(each)


def _is_owned(folder: Path) -> bool:
    try:
        os.kill(int((folder / _OWNER).read_text()), 0)
    except (ProcessLookupError, ValueError, FileNotFoundError):
        return False
    except OSError:  # somebody else has that number
        return True
    return True


class Job:
    """An attempt at work."""

    def __init__(self, machine: Machine, attempt: Attempt, folder: Path) -> None:
        self.machine, self.attempt, self.folder = machine, attempt, folder
        self.tree, self.home = folder / "tree", folder / "state"
        self.state = self.home / "kith"  # where kith looks below XDG_STATE_HOME
        self.spent = Spent()
        self._heard = asyncio.Event()
        self._kept = 0  # replies that the last checkpoint holds

    async def do(self) -> None:
        """From the clone to the result. Raises KithError, OSError for what another machine may do better."""
        base = await self._clone()
        resume = await self._restore()
        if (standing := await self._wait_for_slot()) != "go on":
            await self._end_early(JobEnd(standing, 0, Spent()))
            return
        ended = await self._work(resume)
        self.spent = ended.spent
        if ended.why == "ended":
            await self._finish(ended, base)
        else:
            await self._end_early(ended)

    # --- before --------------------------------------------------------------------------------

    async def _clone(self) -> str:
        task, mirrors = self.attempt.task, self.machine.folder / "mirrors"
        base = self.attempt.base or await resolve(mirrors, task.repository, task.revision)
        await check_out(mirrors, task.repository, base, self.tree)
        if not self.attempt.base:
            await self.machine.fleet.keep_base(self.attempt, base)
        return base

    async def _restore(self) -> str:
        """Restore the state of the last checkpoint. Returns the session to resume, "" to start over."""
        if not self.attempt.checkpoint:
            return ""
        file = self.folder / f"checkpoint-{self.attempt.number}"
        try:
            await asyncio.to_thread(self.machine.store.get, self.attempt.checkpoint, file)
            await unpack(file, self.state, self.tree)
        except KithError:
            return ""  # from the base once more: dearer, and right
        finally:
            file.unlink(missing_ok=True)
        return next((each.id for each in Log(self.state / LOG_FILE).sessions(limit=1)), "")

    async def _wait_for_slot(self) -> Standing:
        """Wait until the model's server has a free slot, or the run is not wanted any more."""
        server = self.machine.servers.get(self.attempt.task.model, "")
        loop, due = asyncio.get_running_loop(), 0.0
        while server and not await self.machine.fleet.take_slot(self.attempt, server):
            if loop.time() >= due:
                standing = await self.machine.fleet.report(self.attempt, Spent())
                if standing != "go on":
                    return standing
                due = loop.time() + self.machine.settings.limits.report_s
            if self.machine.stop.is_set():
                raise BusyError("the worker is draining")
            await asyncio.sleep(_SLOT_S)
        return "go on"

    # --- at work -------------------------------------------------------------------------------

    async def _work(self, resume: str) -> JobEnd:
        task = self.attempt.task
        env = without_dsn(os.environ) | {"XDG_STATE_HOME": str(self.home)}
        words = command_line(task, self.tree, resume, self.attempt.left_usd)
        request = "" if resume or task.command in ("review", "bench") else task.request
        kith = await start_kith(words, request, env, self.folder / "errors", self._heard.set)
        try:
            (self.folder / _PROCESS).write_text(str(kith.pid))
            why = await self._watch(kith)
            if why in ("superseded", "cut off"):  # its place may be somebody else's soon
                kith.kill() if why == "superseded" else await end_kith(kith)
            elif why != "ended":
                await end_kith(kith)
            await happens(kith.watch.closed, DRAIN_S)
        finally:
            await kith.end()
        watch = kith.watch
        if why == "drained" and kith.code is not None and kith.code >= 0 and watch.applied:
            why = "ended"  # it was about to end anyway
        return JobEnd(why, kith.code or 0, watch.spent, watch.applied, bytes(watch.output))

    async def _watch(self, kith: Started[Events]) -> Why:
        """Report, keep checkpoints, and hear what the database wants, until kith ends or has to."""
        stop = asyncio.ensure_future(self.machine.stop.wait())
        exited = asyncio.ensure_future(kith.watch.exited.wait())
        loop, seconds = asyncio.get_running_loop(), self.machine.settings.limits.report_s
        due, told = loop.time() + seconds, 0
        try:
            while not exited.done():
                heard = asyncio.ensure_future(self._heard.wait())
                await asyncio.wait(
                    (stop, exited, heard),
                    timeout=max(0.0, due - loop.time()),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                heard.cancel()
                self._heard.clear()
                if exited.done():
                    break
                if stop.done():
                    return "drained"
                spent = kith.watch.spent
                if spent.turns > told or loop.time() >= due:
                    try:
                        standing = await self.machine.close.report(self.attempt, spent)
                    except BusyError:
                        return "cut off"
                    if standing != "go on":
                        return standing
                    due, told = loop.time() + seconds, spent.turns
                await self._keep(kith.watch)
            return "ended"
        finally:
            stop.cancel()
            exited.cancel()

    async def _keep(self, watch: Events) -> None:
        """Keep a checkpoint every few replies, while no tool runs; none once the change is applied."""
        every, turns, tools = self.machine.settings.checkpoint_turns, watch.spent.turns, watch.tools
        if not every or turns - self._kept < every or watch.applied:
            return
        if self.attempt.task.command in ("review", "bench"):
            return
        file = self.folder / f"checkpoint-{self.attempt.number}"
        packed = await pack(self.state, file, self.machine.settings.checkpoint_mb * _MB)
        if packed == "too early":
            return
        if packed == "too large":
            self._kept = turns
            return
        if watch.tools != tools or watch.applied:
            return  # the trial went on meanwhile: once more after the next reply
        self._kept = turns
        await self._store_checkpoint(file, turns)

    async def _store_checkpoint(self, file: Path, turns: int) -> None:
        await self.machine.fleet.intend(self.attempt, [await asyncio.to_thread(digest_of, file)])
        digest = await asyncio.to_thread(self.machine.store.put, file)
        file.unlink()
        before = await self.machine.fleet.keep_checkpoint(self.attempt, digest, self.attempt.turns + turns)
        if before and before != digest:  # it holds the log of this very run, so it is nobody else's
            with suppress(KithError):
                await asyncio.to_thread(self.machine.store.remove, before)

    # --- after ---------------------------------------------------------------------------------

    async def _end_early(self, ended: JobEnd) -> None:
        """Record the end of an attempt that was stopped."""
        fleet = self.machine.fleet
        if ended.why == "superseded":
            await fleet.settle(self.attempt, ended.spent, Result("", 0))  # what it cost still counts
        elif ended.why == "cancelled":
            await fleet.settle(self.attempt, ended.spent, Result("", ended.code, "cancelled"), "cancelled")
        elif ended.why == "over budget":
            reason = "the budget of the batch is spent"
            await fleet.settle(self.attempt, ended.spent, Result("", ended.code, reason), "set aside")
        else:
            if not ended.applied and (self.state / LOG_FILE).exists():
                file = self.folder / f"checkpoint-{self.attempt.number}"
                if await pack(self.state, file, self.machine.settings.checkpoint_mb * _MB) == "packed":
                    await self._store_checkpoint(file, ended.spent.turns)
            why = _GIVEN_BACK[ended.why]
            await fleet.give_back(self.attempt, ended.spent, why, failed=ended.why == "cut off")

    async def _finish(self, ended: JobEnd, base: str) -> None:
        """Settle what kith decided; give back what its machine prevented."""
        if ended.code < 0 or ended.code > 128 or ended.code in _ELSEWHERE:
            raise TreeError(f"kith ended with {ended.code}: {self._said()}")
        if ended.code and self.machine.free_mb() < _FULL_MB:
            raise TreeError(f"the disk of {self.machine.name} is full")
        if await self.machine.fleet.report(self.attempt, ended.spent) == "superseded":
            return  # the folder may be a newer attempt's
        report = self._report()
        artefacts = {"output": ended.output} if ended.output.strip() else {}
        unproven = ended.code == EXIT_HELD_BACK and await self._apply_unproven(report)
        if ended.applied or unproven:
            artefacts |= await self._commit(base, unproven)
        artefacts["receipt"] = json.dumps(report, indent=1).encode()
        files = await asyncio.to_thread(self._write, artefacts)
        digests = {name: await asyncio.to_thread(digest_of, file) for name, file in files.items()}
        await self.machine.fleet.intend(self.attempt, list(digests.values()))
        for file in files.values():
            await asyncio.to_thread(self.machine.store.put, file)
        verdict = "unproven" if unproven else str(report.get("evidence") or report.get("status") or "done")
        reason = str(report.get("text") or "")[:500] if ended.code else ""
        result = Result(
            verdict, ended.code, reason or self._said() * bool(ended.code), _figures(report), digests
        )
        await self.machine.fleet.settle(self.attempt, ended.spent, result)

    def _report(self) -> dict[str, Any]:
        """The run's own receipt, from its log; {} for a command that writes none."""
        if not (self.state / LOG_FILE).exists():
            return {}
        log = Log(self.state / LOG_FILE)
        session = next((each.id for each in log.sessions(limit=1)), "")
        return describe_run(session, log.past(session)) if session else {}

    async def _apply_unproven(self, report: Mapping[str, Any]) -> bool:
        """Put the change that kith held back into the clone: it is published as unproven."""
        words = [*command_line(self.attempt.task, self.tree, "", None)[:3], "apply", "-C", str(self.tree)]
        env = without_dsn(os.environ) | {"XDG_STATE_HOME": str(self.home)}
        ended = await run_program(
            [*words, "--unproven", "--yes", str(report["session"])], seconds=_APPLY_S, env=env
        )
        return ended.code == 0

    async def _commit(self, base: str, unproven: bool) -> dict[str, bytes]:
        """The change as a branch in a bundle, and as a patch.

        The message has no word of a model: forges and CI act on what they find in one (`[skip ci]`).
        """
        attempt, bundle = self.attempt, self.folder / "bundle"
        title = make_title(attempt.task.request, unproven, _TITLE)
        message = f"{title}\n\nkith run {attempt.batch}/{attempt.task.key}"
        if not await commit_all(self.tree, base, message, branch_of(attempt), bundle):
            return {}
        return {"bundle": bundle.read_bytes(), "patch": await diff_since(self.tree, base)}

    def _write(self, artefacts: Mapping[str, bytes]) -> dict[str, Path]:
        """Write artefacts and a copy of the log to files."""
        files = {name: self.folder / f"artefact-{name}" for name in artefacts}
        for name, file in files.items():
            file.write_bytes(artefacts[name])
        if (self.state / LOG_FILE).exists():
            files["log"] = self.folder / "artefact-log"
            copy_log(self.state / LOG_FILE, files["log"])
        return files

    def _said(self) -> str:
        """The last line that kith said to people."""
        try:
            said = (self.folder / "errors").read_text(encoding="utf-8", errors="replace")[-_TAIL:]
        except OSError:
            return ""
        lines = said.strip().splitlines()
        return lines[-1].removeprefix("kith: ").rstrip(".") if lines else "it said nothing"


def branch_of(attempt: Attempt) -> str:
    return f"kith/{attempt.batch}/{attempt.task.key}"


def _figures(report: Mapping[str, Any]) -> dict[str, Any]:
    """The figures that the report of a batch adds up."""
    usage, changes = report.get("usage") or {}, report.get("changes") or []
    return {
        "status": report.get("status", ""),
        "model": report.get("model", ""),
        "calls": usage.get("calls", 0),
        "read": usage.get("input", 0),
        "written": usage.get("output", 0),
        "usd": report.get("usd"),
        "files": len(changes),
        "added": sum(each["added"] for each in changes),
        "removed": sum(each["removed"] for each in changes),
    }
