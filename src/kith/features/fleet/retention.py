"""Old batches go: their rows, and the artefacts and checkpoints that nothing else needs.

A batch goes once all of its runs have ended long ago and nothing of it waits to be published. The store goes
first: what a crash leaves behind is found again by its rows. What superseded attempts have put into the store
goes in any case: no result can name it.
"""

import asyncio
from contextlib import suppress
from typing import Final

from kith.core.errors import KithError
from kith.features.fleet import stored
from kith.features.fleet.artefacts import RETAINED_S, Store
from kith.features.fleet.attempts import Database, all_rows
from kith.features.fleet.database import Fleet

PORTION: Final = 200  # runs in one transaction
NOTES: Final = 2_000  # artefacts of attempts in one
_AGAIN_S: Final = 1.0  # between two portions
_LOOK_S: Final = 3_600.0  # between two looks


async def forget_again_and_again(fleet: Fleet, store: Store, days: float) -> None:
    """Look every hour. `days` 0: batches stay."""
    while True:
        forgotten = 0
        with suppress(KithError):  # the database or the store is away
            forgotten = await forget_unnamed(fleet, store)
        with suppress(KithError):
            forgotten += await forget(fleet, store, days) if days else 0
        await asyncio.sleep(_AGAIN_S if forgotten else _LOOK_S)


async def forget_unnamed(fleet: Fleet, store: Store) -> int:
    """Remove a portion of what attempts put into the store and no result names. Returns the number of notes.

    Raises KithError where database or store refuse; then it is looked at again.
    """

    async def work(database: Database) -> int:
        if not await _take_turn(database):
            return 0
        unnamed, looked_at = await stored.take_unnamed(database, RETAINED_S, NOTES)
        for digest in unnamed:
            await asyncio.to_thread(store.remove, digest, RETAINED_S)
        return looked_at

    return await fleet.within(work)


async def _take_turn(database: Database) -> bool:
    """Until the transaction ends, one worker forgets; the others come again later."""
    (lock,) = await all_rows(
        database, "SELECT pg_try_advisory_xact_lock(hashtext('kith fleet forget')) AS mine", {}
    )
    return bool(lock["mine"])


async def forget(fleet: Fleet, store: Store, days: float) -> int:
    """Remove a portion of the runs in old batches. Returns how many; 0 while another worker does it.

    Raises KithError where database or store refuse; then all rows are still there.
    """
    return await fleet.within(lambda database: _forget(database, store, days))


async def _forget(database: Database, store: Store, days: float) -> int:
    if not await _take_turn(database):
        return 0
    found = await all_rows(
        database,
        """
        SELECT id FROM fleet_runs runs
        WHERE ended < now() - make_interval(secs => %(age)s) AND state NOT IN ('waiting', 'running')
          AND NOT EXISTS (
            SELECT 1 FROM fleet_runs others WHERE others.batch = runs.batch
              AND (others.state IN ('waiting', 'running')
                OR others.ended >= now() - make_interval(secs => %(age)s)))
          AND NOT EXISTS (
            SELECT 1 FROM fleet_publications JOIN fleet_runs others ON others.id = fleet_publications.run
            WHERE others.batch = runs.batch AND fleet_publications.state = 'waiting')
        ORDER BY ended LIMIT %(most)s FOR UPDATE SKIP LOCKED
        """,
        {"age": days * 86_400, "most": PORTION},
    )
    runs = [row["id"] for row in found]
    if not runs:
        return 0
    unneeded = await all_rows(
        database,
        """
        WITH named AS (
          SELECT id, checkpoint AS digest FROM fleet_runs
          UNION ALL
          SELECT id, artefact.value FROM fleet_runs, jsonb_each_text(result->'artefacts') artefact)
        SELECT digest FROM named WHERE digest <> '' GROUP BY digest HAVING bool_and(id = ANY (%(runs)s))
        """,
        {"runs": runs},
    )
    for row in unneeded:
        await asyncio.to_thread(store.remove, row["digest"], RETAINED_S)
    for statement in (
        "DELETE FROM fleet_publications WHERE run = ANY (%(runs)s)",
        "DELETE FROM fleet_attempts WHERE run = ANY (%(runs)s)",
        """
        WITH gone AS (DELETE FROM fleet_runs WHERE id = ANY (%(runs)s) RETURNING id, batch)
        DELETE FROM fleet_batches WHERE id IN (SELECT batch FROM gone) AND NOT EXISTS (
          SELECT 1 FROM fleet_runs WHERE batch = fleet_batches.id AND fleet_runs.id <> ALL (%(runs)s))
        """,
    ):
        await database.execute(statement, {"runs": runs})
    return len(runs)
