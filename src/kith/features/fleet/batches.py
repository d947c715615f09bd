"""Read batches, runs and workers from the fleet's database, and add up the report of a batch."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, LiteralString

from msgspec import Struct

from kith.core.errors import UsageError
from kith.features.fleet.attempts import Row
from kith.features.fleet.database import Fleet

_VERDICTS: Final = ("proven", "held", "unproven")
_Z: Final = 1.959964  # 95 of 100


class Overview(Struct, frozen=True):
    """A batch in figures: runs by state, and what it has cost."""

    id: str
    name: str
    submitter: str
    submitted: datetime
    waiting: int
    running: int
    done: int
    set_aside: int
    cancelled: int
    usd: float
    max_usd: float | None

    @property
    def total(self) -> int:
        return self.waiting + self.running + self.ended

    @property
    def ended(self) -> int:
        return self.done + self.set_aside + self.cancelled


class WorkerRow(Struct, frozen=True):
    """A worker as it announced itself, with the runs that it does now, and seconds since it was seen."""

    name: str
    slots: int
    models: list[dict[str, Any]]
    version: str
    draining: bool
    silent_s: float
    running: int


class RunRow(Struct, frozen=True):
    """A run, its state and its result. `seconds`: from its first attempt to its end."""

    key: str
    state: str
    verdict: str
    code: int | None
    reason: str
    attempts: int
    worker: str
    repository: str
    request: str
    model: str
    labels: list[str]
    seconds: float | None
    turns: int
    read: int
    written: int
    usd: float
    files: int
    added: int
    removed: int
    published: str
    unpublished: str
    artefacts: dict[str, str]


class Report(Struct, frozen=True):
    """A batch at its end, or so far.

    `solved_low` to `solved_high` is the 95 % interval of the share that was solved. Tokens and dollars are
    those of all attempts.
    """

    batch: Overview
    verdicts: dict[str, int]
    solved: int
    solved_low: float
    solved_high: float
    failures: dict[str, int]
    seconds: float | None
    read: int
    written: int
    usd: float
    runs: list[RunRow]


class Figures(Struct, frozen=True):
    """A fleet in figures, as pairs of a name and a number. `ended`: runs of each of the last 24 hours."""

    states: list[tuple[str, float]]
    verdicts: list[tuple[str, float]]
    tokens: list[tuple[str, float]]
    workers: list[tuple[str, float]]
    ended: list[tuple[int, int]]
    failures: list[tuple[str, int]]
    usd: float
    attempts: int
    failed: int


async def read_figures(fleet: Fleet) -> Figures:
    """Count everything once."""

    async def pairs(statement: LiteralString) -> list[tuple[Any, Any]]:
        return [(row["name"], row["number"]) for row in await fleet.rows(statement)]

    (sums,) = await fleet.rows(
        """
        SELECT coalesce(sum(usd), 0)::float AS usd, coalesce(sum(tokens_read), 0)::bigint AS read,
          coalesce(sum(tokens_written), 0)::bigint AS written, count(*) AS attempts,
          (SELECT coalesce(sum(failures), 0)::bigint FROM fleet_runs) AS failed FROM fleet_attempts
        """
    )
    (workers,) = await fleet.rows(
        "SELECT count(*) AS number, coalesce(sum(slots), 0)::int AS slots FROM fleet_workers"
    )
    return Figures(
        await pairs("SELECT state AS name, count(*) AS number FROM fleet_runs GROUP BY state ORDER BY state"),
        await pairs(
            """
            SELECT verdict AS name, count(*) AS number FROM fleet_runs
            WHERE state = 'done' GROUP BY verdict ORDER BY verdict
            """
        ),
        [("read", sums["read"]), ("written", sums["written"])],
        [("workers", workers["number"]), ("slots", workers["slots"])],
        await pairs(
            """
            SELECT hour AS name, count(runs.id) AS number FROM generate_series(23, 0, -1) hour
            LEFT JOIN fleet_runs runs ON runs.state = 'done'
              AND floor(extract(epoch FROM now() - runs.ended) / 3600) = hour
            GROUP BY hour ORDER BY hour DESC
            """
        ),
        await pairs(
            """
            SELECT reason AS name, count(*)::int AS number FROM fleet_runs
            WHERE state = 'set aside' OR state = 'done' AND code <> 0
            GROUP BY reason ORDER BY count(*) DESC, reason LIMIT 20
            """
        ),
        sums["usd"],
        sums["attempts"],
        sums["failed"],
    )


async def list_batches(fleet: Fleet, batch: str = "") -> list[Overview]:
    """The batches, newest first; with `batch` the one whose id begins so. Raises UsageError for none."""
    rows = await fleet.rows(
        """
        SELECT batches.id, batches.name, submitter, submitted, spent_usd::float AS usd, max_usd::float,
          count(*) FILTER (WHERE state = 'waiting') AS waiting,
          count(*) FILTER (WHERE state = 'running') AS running,
          count(*) FILTER (WHERE state = 'done') AS done,
          count(*) FILTER (WHERE state = 'set aside') AS set_aside,
          count(*) FILTER (WHERE state = 'cancelled') AS cancelled
        FROM fleet_batches batches LEFT JOIN fleet_runs runs ON runs.batch = batches.id
        WHERE left(batches.id, length(%(batch)s)) = %(batch)s OR batches.name = %(batch)s
        GROUP BY batches.id ORDER BY submitted DESC LIMIT 50
        """,
        batch=batch,
    )
    return [Overview(**row) for row in rows]


async def find_batch(fleet: Fleet, batch: str) -> Overview:
    """The one batch with this id, its beginning, or its name. Raises UsageError for none, or several."""
    found = await list_batches(fleet, batch)
    if len(found) == 1:
        return found[0]
    if exact := [each for each in found if each.id == batch]:
        return exact[0]
    what = "Several batches are" if found else "There is no batch"
    raise UsageError(f"{what} called {batch!r}; `kith fleet status` lists them.")


async def list_workers(fleet: Fleet) -> list[WorkerRow]:
    rows = await fleet.rows(
        """
        SELECT name, slots, models, version, draining,
          extract(epoch FROM now() - seen)::float AS silent_s,
          (SELECT count(*) FROM fleet_runs WHERE state = 'running' AND worker = workers.name) AS running
        FROM fleet_workers workers ORDER BY name
        """
    )
    return [WorkerRow(**row) for row in rows]


async def list_runs(fleet: Fleet, batch: str) -> list[RunRow]:
    """All runs of a batch, by key; tokens and dollars are those of all attempts together."""
    rows = await fleet.rows(
        """
        SELECT runs.key, runs.state, runs.verdict, runs.code, runs.reason, runs.worker, runs.published,
          runs.unpublished,
          runs.task, runs.result, coalesce(spent.attempts, 0) AS attempts,
          extract(epoch FROM coalesce(runs.ended, now()) - runs.started)::float AS seconds,
          coalesce(spent.turns, 0) AS turns, coalesce(spent.read, 0) AS read,
          coalesce(spent.written, 0) AS written, coalesce(spent.usd, 0) AS usd
        FROM fleet_runs runs LEFT JOIN (
          SELECT each.run, count(*)::int AS attempts, sum(each.turns)::int AS turns,
            sum(each.tokens_read)::bigint AS read, sum(each.tokens_written)::bigint AS written,
            sum(each.usd)::float AS usd
          FROM fleet_attempts each JOIN fleet_runs on_it ON on_it.id = each.run
          WHERE on_it.batch = %(batch)s GROUP BY each.run) spent ON spent.run = runs.id
        WHERE runs.batch = %(batch)s ORDER BY runs.key
        """,
        batch=batch,
    )
    return [_run(row) for row in rows]


def _run(row: Row) -> RunRow:
    task, result = row["task"], row["result"] or {}
    figures = result.get("figures") or {}
    same = ("key", "state", "verdict", "code", "reason", "attempts", "worker", "published", "unpublished")
    spent = ("seconds", "turns", "read", "written", "usd")
    return RunRow(
        **{name: row[name] for name in (*same, *spent)},
        **{name: figures.get(name, 0) for name in ("files", "added", "removed")},
        repository=task["repository"],
        request=task.get("request", ""),
        model=figures.get("model") or task.get("model", ""),
        labels=list(task.get("labels", ())),
        artefacts=result.get("artefacts") or {},
    )


async def make_report(fleet: Fleet, batch: Overview) -> Report:
    """Add up a batch. Solved: kith's exit code was 0."""
    runs = await list_runs(fleet, batch.id)
    done = [run for run in runs if run.state == "done"]
    solved = sum(run.code == 0 for run in done)
    low, high = wilson(solved, len(done))
    return Report(
        batch,
        dict(Counter(run.verdict for run in done if run.verdict in _VERDICTS)),
        solved,
        low,
        high,
        dict(Counter(_failure(run) for run in runs if run.state == "set aside" or run.code)),
        max((run.seconds for run in runs if run.seconds is not None), default=None),
        sum(run.read for run in runs),
        sum(run.written for run in runs),
        sum(run.usd for run in runs),
        runs,
    )


def _failure(run: RunRow) -> str:
    return run.reason or run.verdict or f"exit code {run.code}"


def wilson(good: int, number: int) -> tuple[float, float]:
    """The 95 % interval of a share; 0 to 1 without any. E. B. Wilson, Probable inference, JASA 22 (1927)."""
    if not number:
        return 0.0, 1.0
    share, square = good / number, _Z * _Z
    middle = share + square / (2 * number)
    half = _Z * ((share * (1 - share) + square / (4 * number)) / number) ** 0.5
    scale = 1 + square / number
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def failures_first(runs: Sequence[RunRow]) -> list[RunRow]:
    """Runs as a person looks at them: what needs attention first."""
    order = {"set aside": 0, "running": 2, "waiting": 3, "cancelled": 4}
    return sorted(runs, key=lambda run: (order.get(run.state, 1 if run.code else 5), run.key))
