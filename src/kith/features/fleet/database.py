"""The fleet's database: its connection, its schema, and what workers and people do with it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from importlib import resources
from typing import Any, Final, LiteralString, TypeVar

import procrastinate
import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from kith import __version__
from kith.core.errors import BusyError, KithError, UsageError
from kith.features.fleet import attempts, publications, stored
from kith.features.fleet.attempts import Attempt, Batch, Database, Result, Spent, Standing, State, all_rows
from kith.features.fleet.settings import Limits
from kith.features.fleet.tasks import FleetTask

VERSION: Final = 1  # of schema.sql
# A connection that a cut network has silenced is given up, and never waited for without a bound.
_CONNECTION: Final = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "application_name": "kith",
}
_PAUSES: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # between two tries; the last one again and again
_WAIT_S: Final = 5.0  # for a connection, before the next try
_MANY: Final = 1_000  # tasks
_REASON_S: Final = 2  # for a last try, whose error is shown
_COMMAND_S: Final = 10.0  # for commands that a person waits for
# Without it PostgreSQL may plan the search once for any queues, after five searches on a connection. It
# belongs to the function, so it holds behind a pooler of connections, too.
_PLAN_EACH: Final = """
ALTER FUNCTION procrastinate_fetch_job_v2(varchar[], bigint) SET plan_cache_mode = force_custom_plan
"""

# What schemas of earlier versions lack.
_LATER: Final = """
CREATE INDEX IF NOT EXISTS fleet_runs_ended ON fleet_runs (ended) WHERE ended IS NOT NULL;
CREATE TABLE IF NOT EXISTS fleet_stored (
  run bigint NOT NULL, attempt integer NOT NULL, digest text NOT NULL,
  since timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (digest, run, attempt));
CREATE INDEX IF NOT EXISTS fleet_stored_since ON fleet_stored (since)
"""

T = TypeVar("T")


class Fleet:
    """The database of a fleet. Every method raises KithError where it cannot be reached in `patience_s`.

    The patience may be lowered while somebody waits.
    """

    def __init__(self, pool: "AsyncConnectionPool[Database]", patience_s: float = _COMMAND_S) -> None:
        self.pool, self.patience_s = pool, patience_s

    async def within(self, work: Callable[[Database], Awaitable[T]]) -> T:
        """Do it in one transaction."""

        async def whole(database: Database) -> T:
            async with database.transaction():
                return await work(database)

        return await self._patiently(whole)

    async def _patiently(self, work: Callable[[Database], Awaitable[T]]) -> T:
        """Do it; where the connection fails, once more, until the patience ends."""
        loop = asyncio.get_running_loop()
        begun, tries = loop.time(), 0
        while True:
            try:
                async with self.pool.connection(timeout=min(_WAIT_S, self.patience_s)) as database:
                    return await work(database)
            except (psycopg.OperationalError, PoolTimeout) as error:
                pause = _PAUSES[min(tries, len(_PAUSES) - 1)]
                tries += 1
                if loop.time() + pause - begun > self.patience_s:
                    why = _first_line(await self._reason(error))
                    raise BusyError(f"The fleet's database does not answer: {why}.") from error
                await asyncio.sleep(pause)
            except psycopg.Error as error:
                raise KithError(f"The fleet's database refuses: {_first_line(error)}.") from error

    async def _reason(self, error: Exception) -> Exception:
        """Find why there is no connection, where the pool only tells how long it waited for one."""
        dsn = self.pool.conninfo
        try:
            if isinstance(error, PoolTimeout) and isinstance(dsn, str):
                tried = await psycopg.AsyncConnection.connect(dsn, connect_timeout=_REASON_S)
                await tried.close()
        except psycopg.OperationalError as found:
            return found
        return error

    async def rows(self, statement: LiteralString, **values: object) -> list[dict[str, Any]]:
        """The rows of one statement, with no transaction around it."""
        return await self._patiently(lambda database: all_rows(database, statement, values))

    # --- tasks ---------------------------------------------------------------------------------

    async def submit(self, batch: "Batch", tasks: Sequence[FleetTask]) -> str:
        """Add a batch, or to it: a task whose key is there already is left as it is. Returns its id."""
        id = await self.within(lambda database: attempts.submit(database, batch, tasks))
        if len(tasks) > _MANY:  # or the next jobs would be searched for without the index
            await self.within(lambda database: database.execute("ANALYZE procrastinate_jobs, fleet_runs"))
        return id

    async def cancel(self, batch: str, keys: Sequence[str] = ()) -> int:
        """Cancel what waits, and ask attempts at work to end. Returns how many runs it concerned."""
        rows = await self.rows(
            """
            UPDATE fleet_runs SET cancel = true,
              state = CASE state WHEN 'waiting' THEN 'cancelled' ELSE state END,
              ended = CASE state WHEN 'waiting' THEN now() ELSE ended END
            WHERE batch = %(batch)s AND state IN ('waiting', 'running')
              AND (%(all)s OR key = ANY (%(keys)s))
            RETURNING id
            """,
            batch=batch,
            all=not keys,
            keys=list(keys),
        )
        return len(rows)

    async def retry(self, batch: str, keys: Sequence[str], max_usd: float | None) -> int:
        """Put runs that were set aside or cancelled (named ones: ended in any way) into the queue again."""

        async def again(database: Database) -> int:
            await stored.note_results(database, batch, keys)
            if max_usd is not None:
                await database.execute(
                    "UPDATE fleet_batches SET max_usd = %s WHERE id = %s", (max_usd, batch)
                )
            rows = await all_rows(
                database,
                """
                UPDATE fleet_runs SET state = 'waiting', cancel = false, failures = 0, ended = NULL,
                  verdict = '', code = NULL, reason = '', result = NULL, published = '', unpublished = '',
                  checkpoint = CASE state WHEN 'set aside' THEN checkpoint ELSE '' END
                WHERE batch = %(batch)s AND (state IN ('set aside', 'cancelled') AND %(all)s
                  OR state IN ('set aside', 'cancelled', 'done') AND key = ANY (%(keys)s))
                RETURNING id
                """,
                {"batch": batch, "all": not keys, "keys": list(keys)},
            )
            await attempts.defer_runs(database, [row["id"] for row in rows])
            return len(rows)

        return await self.within(again)

    # --- attempts ------------------------------------------------------------------------------

    async def begin(self, run: int, worker: str, limits: Limits) -> Attempt | None:
        """Begin the next attempt at a run, which ends the rights of the one before.

        None where the run has ended, or ends here: cancelled, over budget, too many failures.
        """
        return await self.within(lambda database: attempts.begin(database, run, worker, limits))

    async def keep_base(self, attempt: Attempt, base: str) -> None:
        """Remember the commit that all attempts start from."""
        await self.rows(
            "UPDATE fleet_runs SET base = %(base)s WHERE id = %(run)s AND attempt = %(number)s RETURNING id",
            base=base,
            run=attempt.run,
            number=attempt.number,
        )

    async def report(self, attempt: Attempt, spent: Spent) -> Standing:
        """Say what an attempt has spent so far, and hear if it may go on."""
        return await self._patiently(lambda database: attempts.report(database, attempt, spent))

    async def intend(self, attempt: Attempt, digests: Sequence[str]) -> None:
        """Note what an attempt is about to put into the store: it is removed if nothing ever names it."""

        async def note(database: Database) -> None:
            with suppress(*stored.NO_TABLE):
                await stored.note(database, attempt.run, attempt.number, digests)

        await self._patiently(note)

    async def keep_checkpoint(self, attempt: Attempt, digest: str, turns: int) -> str | None:
        """Make a checkpoint the one to resume from. Returns the one before; None for a superseded attempt."""
        kept = await self.rows(
            """
            WITH old AS (SELECT id, checkpoint FROM fleet_runs WHERE id = %(run)s FOR UPDATE)
            UPDATE fleet_runs SET checkpoint = %(digest)s, turns = %(turns)s FROM old
            WHERE fleet_runs.id = old.id AND attempt = %(number)s AND state = 'running'
            RETURNING old.checkpoint AS before
            """,
            digest=digest,
            turns=turns,
            run=attempt.run,
            number=attempt.number,
        )
        return str(kept[0]["before"]) if kept else None

    async def settle(self, attempt: Attempt, spent: Spent, result: Result, state: State = "done") -> bool:
        """End a run with its one result; False where the attempt is superseded, whose result is dropped."""

        async def end(database: Database) -> bool:
            ended = await attempts.settle(database, attempt, spent, result, state)
            if ended and attempt.publish and "bundle" in result.artefacts:
                await publications.add(database, attempt)
            return ended

        return await self.within(end)

    async def give_back(
        self, attempt: Attempt, spent: Spent, why: str, *, failed: bool, pause_s: float = 0.0
    ) -> bool:
        """Let another worker try, after a pause. `failed` counts against the run; a drain does not."""
        return await self.within(
            lambda database: attempts.give_back(database, attempt, spent, why, failed, pause_s)
        )

    # --- slots of model servers ----------------------------------------------------------------

    async def announce(
        self, name: str, slots: int, models: Sequence[Mapping[str, Any]], servers: Mapping[str, int]
    ) -> None:
        """Say that a worker is there, with what; `servers`: how much each model server does at once."""

        async def tell(database: Database) -> None:
            await database.execute(
                """
                INSERT INTO fleet_workers (name, slots, models, version) VALUES (%s, %s, %s, %s)
                ON CONFLICT (name) DO UPDATE SET slots = excluded.slots, models = excluded.models,
                  version = excluded.version, started = now(), seen = now(), draining = false
                """,
                (name, slots, Jsonb(list(models)), __version__),
            )
            for server, number in servers.items():
                await database.execute(
                    """
                    INSERT INTO fleet_slots (server, number) SELECT %s, generate_series(1, %s)
                    ON CONFLICT DO NOTHING
                    """,
                    (server, number),
                )
                await database.execute(
                    "DELETE FROM fleet_slots WHERE server = %s AND number > %s AND run IS NULL",
                    (server, number),
                )

        await self.within(tell)

    async def seen(self, name: str, draining: bool) -> None:
        """A worker's own sign of life, for people; the lease has its own."""
        await self.rows(
            """
            UPDATE fleet_workers SET seen = now(), draining = %(draining)s
            WHERE name = %(name)s RETURNING name
            """,
            name=name,
            draining=draining,
        )

    async def leave(self, name: str) -> None:
        """Take a worker off the list."""
        await self.rows("DELETE FROM fleet_workers WHERE name = %(name)s RETURNING name", name=name)

    async def take_slot(self, attempt: Attempt, server: str) -> bool:
        """Take a slot of a model server; False while all are in use, or the attempt is superseded.

        Asked again, because the answer was lost, it takes no second one. The lock on the run keeps the next
        attempt from beginning meanwhile: its beginning frees what this one holds.
        """
        taken = await self.rows(
            """
            WITH mine AS (
              SELECT id FROM fleet_runs WHERE id = %(run)s AND attempt = %(number)s AND state = 'running'
              FOR SHARE)
            UPDATE fleet_slots SET run = %(run)s, attempt = %(number)s WHERE (server, number) IN (
              SELECT server, number FROM fleet_slots WHERE server = %(server)s
                AND (run IS NULL OR (run = %(run)s AND attempt = %(number)s)) AND EXISTS (SELECT FROM mine)
              ORDER BY run NULLS LAST, number LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING number
            """,
            run=attempt.run,
            number=attempt.number,
            server=server,
        )
        return bool(taken)

    # --- what dead workers left behind ---------------------------------------------------------

    async def sweep(self, limits: Limits) -> int:
        """Put the jobs of dead workers, and what lost its job, into the queue again."""

        async def tidy(database: Database) -> int:
            if not await attempts.take_turn_to_sweep(database):
                return 0
            return await attempts.sweep(database, limits) + await publications.sweep(database)

        return await self.within(tidy)

    async def publish_again(self, batch: str, keys: Sequence[str] = ()) -> int:
        """Try publications that failed once more. Returns how many."""
        return await self.within(lambda database: publications.again(database, batch, keys))

    async def jobs_of(self, worker: int) -> set[int]:
        """The jobs that the engine thinks a worker does."""
        rows = await self.rows(
            "SELECT id FROM procrastinate_jobs WHERE worker_id = %(worker)s AND status = 'doing'",
            worker=worker,
        )
        return {row["id"] for row in rows}

    async def free_jobs(self, worker: int, jobs: Iterable[int]) -> None:
        """Put jobs that a worker never heard of into the queue again."""
        await self.rows(
            """
            UPDATE procrastinate_jobs SET status = 'todo', worker_id = NULL
            WHERE worker_id = %(worker)s AND status = 'doing' AND id = ANY (%(jobs)s) RETURNING id
            """,
            worker=worker,
            jobs=list(jobs),
        )


async def _commit_each(connection: Database) -> None:
    """Let each statement be a transaction, where none was begun: two trips over the network less."""
    await connection.set_autocommit(True)


@asynccontextmanager
async def open_fleet(
    dsn: str, *, connections: int = 2, patience_s: float = _COMMAND_S, check: bool = True
) -> AsyncIterator[Fleet]:
    """Connect to a fleet's database. Raises UsageError for a wrong DSN or another schema, BusyError."""
    # Nothing is prepared, nor set for a session: behind PgBouncer the next statement may meet another one.
    options = {**_CONNECTION, "row_factory": dict_row, "prepare_threshold": None}
    try:
        psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError as error:
        raise UsageError(f"This is no address of a database: {_first_line(error)}.") from error
    pool: AsyncConnectionPool[Database] = AsyncConnectionPool(
        dsn,
        min_size=1,
        max_size=connections,
        open=False,
        kwargs=options,
        configure=_commit_each,
        check=AsyncConnectionPool.check_connection,
        reconnect_timeout=30.0,
        timeout=_WAIT_S,
    )
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # what concerns people is raised here
    try:
        await pool.open()
        fleet = Fleet(pool, patience_s)
        if check:
            await _check_schema(fleet)
        yield fleet
    finally:
        await pool.close(timeout=2.0)


async def make_schema(fleet: Fleet) -> bool:
    """Make the tables of procrastinate and of kith; False where they are there already.

    Raises UsageError for the tables of another version.
    """

    async def make(database: Database) -> bool:
        await database.execute("SELECT pg_advisory_xact_lock(hashtext('kith fleet schema'))")
        known = await _version(database)
        if not await _has_table(database, "procrastinate_jobs"):
            await database.execute(procrastinate.schema.SchemaManager.get_schema())
        if known:  # another role may own the tables: then they stay as they are
            with suppress(psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedFunction):
                async with database.transaction():
                    await database.execute(_PLAN_EACH)
                    await database.execute(_LATER)
            return False
        await database.execute(_PLAN_EACH)
        schema = resources.files(__package__).joinpath("schema.sql").read_text(encoding="utf-8")
        await database.execute(schema.encode())
        await database.execute("INSERT INTO fleet_schema VALUES (%s, %s)", (VERSION, __version__))
        return True

    made = await fleet.within(make)
    await _check_schema(fleet)
    return made


async def _check_schema(fleet: Fleet) -> None:
    version = await fleet.within(_version)
    if version == 0:
        raise UsageError("This database has no fleet yet; `kith fleet init DSN` makes one.")
    if version != VERSION:
        raise UsageError(
            f"The fleet's tables have version {version}, and this kith knows {VERSION}; "
            "use the kith that made them, or a newer one."
        )


async def _version(database: Database) -> int:
    if not await _has_table(database, "fleet_schema"):
        return 0
    rows = await all_rows(database, "SELECT max(version) AS version FROM fleet_schema", {})
    return int(rows[0]["version"] or 0)


async def _has_table(database: Database, name: str) -> bool:
    rows = await all_rows(database, "SELECT to_regclass(%(name)s) IS NOT NULL AS there", {"name": name})
    return bool(rows[0]["there"])


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
