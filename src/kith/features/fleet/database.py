"""The fleet's database: every statement on its tables, and what they answer as values.

The lease of a run is procrastinate's (a job and its worker's heartbeat); the fence is ours: the number of an
attempt, which every write of that attempt carries. A write with an older number changes nothing.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import resources
from typing import Any, Final, Literal, LiteralString, TypeVar

import procrastinate
import psycopg
from msgspec import Struct, field
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from kith import __version__
from kith.core.errors import BusyError, KithError, UsageError
from kith.features.fleet.settings import Limits
from kith.features.fleet.tasks import FleetTask, decode_task, encode_task, queue_of

VERSION: Final = 1  # of schema.sql
TASK_NAME: Final = "kith.run"
PUBLISH_NAME: Final = "kith.publish"
PUBLISH_QUEUE: Final = "publish"
_PRIORITY: Final = 10_000_000  # virtual starts between two priorities
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
_COMMAND_S: Final = 10.0  # for commands that a person waits for

T = TypeVar("T")
Database = psycopg.AsyncConnection[dict[str, Any]]
Row = Mapping[str, Any]
State = Literal["waiting", "running", "done", "set aside", "cancelled"]


class Attempt(Struct, frozen=True):
    """One worker's try at a run. `left_usd`: what the batch may still spend, None without a budget."""

    run: int
    number: int
    batch: str
    task: FleetTask
    base: str
    checkpoint: str
    turns: int
    failures: int
    left_usd: float | None
    publish: str


class Spent(Struct, frozen=True):
    """Replies, tokens and dollars of one attempt."""

    turns: int = 0
    read: int = 0
    written: int = 0
    usd: float = 0.0


# What an attempt is to do, as the database sees it.
Standing = Literal["go on", "superseded", "cancelled", "over budget"]


class Result(Struct, frozen=True):
    """The end of a run: kith's exit code, its verdict and reason, figures, and artefacts by name."""

    verdict: str
    code: int
    reason: str = ""
    figures: dict[str, Any] = field(default_factory=dict)
    artefacts: dict[str, str] = field(default_factory=dict)


class Fleet:
    """The database of a fleet. Every method raises KithError where it cannot be reached in `patience_s`."""

    def __init__(self, pool: "AsyncConnectionPool[Database]", patience_s: float = _COMMAND_S) -> None:
        self.pool, self.patience_s = pool, patience_s

    async def within(self, work: Callable[[Database], Awaitable[T]]) -> T:
        """Do it in one transaction; where the connection fails, once more, until the patience ends."""
        loop = asyncio.get_running_loop()
        end, tries = loop.time() + self.patience_s, 0
        while True:
            try:
                async with self.pool.connection(timeout=min(10.0, self.patience_s)) as database:
                    return await work(database)
            except (psycopg.OperationalError, PoolTimeout) as error:
                pause = _PAUSES[min(tries, len(_PAUSES) - 1)]
                tries += 1
                if loop.time() + pause > end:
                    raise BusyError(f"The fleet's database does not answer: {_first_line(error)}.") from error
                await asyncio.sleep(pause)
            except psycopg.Error as error:
                raise KithError(f"The fleet's database refuses: {_first_line(error)}.") from error

    async def rows(self, statement: LiteralString, **values: object) -> list[dict[str, Any]]:
        """The rows of one statement."""

        async def ask(database: Database) -> list[dict[str, Any]]:
            return await _all(database, statement, values)

        return await self.within(ask)

    # --- tasks ---------------------------------------------------------------------------------

    async def submit(self, batch: "Batch", tasks: Sequence[FleetTask]) -> str:
        """Add a batch, or to it: a task whose key is there already is left as it is. Returns its id."""
        return await self.within(lambda database: _submit(database, batch, tasks))

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
            if max_usd is not None:
                await database.execute(
                    "UPDATE fleet_batches SET max_usd = %s WHERE id = %s", (max_usd, batch)
                )
            rows = await _all(
                database,
                """
                UPDATE fleet_runs SET state = 'waiting', cancel = false, failures = 0, ended = NULL,
                  verdict = '', code = NULL, reason = '', result = NULL, published = '',
                  checkpoint = CASE state WHEN 'set aside' THEN checkpoint ELSE '' END
                WHERE batch = %(batch)s AND (state IN ('set aside', 'cancelled') AND %(all)s
                  OR state IN ('set aside', 'cancelled', 'done') AND key = ANY (%(keys)s))
                RETURNING id
                """,
                {"batch": batch, "all": not keys, "keys": list(keys)},
            )
            await _defer(database, [row["id"] for row in rows])
            return len(rows)

        return await self.within(again)

    # --- attempts ------------------------------------------------------------------------------

    async def begin(self, run: int, worker: str, limits: Limits) -> Attempt | None:
        """Begin the next attempt at a run, which ends the rights of the one before.

        None where the run has ended, or ends here: cancelled, over budget, too many failures.
        """
        return await self.within(lambda database: _begin(database, run, worker, limits))

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
        return await self.within(lambda database: _report(database, attempt, spent))

    async def keep_checkpoint(self, attempt: Attempt, digest: str, turns: int) -> bool:
        """Make a checkpoint the one to resume from; False where the attempt is superseded."""
        kept = await self.rows(
            """
            UPDATE fleet_runs SET checkpoint = %(digest)s, turns = %(turns)s
            WHERE id = %(run)s AND attempt = %(number)s AND state = 'running' RETURNING id
            """,
            digest=digest,
            turns=turns,
            run=attempt.run,
            number=attempt.number,
        )
        return bool(kept)

    async def settle(self, attempt: Attempt, spent: Spent, result: Result, state: State = "done") -> bool:
        """End a run with its one result; False where the attempt is superseded, whose result is dropped."""
        return await self.within(lambda database: _settle(database, attempt, spent, result, state))

    async def give_back(self, attempt: Attempt, spent: Spent, why: str, *, failed: bool) -> bool:
        """Let another worker try. `failed` counts against the run; a drained worker does not."""
        return await self.within(lambda database: _give_back(database, attempt, spent, why, failed))

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
        """Take a slot of a model server; False while all are in use."""
        taken = await self.rows(
            """
            UPDATE fleet_slots SET run = %(run)s, attempt = %(number)s WHERE (server, number) IN (
              SELECT server, number FROM fleet_slots WHERE server = %(server)s AND run IS NULL
              ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING number
            """,
            run=attempt.run,
            number=attempt.number,
            server=server,
        )
        return bool(taken)

    # --- what dead workers left behind ---------------------------------------------------------

    async def sweep(self, limits: Limits) -> int:
        """Put the jobs of dead workers, and runs whose job was lost, into the queue again."""
        return await self.within(lambda database: _sweep(database, limits))

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


class Batch(Struct, frozen=True):
    """A batch to be submitted; `id` "" makes a new one. `publish`: a git repository for the branches."""

    name: str
    submitter: str
    id: str = ""
    max_usd: float | None = None
    publish: str = ""


@asynccontextmanager
async def open_fleet(
    dsn: str, *, connections: int = 2, patience_s: float = _COMMAND_S, check: bool = True
) -> AsyncIterator[Fleet]:
    """Connect to a fleet's database. Raises UsageError for a wrong DSN or another schema, BusyError."""
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
        check=AsyncConnectionPool.check_connection,
        reconnect_timeout=30.0,
    )
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
        if await _version(database):
            return False
        if not await _has_table(database, "procrastinate_jobs"):
            await database.execute(procrastinate.schema.SchemaManager.get_schema())
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
    rows = await _all(database, "SELECT max(version) AS version FROM fleet_schema", {})
    return int(rows[0]["version"] or 0)


async def _has_table(database: Database, name: str) -> bool:
    rows = await _all(database, "SELECT to_regclass(%(name)s) IS NOT NULL AS there", {"name": name})
    return bool(rows[0]["there"])


async def _all(
    database: Database, statement: LiteralString, values: Mapping[str, object]
) -> list[dict[str, Any]]:
    cursor = await database.execute(statement, values)
    return await cursor.fetchall()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


# --- the transactions ------------------------------------------------------------------------------


async def _submit(database: Database, batch: Batch, tasks: Sequence[FleetTask]) -> str:
    """Insert runs and their jobs. The virtual starts follow the submitter's last, or what runs now.

    Start-time fair queueing: of two submitters each gets every second place, however long one's list is.
    """
    id = batch.id or secrets.token_hex(4)
    await database.execute(
        """
        INSERT INTO fleet_batches (id, name, submitter, max_usd, publish) VALUES (%s, %s, %s, %s, %s)
        ON CONFLICT (id) DO NOTHING
        """,
        (id, batch.name or id, batch.submitter, batch.max_usd, batch.publish),
    )
    (share,) = await _all(
        database,
        """
        INSERT INTO fleet_shares (submitter, last) VALUES (%(submitter)s, 0)
        ON CONFLICT (submitter) DO UPDATE SET submitter = excluded.submitter
        RETURNING greatest(
          last, coalesce((SELECT max(share) FROM fleet_runs WHERE state = 'running'), 0)) AS last
        """,
        {"submitter": batch.submitter},
    )
    last = int(share["last"])
    await database.execute(
        "CREATE TEMP TABLE submitted (key text, task jsonb, queue text, priority integer, share bigint)"
        " ON COMMIT DROP"
    )
    ordered = sorted(tasks, key=lambda task: -task.priority)
    async with database.cursor().copy("COPY submitted FROM STDIN") as copy:
        for number, task in enumerate(ordered, last + 1):
            priority = task.priority * _PRIORITY - number % _PRIORITY
            row = (task.key, encode_task(task), queue_of(task.model), priority, number)
            await copy.write_row(row)
    rows = await _all(
        database,
        """
        INSERT INTO fleet_runs (batch, key, task, queue, priority, share)
        SELECT %(batch)s, key, task, queue, priority, share FROM submitted ORDER BY share
        ON CONFLICT (batch, key) DO NOTHING
        RETURNING id
        """,
        {"batch": id},
    )
    await database.execute(
        "UPDATE fleet_shares SET last = %s WHERE submitter = %s", (last + len(ordered), batch.submitter)
    )
    await _defer(database, [row["id"] for row in rows])
    return id


async def _defer(database: Database, runs: Sequence[int]) -> None:
    """Make the engine's jobs of these runs, in the transaction that made the runs wait."""
    if not runs:
        return
    made = await _all(
        database,
        """
        SELECT unnest(procrastinate_defer_jobs_v1(ARRAY(
          SELECT ROW(queue, %(name)s, priority,
            CASE WHEN (task->>'alone')::boolean THEN 'repository:' || md5(task->>'repository') END,
            NULL, jsonb_build_object('run', id), NULL)::procrastinate_job_to_defer_v1
          FROM fleet_runs WHERE id = ANY (%(runs)s) ORDER BY id))) AS job
        """,
        {"runs": list(runs), "name": TASK_NAME},
    )
    await database.execute(
        """
        UPDATE fleet_runs runs SET job = jobs.id FROM procrastinate_jobs jobs
        WHERE jobs.id = ANY (%(jobs)s) AND runs.id = (jobs.args->>'run')::bigint
        """,
        {"jobs": [row["job"] for row in made]},
    )


async def _begin(database: Database, run: int, worker: str, limits: Limits) -> Attempt | None:
    found = await _all(
        database,
        """
        SELECT runs.*, batches.max_usd, batches.spent_usd, batches.publish
        FROM fleet_runs runs JOIN fleet_batches batches ON batches.id = runs.batch
        WHERE runs.id = %(run)s FOR UPDATE OF runs
        """,
        {"run": run},
    )
    if not found or found[0]["state"] not in ("waiting", "running"):
        return None
    row = found[0]
    died = row["state"] == "running"  # its worker said nothing any more
    failures = row["failures"] + died
    if died:
        await _end_attempt(database, run, row["attempt"], "the worker was lost")
    left = None if row["max_usd"] is None else float(row["max_usd"] - row["spent_usd"])
    if row["cancel"]:
        await _end_run(database, run, "cancelled", "")
    elif failures >= limits.attempts:
        await _end_run(database, run, "set aside", f"{failures} attempts ended without a result")
    elif left is not None and left <= 0:
        await _end_run(database, run, "set aside", "the budget of the batch is spent")
    else:
        (begun,) = await _all(
            database,
            """
            UPDATE fleet_runs SET attempt = attempt + 1, state = 'running', failures = %(failures)s,
              worker = %(worker)s, started = coalesce(started, now())
            WHERE id = %(run)s RETURNING attempt
            """,
            {"run": run, "failures": failures, "worker": worker},
        )
        number = int(begun["attempt"])
        await database.execute(
            "INSERT INTO fleet_attempts (run, attempt, worker) VALUES (%s, %s, %s)", (run, number, worker)
        )
        task = decode_task(row["task"])
        return Attempt(
            run,
            number,
            row["batch"],
            task,
            row["base"],
            row["checkpoint"],
            row["turns"],
            failures,
            left,
            row["publish"],
        )
    return None


async def _end_run(database: Database, run: int, state: State, reason: str) -> None:
    await database.execute(
        "UPDATE fleet_runs SET state = %s, reason = %s, ended = now(), attempt = attempt + 1 WHERE id = %s",
        (state, reason, run),
    )


async def _end_attempt(database: Database, run: int, number: int, why: str) -> None:
    """Note an attempt's end, and free the slots that it held."""
    await database.execute(
        "UPDATE fleet_attempts SET ended = now(), why = %s WHERE run = %s AND attempt = %s AND ended IS NULL",
        (why, run, number),
    )
    await database.execute(
        "UPDATE fleet_slots SET run = NULL, attempt = NULL WHERE run = %s AND attempt <= %s", (run, number)
    )


async def _report(database: Database, attempt: Attempt, spent: Spent) -> Standing:
    await _spend(database, attempt, spent)
    (row,) = await _all(
        database,
        """
        SELECT runs.attempt, runs.state, runs.cancel,
          coalesce(batches.spent_usd >= batches.max_usd, false) AS over
        FROM fleet_runs runs JOIN fleet_batches batches ON batches.id = runs.batch WHERE runs.id = %(run)s
        """,
        {"run": attempt.run},
    )
    if row["attempt"] != attempt.number or row["state"] != "running":
        return "superseded"
    if row["cancel"]:
        return "cancelled"
    return "over budget" if row["over"] else "go on"


async def _spend(database: Database, attempt: Attempt, spent: Spent) -> None:
    """Write an attempt's figures; what it cost counts for the batch, even where it is superseded."""
    rows = await _all(
        database,
        "SELECT usd, turns FROM fleet_attempts WHERE run = %(run)s AND attempt = %(number)s FOR UPDATE",
        {"run": attempt.run, "number": attempt.number},
    )
    more = spent.usd - float(rows[0]["usd"])
    if more <= 0 and spent.turns == rows[0]["turns"]:
        return
    await database.execute(
        """
        UPDATE fleet_attempts SET turns = %s, tokens_read = %s, tokens_written = %s, usd = %s
        WHERE run = %s AND attempt = %s
        """,
        (spent.turns, spent.read, spent.written, spent.usd, attempt.run, attempt.number),
    )
    if more > 0:
        await database.execute(
            "UPDATE fleet_batches SET spent_usd = spent_usd + %s WHERE id = %s", (more, attempt.batch)
        )


async def _settle(database: Database, attempt: Attempt, spent: Spent, result: Result, state: State) -> bool:
    await _spend(database, attempt, spent)
    ended = await _all(
        database,
        """
        UPDATE fleet_runs SET state = %(state)s, ended = now(), verdict = %(verdict)s, code = %(code)s,
          reason = %(reason)s, result = %(result)s
        WHERE id = %(run)s AND attempt = %(number)s AND state = 'running' RETURNING id
        """,
        {
            "state": state,
            "verdict": result.verdict,
            "code": result.code,
            "reason": result.reason,
            "result": Jsonb({"figures": result.figures, "artefacts": result.artefacts}),
            "run": attempt.run,
            "number": attempt.number,
        },
    )
    await _end_attempt(database, attempt.run, attempt.number, result.reason or result.verdict)
    if ended and attempt.publish and "bundle" in result.artefacts:
        await database.execute(
            """
            SELECT procrastinate_defer_jobs_v1(ARRAY[ROW(%s, %s, 0, NULL, NULL,
              jsonb_build_object('run', %s::bigint), NULL)::procrastinate_job_to_defer_v1])
            """,
            (PUBLISH_QUEUE, PUBLISH_NAME, attempt.run),
        )
    return bool(ended)


async def _give_back(database: Database, attempt: Attempt, spent: Spent, why: str, failed: bool) -> bool:
    await _spend(database, attempt, spent)
    waits = await _all(
        database,
        """
        UPDATE fleet_runs SET state = 'waiting', failures = failures + %(failed)s, reason = %(why)s
        WHERE id = %(run)s AND attempt = %(number)s AND state = 'running' RETURNING id
        """,
        {"failed": int(failed), "why": why, "run": attempt.run, "number": attempt.number},
    )
    await _end_attempt(database, attempt.run, attempt.number, why)
    await _defer(database, [row["id"] for row in waits])
    return bool(waits)


async def _sweep(database: Database, limits: Limits) -> int:
    """One sweeper at a time: the others find the lock taken, and come again later."""
    (lock,) = await _all(
        database, "SELECT pg_try_advisory_xact_lock(hashtext('kith fleet sweep')) AS mine", {}
    )
    if not lock["mine"]:
        return 0
    stalled = await _all(
        database,
        """
        UPDATE procrastinate_jobs jobs SET status = 'todo', worker_id = NULL, attempts = attempts + 1
        WHERE status = 'doing' AND (worker_id IS NULL OR EXISTS (
          SELECT 1 FROM procrastinate_workers workers WHERE workers.id = jobs.worker_id
            AND workers.last_heartbeat < now() - make_interval(secs => %(silence)s)))
        RETURNING id
        """,
        {"silence": limits.silence_s},
    )
    lost = await _all(
        database,
        """
        SELECT id FROM fleet_runs runs WHERE state IN ('waiting', 'running') AND NOT EXISTS (
          SELECT 1 FROM procrastinate_jobs jobs WHERE jobs.id = runs.job AND jobs.status IN ('todo', 'doing'))
        FOR UPDATE SKIP LOCKED
        """,
        {},
    )
    await _defer(database, [row["id"] for row in lost])
    await database.execute(
        "DELETE FROM fleet_workers WHERE seen < now() - make_interval(secs => %s)", (limits.silence_s * 4,)
    )
    return len(stalled) + len(lost)
