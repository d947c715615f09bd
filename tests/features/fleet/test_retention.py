"""Old batches go whole, with what only they need; nothing that is open or young."""

import os
from pathlib import Path

import pytest

from fleet_support import Within
from kith.core.errors import KithError
from kith.features.fleet import retention
from kith.features.fleet.artefacts import FolderStore
from kith.features.fleet.attempts import Batch, Result, Spent
from kith.features.fleet.database import Fleet
from kith.features.fleet.retention import forget
from kith.features.fleet.settings import Limits
from kith.features.fleet.tasks import FleetTask, name_tasks


async def batch_of(fleet: Fleet, number: int, publish: str = "") -> tuple[str, list[int]]:
    tasks = name_tasks([FleetTask("/repository", "do") for _ in range(number)])
    batch = await fleet.submit(Batch("a batch", "ada", publish=publish), tasks)
    rows = await fleet.rows("SELECT id FROM fleet_runs WHERE batch = %(batch)s ORDER BY id", batch=batch)
    return batch, [row["id"] for row in rows]


async def end(fleet: Fleet, run: int, days: float, artefacts: dict[str, str]) -> None:
    """Let a run end so many days ago; its checkpoint is an artefact, too."""
    attempt = await fleet.begin(run, "w", Limits())
    assert attempt
    if kept := artefacts.pop("checkpoint", ""):
        assert await fleet.keep_checkpoint(attempt, kept, 1) == ""
    assert await fleet.settle(attempt, Spent(1), Result("held", 0, artefacts=artefacts))
    await fleet.rows(
        """
        UPDATE fleet_runs SET ended = now() - make_interval(secs => %(age)s) WHERE id = %(run)s RETURNING id
        """,
        age=days * 86_400,
        run=run,
    )


async def left(fleet: Fleet) -> set[str]:
    return {row["id"] for row in await fleet.rows("SELECT id FROM fleet_batches")}


def test_an_old_batch_goes_with_what_only_it_needs(within: Within, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")

    def put(text: str) -> str:
        (tmp_path / "file").write_text(text)
        return store.put(tmp_path / "file")

    def is_there(digest: str) -> bool:
        return bool(list(store.folder.glob(f"*/{digest}")))

    async def look(fleet: Fleet) -> None:
        names = ("patch", "receipt", "checkpoint", "shared", "of the young", "of the open")
        patch, receipt, checkpoint, shared, young, opened = map(put, names)
        _, (one, two) = await batch_of(fleet, 2)
        await end(fleet, one, 40, {"patch": patch, "receipt": receipt, "checkpoint": checkpoint})
        await end(fleet, two, 31, {"patch": shared})
        new, (run,) = await batch_of(fleet, 1)
        await end(fleet, run, 1, {"patch": shared, "receipt": young})
        half, (ended, _) = await batch_of(fleet, 2)
        await end(fleet, ended, 40, {"patch": opened})
        unpublished, (run,) = await batch_of(fleet, 1, publish="/target")
        await end(fleet, run, 40, {"bundle": opened})
        again = put("receipt")  # a run of now has the same artefact, and has not said so yet
        for digest in (patch, checkpoint, shared, young, opened):
            os.utime(next(store.folder.glob(f"*/{digest}")), (0, 0))
        assert await forget(fleet, store, 30) == 2
        assert await forget(fleet, store, 30) == 0
        assert await left(fleet) == {new, half, unpublished}
        assert not any(map(is_there, (patch, checkpoint))) and is_there(again)
        assert all(map(is_there, (shared, young, opened)))
        assert [row["run"] for row in await fleet.rows("SELECT run FROM fleet_attempts ORDER BY run")] > [two]

    within(look)


def test_much_goes_in_portions_and_a_batch_with_its_last_run(within: Within, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")

    async def look(fleet: Fleet) -> None:
        batch, _ = await batch_of(fleet, retention.PORTION + 1)
        await fleet.rows(
            "UPDATE fleet_runs SET state = 'done', ended = now() - interval '9 days' RETURNING id"
        )
        assert await forget(fleet, store, 7) == retention.PORTION
        assert await left(fleet) == {batch}
        assert await forget(fleet, store, 7) == 1
        assert not await left(fleet)

    within(look)


def test_what_the_store_refuses_to_remove_keeps_its_rows(within: Within, tmp_path: Path) -> None:
    async def look(fleet: Fleet) -> None:
        batch, (run,) = await batch_of(fleet, 1)
        await end(fleet, run, 9, {"patch": "no digest"})
        with pytest.raises(KithError):
            await forget(fleet, FolderStore(tmp_path), 7)
        assert await left(fleet) == {batch}

    within(look)
