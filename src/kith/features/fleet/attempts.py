"""Begin, report, settle and give back attempts at runs, each as one transaction.

The lease of a run is procrastinate's (a job and its worker's heartbeat). The fence is ours: the number of an
attempt, which every write of that attempt carries. A write with an older number changes nothing.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, LiteralString

import psycopg
from msgspec import Struct, field
from psycopg.types.json import Jsonb

from kith.features.fleet.settings import Limits
from kith.features.fleet.tasks import FleetTask, decode_task, encode_task, queue_of

TASK_NAME: Final = "kith.run"
PUBLISH_NAME: Final = "kith.publish"
PUBLISH_QUEUE: Final = "publish"
_PRIORITY: Final = 10_000_000  # virtual starts between two priorities

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


class Batch(Struct, frozen=True):
    """A batch to be submitted; `id` "" makes a new one. `publish`: a git repository for the branches."""

    name: str
    submitter: str
    id: str = ""
    max_usd: float | None = None
    publish: str = ""


async def all_rows(
    database: Database, statement: LiteralString, values: Mapping[str, object]
) -> list[dict[str, Any]]:
    cursor = await database.execute(statement, values)
    return await cursor.fetchall()


async def submit(database: Database, batch: Batch, tasks: Sequence[FleetTask]) -> str:
    """Insert runs and their jobs. The virtual starts follow the submitter's last, or what began last.

    Of two submitters each gets every second place, however long one's list is. Start-time fair queueing:
    P. Goyal, H. M. Vin, H. Cheng, SIGCOMM 1996.
    """
    id = batch.id or secrets.token_hex(4)
    await database.execute(
        """
        INSERT INTO fleet_batches (id, name, submitter, max_usd, publish) VALUES (%s, %s, %s, %s, %s)
        ON CONFLICT (id) DO NOTHING
        """,
        (id, batch.name or id, batch.submitter, batch.max_usd, batch.publish),
    )
    (share,) = await all_rows(
        database,
        """
        INSERT INTO fleet_shares (submitter, last) VALUES (%(submitter)s, 0)
        ON CONFLICT (submitter) DO UPDATE SET submitter = excluded.submitter
        RETURNING greatest(
          last, coalesce((SELECT max(share) FROM fleet_runs WHERE attempt > 0), 0)) AS last
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
    rows = await all_rows(
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
    await defer_runs(database, [row["id"] for row in rows])
    return id


async def defer_runs(database: Database, runs: Sequence[int], pause_s: float = 0.0) -> None:
    """Make the engine's jobs of these runs, in the transaction that made the runs wait."""
    if not runs:
        return
    made = await all_rows(
        database,
        """
        SELECT unnest(procrastinate_defer_jobs_v1(ARRAY(
          SELECT ROW(queue, %(name)s, priority,
            CASE WHEN (task->>'alone')::boolean THEN 'repository:' || md5(task->>'repository') END,
            NULL, jsonb_build_object('run', id),
            CASE WHEN %(pause)s > 0 THEN now() + make_interval(secs => %(pause)s) END
            )::procrastinate_job_to_defer_v1
          FROM fleet_runs WHERE id = ANY (%(runs)s) ORDER BY id))) AS job
        """,
        {"runs": list(runs), "name": TASK_NAME, "pause": pause_s},
    )
    await database.execute(
        """
        UPDATE fleet_runs runs SET job = jobs.id FROM procrastinate_jobs jobs
        WHERE jobs.id = ANY (%(jobs)s) AND runs.id = (jobs.args->>'run')::bigint
        """,
        {"jobs": [row["job"] for row in made]},
    )


async def begin(database: Database, run: int, worker: str, limits: Limits) -> Attempt | None:
    found = await all_rows(
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
        why = "the worker was lost" if died else row["reason"]
        await _end_run(database, run, "set aside", f"{failures} attempts failed; the last one: {why}")
    elif left is not None and left <= 0:
        await _end_run(database, run, "set aside", "the budget of the batch is spent")
    else:
        (begun,) = await all_rows(
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


async def report(database: Database, attempt: Attempt, spent: Spent) -> Standing:
    """Write what is new: what an attempt has cost counts for its batch, even where it is superseded.

    Only a further reply costs anything, so the number of replies tells what is new. A report without news
    writes nothing and locks nothing.
    """
    (row,) = await all_rows(
        database,
        """
        WITH old AS (
          SELECT usd FROM fleet_attempts WHERE run = %(run)s AND attempt = %(number)s AND turns < %(turns)s
          FOR UPDATE),
        new AS (
          UPDATE fleet_attempts SET turns = %(turns)s, tokens_read = %(read)s, tokens_written = %(written)s,
            usd = %(usd)s
          FROM old WHERE run = %(run)s AND attempt = %(number)s
          RETURNING fleet_attempts.usd - old.usd AS more),
        paid AS (
          UPDATE fleet_batches SET spent_usd = spent_usd + more FROM new WHERE id = %(batch)s AND more > 0
          RETURNING spent_usd)
        SELECT runs.attempt, runs.state, runs.cancel,
          coalesce((SELECT spent_usd FROM paid), batches.spent_usd) >= batches.max_usd AS over
        FROM fleet_runs runs JOIN fleet_batches batches ON batches.id = runs.batch WHERE runs.id = %(run)s
        """,
        {
            "run": attempt.run,
            "number": attempt.number,
            "batch": attempt.batch,
            "turns": spent.turns,
            "read": spent.read,
            "written": spent.written,
            "usd": spent.usd,
        },
    )
    if row["attempt"] != attempt.number or row["state"] != "running":
        return "superseded"
    if row["cancel"]:
        return "cancelled"
    return "over budget" if row["over"] else "go on"


async def settle(database: Database, attempt: Attempt, spent: Spent, result: Result, state: State) -> bool:
    await report(database, attempt, spent)
    ended = await all_rows(
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
    return bool(ended)


async def give_back(
    database: Database, attempt: Attempt, spent: Spent, why: str, failed: bool, pause_s: float
) -> bool:
    await report(database, attempt, spent)
    waits = await all_rows(
        database,
        """
        UPDATE fleet_runs SET state = 'waiting', failures = failures + %(failed)s, reason = %(why)s
        WHERE id = %(run)s AND attempt = %(number)s AND state = 'running' RETURNING id
        """,
        {"failed": int(failed), "why": why, "run": attempt.run, "number": attempt.number},
    )
    await _end_attempt(database, attempt.run, attempt.number, why)
    await defer_runs(database, [row["id"] for row in waits], pause_s)
    return bool(waits)


async def take_turn_to_sweep(database: Database) -> bool:
    """Until the transaction ends there is one sweeper; the others come again later."""
    (lock,) = await all_rows(
        database, "SELECT pg_try_advisory_xact_lock(hashtext('kith fleet sweep')) AS mine", {}
    )
    return bool(lock["mine"])


async def sweep(database: Database, limits: Limits) -> int:
    stalled = await all_rows(
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
    lost = await all_rows(
        database,
        """
        SELECT id FROM fleet_runs runs WHERE state IN ('waiting', 'running') AND NOT EXISTS (
          SELECT 1 FROM procrastinate_jobs jobs WHERE jobs.id = runs.job AND jobs.status IN ('todo', 'doing'))
        FOR UPDATE SKIP LOCKED
        """,
        {},
    )
    await defer_runs(database, [row["id"] for row in lost])
    # What an attempt holds that is over. The row is compared again as it is freed: it may have changed hands.
    await database.execute(
        """
        UPDATE fleet_slots slots SET run = NULL, attempt = NULL FROM (
          SELECT server, number, run, attempt FROM fleet_slots held
          WHERE run IS NOT NULL AND NOT EXISTS (SELECT FROM fleet_runs runs
            WHERE runs.id = held.run AND runs.attempt = held.attempt AND runs.state = 'running')) stale
        WHERE (slots.server, slots.number, slots.run, slots.attempt)
          = (stale.server, stale.number, stale.run, stale.attempt)
        """
    )
    await database.execute(
        "DELETE FROM fleet_workers WHERE seen < now() - make_interval(secs => %s)", (limits.silence_s * 4,)
    )
    return len(stalled) + len(lost)
