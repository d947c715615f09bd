"""Old batches go whole, with what only they need; nothing that is open or young."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fleet_support import Within, faketime
from kith.core.errors import KithError
from kith.features.fleet import retention
from kith.features.fleet.artefacts import FolderStore
from kith.features.fleet.attempts import Batch, Result, Spent
from kith.features.fleet.database import Fleet, make_schema
from kith.features.fleet.retention import forget, forget_unnamed
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


async def age(fleet: Fleet) -> None:
    """Let all notes of what was put be two hours old."""
    await fleet.rows("UPDATE fleet_stored SET since = now() - interval '2 hours' RETURNING digest")


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


def test_what_superseded_attempts_put_goes_and_what_a_run_names_stays(within: Within, tmp_path: Path) -> None:
    """Of what a superseded attempt has put, one at work and one that ended have put the same."""
    store = FolderStore(tmp_path / "store")

    def put(text: str) -> str:
        (tmp_path / "file").write_text(text)
        digest = store.put(tmp_path / "file")
        os.utime(next(store.folder.glob(f"*/{digest}")), (0, 0))
        return digest

    def kept() -> set[str]:
        return {each.name for each in store.folder.glob("*/*")}

    async def look(fleet: Fleet) -> None:
        names = ("receipt", "checkpoint", "both ended so", "at work", "named")
        late, checkpoint, both, working, named = map(put, names)
        _, (one, two) = await batch_of(fleet, 2)
        first = await fleet.begin(one, "frozen", Limits())
        second = await fleet.begin(one, "alive", Limits())
        third = await fleet.begin(two, "at work", Limits())
        assert first and second and third
        await fleet.intend(first, [late, checkpoint, both, working])
        await fleet.intend(second, [both, named])
        await fleet.intend(third, [working])
        assert await fleet.settle(
            second, Spent(1), Result("held", 0, artefacts={"patch": both, "log": named})
        )
        assert not await fleet.settle(first, Spent(1), Result("held", 0, artefacts={"receipt": late}))
        assert await forget_unnamed(fleet, store) == 0  # the notes are young
        await age(fleet)
        assert await forget_unnamed(fleet, store) == 6
        assert kept() == {both, named, working}
        assert await forget_unnamed(fleet, store) == 0
        assert await fleet.settle(third, Spent(1), Result("held", 0))  # it does not name what it put
        assert await forget_unnamed(fleet, store) == 1
        assert kept() == {both, named}

    within(look)


def test_what_another_attempt_put_a_moment_ago_stays(within: Within, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    (tmp_path / "file").write_text("patch")

    async def look(fleet: Fleet) -> None:
        _, (run,) = await batch_of(fleet, 1)
        old, new = [await fleet.begin(run, "w", Limits()) for _ in range(2)]
        assert old and new
        await fleet.intend(old, [store.put(tmp_path / "file")])
        await age(fleet)
        assert await forget_unnamed(fleet, store) == 1
        assert list(store.folder.glob("*/*"))

    within(look)


def test_a_result_goes_once_its_run_was_tried_again(within: Within, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    (tmp_path / "file").write_text("patch")

    async def look(fleet: Fleet) -> None:
        batch, (run,) = await batch_of(fleet, 1)
        digest = store.put(tmp_path / "file")
        os.utime(next(store.folder.glob("*/*")), (0, 0))
        await end(fleet, run, 0, {"patch": digest})
        assert await fleet.retry(batch, ["1"], None) == 1
        await age(fleet)
        assert await forget_unnamed(fleet, store) == 1
        assert not list(store.folder.glob("*/*"))

    within(look)


def test_a_database_without_the_table_keeps_everything(within: Within, tmp_path: Path) -> None:
    async def look(fleet: Fleet) -> None:
        await fleet.within(lambda database: database.execute("DROP TABLE fleet_stored"))
        batch, (run,) = await batch_of(fleet, 1)
        attempt = await fleet.begin(run, "w", Limits())
        assert attempt
        await fleet.intend(attempt, ["0" * 64])
        assert await fleet.settle(attempt, Spent(1), Result("held", 0, artefacts={"patch": "0" * 64}))
        assert await fleet.retry(batch, ["1"], None) == 1
        assert await forget_unnamed(fleet, FolderStore(tmp_path)) == 0
        assert not await make_schema(fleet)
        assert await fleet.rows("SELECT count(*) AS notes FROM fleet_stored") == [{"notes": 0}]

    within(look)


def test_the_age_of_an_artefact_is_told_by_the_clock_of_the_file_system(tmp_path: Path) -> None:
    """A worker whose clock is two hours ahead removes nothing that was put a moment ago."""
    (tmp_path / "file").write_text("patch")
    store = FolderStore(tmp_path / "store")
    digest = store.put(tmp_path / "file")
    code = f"from {FolderStore.__module__} import *; FolderStore(Path({str(store.folder)!r})).remove"
    env = {"LD_PRELOAD": faketime(), "FAKETIME": "+7200s", "NO_FAKE_STAT": "1"}
    subprocess.run([sys.executable, "-c", f"{code}({digest!r}, 3600)"], check=True, env=os.environ | env)
    assert list(store.folder.glob("*/*"))
    subprocess.run([sys.executable, "-c", f"{code}({digest!r})"], check=True, env=os.environ | env)
    assert not list(store.folder.glob("*/*"))
