"""How many workers one database holds: costs of statements, measured, and sums over them, computed.

    python benchmarks/fleet_model.py --dsn DSN

DSN names an empty database of a PostgreSQL on this machine that nobody else uses: its processes' CPU time is
what a statement costs. Nothing is simulated: the statements are those of the fleet's own code. The numbers
for thousands of workers are a model. It adds up what was measured with tens of connections, and knows nothing
of what happens between thousands of them.

What the model assumes: every worker has one slot and is at work all the time. A reply of a model takes 15 s.
Nobody pays for replies. `silence_seconds` and `checkpoint_turns` are 30 and 5, their defaults.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, Final

import psycopg
from msgspec import Struct

from kith.features.fleet.attempts import Attempt, Batch, Result, Spent
from kith.features.fleet.database import Fleet, make_schema, open_fleet
from kith.features.fleet.settings import Limits
from kith.features.fleet.tasks import FleetTask, name_tasks, queue_of

JOBS: Final = 40_000
TICK: Final = os.sysconf("SC_CLK_TCK")
REPLY_S: Final = 15.0
LIMITS: Final = Limits()
LISTENERS: Final = (0, 50, 150)
FETCH: Final = "SELECT id, args FROM procrastinate_fetch_job_v2(%(queues)s::varchar[], %(worker)s)"

Do = Callable[[int], Awaitable[object]]  # by one of the connections, again and again


class Cost(Struct, frozen=True):
    """What one statement (or transaction) of a kind costs."""

    name: str
    a_second: float
    cpu_ms: float
    wal_bytes: float
    median_ms: float
    p99_ms: float


class Database:
    """The processes of the server, by their CPU time, and what it has written."""

    def __init__(self, beside: psycopg.Connection[Any]) -> None:
        self.beside = beside
        backend = beside.info.backend_pid
        self.master = int(_stat(backend)[1])

    def cpu_s(self) -> float:
        """Of all processes, those that have ended included."""
        children = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
        own = [stat for each in children if (stat := _stat(each)) and int(stat[1]) == self.master]
        ticks = sum(int(stat[11]) + int(stat[12]) for stat in own)
        gone = _stat(self.master)
        return (ticks + int(gone[13]) + int(gone[14])) / TICK

    def wal(self) -> int:
        row = self.beside.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").fetchone()
        assert row
        return int(row[0])


def _stat(process: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; [] for one that is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


async def measure(name: str, do: Do, database: Database, args: argparse.Namespace) -> Cost:
    """Do it over all connections at once, as often as it goes."""
    seconds = list[float]()
    ends = time.monotonic() + args.seconds

    async def again(number: int) -> None:
        while (begun := time.monotonic()) < ends:
            await do(number)
            seconds.append(time.monotonic() - begun)

    cpu, wal, begun = database.cpu_s(), database.wal(), time.monotonic()
    await asyncio.gather(*(again(number) for number in range(args.connections)))
    cpu, wal, took = database.cpu_s() - cpu, database.wal() - wal, time.monotonic() - begun
    number = len(seconds)
    p99 = sorted(seconds)[int(0.99 * number)]
    return Cost(name, number / took, 1000 * cpu / number, wal / number, 1000 * median(seconds), 1000 * p99)


def kinds(fleet: Fleet, attempts: list[Attempt], workers: list[int]) -> Iterator[tuple[str, Do]]:
    """Every kind of statement that workers send."""
    queues, turns = [queue_of("")], count(1)

    async def begin(_: int) -> None:
        (row,) = await fleet.rows(FETCH, queues=queues, worker=workers[0])
        if row["id"] is not None:
            attempts_begun.append((await fleet.begin(row["args"]["run"], "w", LIMITS), row["id"]))

    attempts_begun = list[tuple[Attempt | None, int]]()

    async def end(_: int) -> None:
        attempt, _job = attempts_begun.pop() if attempts_begun else (attempts[-1], 0)
        assert attempt
        await fleet.settle(attempt, Spent(), Result("held", 0, "", {"files": 1}, {"patch": "0" * 64}))

    async def finish(number: int) -> None:
        await fleet.rows(
            "SELECT procrastinate_finish_job_v1(%(job)s, 'succeeded', true) WHERE EXISTS "
            "(SELECT 1 FROM procrastinate_jobs WHERE id = %(job)s AND status = 'doing')",
            job=fetched.pop() if fetched else number,
        )

    fetched = list[int]()

    async def fetch(number: int) -> None:
        (row,) = await fleet.rows(FETCH, queues=queues, worker=workers[number])
        if row["id"] is not None:
            fetched.append(row["id"])

    yield "fetch", fetch
    yield "fetch, none waits", lambda n: fleet.rows(FETCH, queues=["nothing"], worker=workers[n])
    yield "finish", finish
    yield "fetch and begin", begin
    yield "end", end
    yield "report", lambda n: fleet.report(attempts[n], Spent())
    yield "report of a reply", lambda n: fleet.report(attempts[n], Spent(next(turns), 10, 2))
    yield "checkpoint", lambda n: fleet.keep_checkpoint(attempts[n], f"{next(turns):064}", 1)
    yield (
        "heartbeat",
        lambda n: fleet.rows("SELECT procrastinate_update_heartbeat_v1(%(id)s)", id=workers[n]),
    )
    yield "sign of life", lambda n: fleet.seen(f"worker{n}", False)
    yield "own jobs", lambda n: fleet.jobs_of(workers[n])
    yield "sweep", lambda _: fleet.sweep(LIMITS)


async def notifications(args: argparse.Namespace, fleet: Fleet, database: Database) -> dict[int, Cost]:
    """A new job, with some workers that listen."""
    found = dict[int, Cost]()
    for number in LISTENERS:
        listeners = [await psycopg.AsyncConnection.connect(args.dsn, autocommit=True) for _ in range(number)]
        for each in listeners:
            await each.execute('LISTEN "procrastinate_queue_v1#heard"')
        found[number] = await measure(
            f"new job, {number} listen",
            lambda _: fleet.rows(
                """
                SELECT procrastinate_defer_jobs_v1(ARRAY[
                  ROW('heard', 'x', 0, NULL, NULL, '{}', NULL)::procrastinate_job_to_defer_v1])
                """
            ),
            database,
            args,
        )
        for each in listeners:
            await each.close()
    return found


def predict(costs: dict[str, Cost], workers: int, task_s: float) -> dict[str, Any]:
    """What so many busy workers ask of the database, in a second."""
    replies = task_s / REPLY_S
    idle = max(0.0, task_s / LIMITS.report_s - replies)
    beats = task_s / (LIMITS.silence_s / 3)
    a_task = {
        "fetch and begin": 1.0,
        "report of a reply": replies,
        "report": idle,
        "checkpoint": 1 + replies / 5,  # one keeps the commit
        "end": 1.0,
        "finish": 1.0,
        "heartbeat": beats,
        "sign of life": beats,
        "sweep": beats,
        "own jobs": task_s / (LIMITS.silence_s / 2),
    }
    rate = workers / task_s
    cpu = {name: rate * times * costs[name].cpu_ms / 1000 for name, times in a_task.items()}
    dearest = max(cpu, key=lambda name: cpu[name])
    return {
        "workers": workers,
        "task, s": round(task_s),
        "statements a second": round(rate * sum(a_task.values())),
        "cores": round(sum(cpu.values()), 2),
        "most of it": f"{dearest} ({cpu[dearest] / sum(cpu.values()):.0%})",
        "WAL, MB a second": round(
            rate * sum(times * costs[name].wal_bytes for name, times in a_task.items()) / 1e6, 2
        ),
        "workers with 8 cores, half busy": round(4 * workers / sum(cpu.values()), -2),
    }


async def main(args: argparse.Namespace) -> dict[str, Any]:
    with psycopg.connect(args.dsn, autocommit=True) as beside:
        database = Database(beside)
        async with open_fleet(args.dsn, connections=args.connections, patience_s=60.0, check=False) as fleet:
            await make_schema(fleet)
            await fleet.submit(Batch("model", "bench"), name_tasks([FleetTask("/r", "x")] * JOBS))
            rows = await fleet.rows(
                "SELECT procrastinate_register_worker_v1() AS worker FROM generate_series(1, %(number)s)",
                number=args.connections,
            )
            workers = [int(row["worker"]) for row in rows]
            attempts = list[Attempt]()
            for number in range(args.running):
                (row,) = await fleet.rows(FETCH, queues=[queue_of("")], worker=workers[0])
                attempt = await fleet.begin(row["args"]["run"], "w", LIMITS)
                assert attempt
                attempts.append(attempt)
                if number < args.connections:
                    await fleet.announce(f"worker{number}", 1, [], {})
            await fleet.within(lambda each: each.execute("ANALYZE"))
            costs = {
                name: await measure(name, do, database, args) for name, do in kinds(fleet, attempts, workers)
            }
            heard = await notifications(args, fleet, database)
    many = max(LISTENERS)
    return {
        "connections": args.connections,
        "running tasks": args.running,
        "waiting tasks": JOBS,
        "cores": os.cpu_count(),
        "measured": [
            {
                "what": each.name,
                "a second": round(each.a_second),
                "CPU ms": round(each.cpu_ms, 3),
                "WAL bytes": round(each.wal_bytes),
                "median ms": round(each.median_ms, 1),
                "p99 ms": round(each.p99_ms, 1),
            }
            for each in (*costs.values(), *heard.values())
        ],
        "CPU ms for a listener to hear of a job": round((heard[many].cpu_ms - heard[0].cpu_ms) / many, 4),
        "computed": [
            predict(costs, number, each) for each in (60.0, 600.0) for number in (1_000, 3_000, 10_000)
        ],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--running", type=int, default=1_000, help="tasks at work meanwhile")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each kind of statement")
    print(json.dumps(asyncio.run(main(parser.parse_args())), indent=1))
