"""The branches of ended runs on their way into a repository, as rows; each step is one transaction.

The fence is that of attempts. A publication belongs to one attempt at a run. Once the run is tried again,
nothing that the older one writes has an effect.
"""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from kith.features.fleet.attempts import PUBLISH_NAME, PUBLISH_QUEUE, Attempt, Database, all_rows
from kith.features.fleet.settings import Limits
from kith.features.fleet.tasks import FleetTask, decode_task

_DAY_S: Final = 24 * 3600.0  # a publication that only waits is given up after that
# GitHub's limits for what creates content; the other forges allow more.
_A_MINUTE: Final = 80
_AN_HOUR: Final = 500
_SLACK_S: Final = 0.01
# A publication that still counts: its run has ended, and was not tried again since.
_CURRENT: Final = """
    run = %(run)s AND publications.attempt = %(attempt)s AND publications.state = 'waiting'
    AND EXISTS (SELECT 1 FROM fleet_runs runs WHERE runs.id = publications.run
      AND runs.attempt = publications.attempt AND runs.state = 'done')
"""


class Publication(Struct, frozen=True):
    """A branch that is to be in the repository `target`. `bundle`, `receipt`: artefacts."""

    run: int
    attempt: int
    batch: str
    task: FleetTask
    base: str
    verdict: str
    target: str
    bundle: str
    receipt: str
    tries: int

    @property
    def branch(self) -> str:
        return f"kith/{self.batch}/{self.task.key}"

    @property
    def name(self) -> str:
        """A name for files; no key has a tilde."""
        return f"{self.batch}-{self.task.key}~{self.attempt}"


async def add(database: Database, attempt: Attempt) -> None:
    """Let the result of an attempt be published, in the transaction that settled it."""
    await database.execute(
        """
        INSERT INTO fleet_publications (run, attempt) VALUES (%s, %s)
        ON CONFLICT (run) DO UPDATE SET attempt = excluded.attempt, state = 'waiting', since = now(),
          tries = 0, opened = NULL, reason = ''
        """,
        (attempt.run, attempt.number),
    )
    await _defer(database, [attempt.run])


async def _defer(database: Database, runs: Sequence[int], pause_s: float = 0.0) -> None:
    if not runs:
        return
    made = await all_rows(
        database,
        """
        SELECT unnest(procrastinate_defer_jobs_v1(ARRAY(
          SELECT ROW(%(queue)s, %(name)s, 0, NULL, NULL, jsonb_build_object('run', run),
            CASE WHEN %(pause)s > 0 THEN now() + make_interval(secs => %(pause)s) END
            )::procrastinate_job_to_defer_v1
          FROM unnest(%(runs)s::bigint[]) AS wanted (run)))) AS job
        """,
        {"queue": PUBLISH_QUEUE, "name": PUBLISH_NAME, "runs": list(runs), "pause": pause_s},
    )
    await database.execute(
        """
        UPDATE fleet_publications publications SET job = jobs.id FROM procrastinate_jobs jobs
        WHERE jobs.id = ANY (%s) AND publications.run = (jobs.args->>'run')::bigint
        """,
        ([row["job"] for row in made],),
    )


async def begin(database: Database, run: int, limits: Limits) -> Publication | None:
    """Begin the next try; None where there is nothing to publish any more, or too many tries have failed."""
    rows = await all_rows(
        database,
        """
        UPDATE fleet_publications publications SET tries = tries + 1
        FROM fleet_runs runs JOIN fleet_batches batches ON batches.id = runs.batch
        WHERE publications.run = %(run)s AND publications.state = 'waiting' AND runs.id = publications.run
          AND runs.state = 'done' AND runs.attempt = publications.attempt
        RETURNING runs.id AS run, runs.attempt, runs.batch, runs.task, runs.base, runs.verdict,
          batches.publish AS target, runs.result->'artefacts'->>'bundle' AS bundle,
          coalesce(runs.result->'artefacts'->>'receipt', '') AS receipt, publications.tries,
          publications.reason
        """,
        {"run": run},
    )
    if not rows:
        return None
    row = rows[0]
    reason = row.pop("reason")
    publication = Publication(**{**row, "task": decode_task(row["task"])})
    if publication.tries > limits.attempts:
        await fail(database, publication, f"{reason or 'the worker was lost'} (tries: {limits.attempts})")
        return None
    return publication


async def intend(database: Database, publication: Publication, commit: str) -> list[str] | None:
    """Note a commit before it is pushed; all that were noted before. None: the run was tried again."""
    rows = await all_rows(
        database,
        f"""
        UPDATE fleet_publications publications
        SET commits = array_append(array_remove(commits, %(commit)s), %(commit)s)
        WHERE {_CURRENT} RETURNING commits
        """,
        _values(publication, commit=commit),
    )
    return list(rows[0]["commits"]) if rows else None


async def take_turn(database: Database, publication: Publication) -> float:
    """Take a turn at the forge, or keep the one that was taken; the seconds until then.

    All publishers together open so many pull requests a minute and an hour, and no more.
    """
    await database.execute("SELECT pg_advisory_xact_lock(hashtext('kith fleet turns'))")
    rows = await all_rows(
        database,
        f"""
        UPDATE fleet_publications publications SET opened = coalesce(opened, greatest(clock_timestamp(),
          (SELECT opened FROM fleet_publications WHERE opened IS NOT NULL
            ORDER BY opened DESC OFFSET {_A_MINUTE - 1} LIMIT 1) + interval '1 minute',
          (SELECT opened FROM fleet_publications WHERE opened IS NOT NULL
            ORDER BY opened DESC OFFSET {_AN_HOUR - 1} LIMIT 1) + interval '1 hour'))
        WHERE {_CURRENT} RETURNING extract(epoch FROM opened - clock_timestamp())::float AS pause_s
        """,
        _values(publication),
    )
    pause_s = float(rows[0]["pause_s"]) if rows else 0.0
    return pause_s if pause_s > _SLACK_S else 0.0


async def finish(database: Database, publication: Publication, url: str) -> bool:
    """Note where the change is; False where the run was tried again."""
    return await _end(database, publication, "published", url=url, published=url or publication.branch)


async def fail(database: Database, publication: Publication, why: str) -> bool:
    """Give up, and say why in the run's row."""
    return await _end(database, publication, "failed", reason=why, unpublished=why)


async def _end(database: Database, publication: Publication, state: str, **values: str) -> bool:
    told = {"url": "", "reason": "", "published": "", "unpublished": ""} | values
    rows = await all_rows(
        database,
        f"""
        WITH ended AS (
          UPDATE fleet_publications publications SET state = %(state)s, url = %(url)s, reason = %(reason)s
          WHERE {_CURRENT} RETURNING run)
        UPDATE fleet_runs SET published = %(published)s, unpublished = %(unpublished)s
        FROM ended WHERE fleet_runs.id = ended.run RETURNING fleet_runs.id
        """,
        _values(publication, state=state, **told),
    )
    return bool(rows)


async def postpone(
    database: Database, publication: Publication, why: str, pause_s: float, *, failed: bool
) -> None:
    """Try later. A try that did not fail counts as none, and keeps its turn; after a day it is given up."""
    rows = await all_rows(
        database,
        f"""
        UPDATE fleet_publications publications SET reason = %(why)s, tries = tries - %(back)s,
          opened = CASE WHEN %(keep)s THEN opened END
        WHERE {_CURRENT} RETURNING since < now() - make_interval(secs => %(day)s) AS old
        """,
        _values(publication, why=why, back=int(not failed), keep=not failed and not why, day=_DAY_S),
    )
    if rows and rows[0]["old"]:
        await fail(database, publication, f"given up after a day: {why or 'its turn did not come'}")
    elif rows:
        await _defer(database, [publication.run], pause_s)


async def again(database: Database, batch: str, keys: Sequence[str]) -> int:
    """Let publications that failed be tried again. Returns how many."""
    rows = await all_rows(
        database,
        """
        UPDATE fleet_publications publications SET state = 'waiting', since = now(), tries = 0,
          opened = NULL, reason = ''
        FROM fleet_runs runs WHERE runs.id = publications.run AND runs.batch = %(batch)s
          AND publications.state = 'failed' AND runs.state = 'done' AND runs.attempt = publications.attempt
          AND (%(all)s OR runs.key = ANY (%(keys)s))
        RETURNING publications.run
        """,
        {"batch": batch, "all": not keys, "keys": list(keys)},
    )
    runs = [row["run"] for row in rows]
    await database.execute("UPDATE fleet_runs SET unpublished = '' WHERE id = ANY (%s)", (runs,))
    await _defer(database, runs)
    return len(runs)


async def sweep(database: Database) -> int:
    """Make the jobs of publications whose job was lost."""
    rows = await all_rows(
        database,
        """
        SELECT publications.run FROM fleet_publications publications
        JOIN fleet_runs runs ON runs.id = publications.run AND runs.attempt = publications.attempt
        WHERE publications.state = 'waiting' AND runs.state = 'done'
          AND NOT EXISTS (
            SELECT 1 FROM procrastinate_jobs jobs
            WHERE jobs.id = publications.job AND jobs.status IN ('todo', 'doing'))
        FOR UPDATE OF publications SKIP LOCKED
        """,
        {},
    )
    await _defer(database, [row["run"] for row in rows])
    return len(rows)


def _values(publication: Publication, **more: Any) -> dict[str, Any]:
    return {"run": publication.run, "attempt": publication.attempt, **more}
