"""Suites of tasks done by the workers of the fleet."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kith.features.fleet.artefacts import Store
from kith.features.fleet.attempts import Batch
from kith.features.fleet.batches import RunRow, list_runs
from kith.features.fleet.database import open_fleet
from kith.features.fleet.settings import FleetSettings, find_dsn, fleet_folder
from kith.features.fleet.stores import open_store
from kith.features.fleet.tasks import FleetTask
from kith.features.suites.attempts import Attempted, SuiteTask
from kith.settings import load_settings

_LOOK_S: Final = 1.0
_PATIENCE_S: Final = 3600.0
_OPEN: Final = ("waiting", "running")


async def do_in_fleet(tasks: Sequence[SuiteTask]) -> AsyncIterator[Attempted]:
    """Submit tasks as one batch, and hand each on when it has ended.

    Their folders lie below TMPDIR, which every worker has to see.
    """
    settings = load_settings(Path.cwd(), {})
    own = settings.section(FleetSettings)
    store = open_store(own.store or str(fleet_folder(own) / "store"))
    waiting = {f"{number}": task for number, task in enumerate(tasks)}
    async with open_fleet(find_dsn("", settings.state), patience_s=_PATIENCE_S) as fleet:
        submitter = os.environ.get("USER") or f"{os.getuid()}"
        wanted = [_fleet_task(key, task) for key, task in waiting.items()]
        batch = await fleet.submit(Batch("bench tasks", submitter), wanted)
        while waiting:
            for run in await list_runs(fleet, batch):
                if run.key in waiting and run.state not in _OPEN:
                    yield await _attempted(waiting.pop(run.key), run, store)
            await asyncio.sleep(_LOOK_S)


def _fleet_task(key: str, task: SuiteTask) -> FleetTask:
    return FleetTask(
        str(task.folder),
        task.prepared.instruction,
        key=key,
        model=task.model,
        check=task.check,
        max_seconds=task.seconds,
    )


async def _attempted(task: SuiteTask, run: RunRow, store: Store) -> Attempted:
    patch = b""
    if digest := run.artefacts.get("patch"):
        with TemporaryDirectory(prefix="kith-suite-patch-") as place:
            await asyncio.to_thread(store.get, digest, Path(place) / "patch")
            patch = (Path(place) / "patch").read_bytes()
    return Attempted(
        task,
        patch,
        run.model or task.model,
        run.verdict,
        run.code or 0,
        run.read,
        run.written,
        run.usd,
        run.seconds or 0.0,
        run.reason,
    )
