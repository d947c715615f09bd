"""Notes of what attempts put into the store, kept until a run names it or certainly never will.

An attempt notes an artefact before it is put. A worker may die at any moment, or be superseded: then nothing
names what it has put. The fence makes it certain that nothing ever will.
"""

from collections.abc import Sequence
from contextlib import suppress

from psycopg.errors import InsufficientPrivilege, UndefinedTable

from kith.features.fleet.attempts import Database, all_rows

# An earlier kith has made the database, or a newer one without telling this role's rights.
NO_TABLE = (UndefinedTable, InsufficientPrivilege)


async def note(database: Database, run: int, attempt: int, digests: Sequence[str]) -> None:
    """Note artefacts of an attempt. Raises an error of NO_TABLE."""
    await database.execute(
        """
        INSERT INTO fleet_stored (run, attempt, digest)
        SELECT %(run)s, %(attempt)s, unnest(%(digests)s::text[])
        ON CONFLICT (digest, run, attempt) DO UPDATE SET since = now()
        """,
        {"run": run, "attempt": attempt, "digests": sorted(set(digests))},
    )


async def note_results(database: Database, batch: str, keys: Sequence[str]) -> None:
    """Note the artefacts of runs that are about to be tried again: their rows lose them."""
    rows = await all_rows(
        database,
        """
        SELECT id, attempt, array_agg(digest) AS digests FROM (
          SELECT id, attempt, checkpoint AS digest FROM fleet_runs
          WHERE batch = %(batch)s AND (state = 'cancelled' AND %(all)s
            OR state IN ('cancelled', 'done') AND key = ANY (%(keys)s))
          UNION
          SELECT id, attempt, artefact.value
          FROM fleet_runs runs, jsonb_each_text(runs.result->'artefacts') artefact
          WHERE batch = %(batch)s AND (state IN ('set aside', 'cancelled') AND %(all)s
            OR state IN ('set aside', 'cancelled', 'done') AND runs.key = ANY (%(keys)s))) lost
        WHERE digest <> '' GROUP BY id, attempt
        """,
        {"batch": batch, "all": not keys, "keys": list(keys)},
    )
    with suppress(*NO_TABLE):
        async with database.transaction():
            for row in rows:
                await note(database, row["id"], row["attempt"], row["digests"])


async def take_unnamed(database: Database, young_s: float, most: int) -> tuple[list[str], int]:
    """Take the oldest rows. Returns the artefacts that nothing names or ever will, and the number of rows.

    Rows that are younger than `young_s` stay, and those of attempts that may still end with a result.
    """
    try:
        async with database.transaction():
            rows = await all_rows(
                database,
                """
                DELETE FROM fleet_stored WHERE (run, attempt, digest) IN (
                  SELECT run, attempt, digest FROM fleet_stored stored
                  WHERE since < now() - make_interval(secs => %(young)s) AND NOT EXISTS (
                    SELECT 1 FROM fleet_runs runs WHERE runs.id = stored.run
                      AND runs.attempt = stored.attempt AND runs.state = 'running')
                  ORDER BY since LIMIT %(most)s)
                RETURNING digest
                """,
                {"young": young_s, "most": most},
            )
    except NO_TABLE:
        return [], 0
    unnamed = await all_rows(
        database,
        """
        SELECT DISTINCT digest FROM unnest(%(digests)s::text[]) taken (digest)
        WHERE NOT EXISTS (SELECT 1 FROM fleet_stored others WHERE others.digest = taken.digest)
          AND NOT EXISTS (
            SELECT 1 FROM (
              SELECT checkpoint AS digest FROM fleet_runs
              UNION ALL
              SELECT artefact.value FROM fleet_runs, jsonb_each_text(result->'artefacts') artefact) named
            WHERE named.digest = taken.digest)
        """,
        {"digests": [row["digest"] for row in rows]},
    )
    return [row["digest"] for row in unnamed], len(rows)
