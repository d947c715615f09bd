"""Put a run's branch into the repository of its batch."""

import asyncio
from typing import Any

from kith.features.fleet.checkout import push_bundle
from kith.features.fleet.job import Machine
from kith.trees.walk import remove_tree


async def publish(machine: Machine, run: int) -> None:
    """Push the branch of an ended run, once; the same branch again changes nothing. Raises KithError."""
    rows = await machine.fleet.rows(
        """
        SELECT runs.id, runs.batch, runs.key, runs.base, runs.attempt, runs.verdict, batches.publish,
          runs.task->>'repository' AS repository, runs.result->'artefacts'->>'bundle' AS bundle
        FROM fleet_runs runs JOIN fleet_batches batches ON batches.id = runs.batch
        WHERE runs.id = %(run)s AND runs.state = 'done' AND runs.published = ''
        """,
        run=run,
    )
    if not rows or not rows[0]["bundle"] or not rows[0]["publish"]:
        return
    await _push(machine, rows[0])


async def _push(machine: Machine, row: dict[str, Any]) -> None:
    branch = f"kith/{row['batch']}/{row['key']}"
    folder = machine.folder / "publishing" / f"{row['batch']}-{row['key']}"
    await asyncio.to_thread(remove_tree, folder)
    folder.mkdir(parents=True, mode=0o700)
    try:
        bundle = folder / "bundle"
        await asyncio.to_thread(machine.store.get, row["bundle"], bundle)
        mirrors = machine.folder / "mirrors"
        await push_bundle(mirrors, row["repository"], row["base"], bundle, branch, row["publish"])
    finally:
        await asyncio.to_thread(remove_tree, folder)
    await machine.fleet.rows(
        """
        UPDATE fleet_runs SET published = %(branch)s
        WHERE id = %(run)s AND attempt = %(attempt)s RETURNING id
        """,
        branch=branch,
        run=row["id"],
        attempt=row["attempt"],
    )
