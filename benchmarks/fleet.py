"""The fleet under faults and load: real PostgreSQL, real workers and `kith run`s, a stand-in model.

    python benchmarks/fleet.py soak --dsn DSN --jobs 400 --workers 8 --kills 40 --restart "pg_ctl ... restart"
    python benchmarks/fleet.py overhead --dsn DSN      # seconds of a job over a plain `kith run`
    python benchmarks/fleet.py slots --dsn DSN         # 1 slot against 64, with a slow model
    python benchmarks/fleet.py queue --dsn DSN         # 100,000 jobs: submit, status, fetch
    python benchmarks/fleet.py shares --dsn DSN        # two submitters
    python benchmarks/fleet.py recovery --dsn DSN      # from a worker's death to the next reply
    python benchmarks/fleet.py limits --dsn DSN        # transactions a second, and how many workers that is
    python benchmarks/fleet.py statements --dsn DSN    # statements and written rows of a job and a worker

DSN names an empty database on a host and port (`host=127.0.0.1 port=5432 dbname=soak user=me`): in `soak`,
workers reach it through a proxy of this script, which cuts them off. Each worker has folders of its own, as
a machine would.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import accumulate
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final, LiteralString

import psycopg
from fleet_machines import MODEL, Bridge, Machines
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from kith.core.errors import EXIT_TRY_LATER
from kith.features.demo import standin
from kith.features.fleet.attempts import Batch, Result, Spent
from kith.features.fleet.batches import find_batch, list_batches, list_runs, make_report
from kith.features.fleet.database import Fleet, make_schema, open_fleet
from kith.features.fleet.settings import FleetSettings, Limits
from kith.features.fleet.tasks import FleetTask, name_tasks, queue_of

BROKEN: Final = "def add(a, b):\n    return a - b\n"
TESTS: Final = """\
import unittest
from add import add


class Add(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)
"""
STEPS: Final[list[Any]] = [
    {"text": "I look.", "calls": [{"name": "read", "args": {"path": "add.py"}}]},
    {
        "text": "I mend.",
        "calls": [{"name": "edit", "args": {"path": "add.py", "old": "a - b", "new": "a + b"}}],
    },
    "Mended.",
]


Fault = tuple[str, Callable[[], Awaitable[None]]]


class Model:
    """A stand-in model: answers by the conversation it is given, slowly, and notes when it was at work."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.work = list[tuple[float, float]]()  # from, to

    def __call__(self, request: standin.Request) -> Any:
        delay, now = random.uniform(0.5, 1.5) * self.delay, time.monotonic()
        self.work.append((now, now + delay))
        step = sum(message["role"] == "assistant" for message in request.body["messages"])
        reply = STEPS[min(step, len(STEPS) - 1)]
        return {**({"text": reply} if isinstance(reply, str) else reply), "delay": delay}

    def most_at_once(self) -> int:
        """The most answers that were in the making at one moment."""
        changes = sorted([(begun, 1) for begun, _ in self.work] + [(ended, -1) for _, ended in self.work])
        return max(accumulate(change for _, change in changes), default=0)


class Proxy:
    """Stands between workers and the database; `cut` lets nothing through for a while."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port, self.open = host, port, asyncio.Event()
        self.open.set()
        self.writers = set[asyncio.StreamWriter]()

    async def start(self, address: str = "127.0.0.1") -> int:
        server = await asyncio.start_server(self._serve, address, 0)
        return int(server.sockets[0].getsockname()[1])

    async def cut(self, seconds: float, *, reset: bool) -> None:
        """Swallow everything; with `reset` break the connections, too."""
        self.open.clear()
        if reset:
            for each in tuple(self.writers):
                each.transport.abort()
        await asyncio.sleep(seconds)
        self.open.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self.open.wait()
        try:
            there, back = await asyncio.open_connection(self.host, self.port)
        except OSError:
            writer.transport.abort()
            return
        self.writers |= {writer, back}
        await asyncio.gather(self._pass(reader, back), self._pass(there, writer))
        self.writers -= {writer, back}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                await self.open.wait()
                writer.write(data)
                await writer.drain()
        writer.transport.abort()


def make_repositories(folder: Path, number: int) -> list[Path]:
    """Small repositories, each with a bug and a test that shows it."""
    made = []
    for place in range(number):
        repository = folder / f"repository{place}"
        repository.mkdir()
        (repository / "add.py").write_text(BROKEN)
        (repository / "test_add.py").write_text(TESTS)
        git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@example.org"]
        for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
            subprocess.run([*git, *words], check=True)
        made.append(repository)
    return made


def tasks_for(repositories: list[Path], number: int) -> list[FleetTask]:
    return name_tasks(
        [
            FleetTask(str(repositories[place % len(repositories)]), "mend add", model=MODEL)
            for place in range(number)
        ]
    )


@asynccontextmanager
async def prepared(args: argparse.Namespace) -> AsyncIterator[tuple[Fleet, Path]]:
    folder = Path(tempfile.mkdtemp(prefix="kith-fleet-bench-"))
    try:
        async with open_fleet(args.dsn, connections=8, patience_s=120.0, check=False) as fleet:
            await make_schema(fleet)
            yield fleet, folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def leftovers(folder: Path) -> list[str]:
    """Processes that still work below a folder."""
    found = []
    for each in Path("/proc").iterdir():
        with suppress(OSError):
            words = (each / "cmdline").read_bytes()
            if os.fsencode(folder) in words and each.name != str(os.getpid()):
                found.append(words.replace(b"\0", b" ").decode(errors="replace")[:200])
    return found


# --- under faults ----------------------------------------------------------------------------------


async def soak(args: argparse.Namespace) -> dict[str, Any]:
    """Every job has one result, whatever dies.

    Kills come as jobs end. With `--minutes`, the other faults are spread over that time, and what has not
    begun at its end is called off.
    """
    chance = random.Random(args.seed)
    model = Model(args.delay)
    async with (
        prepared(args) as (fleet, folder),
        standin.serve(model, "vllm", slots=64) as server,
        machines_for(args, folder, server.url) as (machines, cut),
    ):
        if args.light:
            machines.check = "none"
            del STEPS[0]
        if args.skew:
            machines.clocks = {
                number: (-args.skew, 0.0, args.skew)[number % 3] for number in range(args.workers)
            }
        repositories = make_repositories(folder, 5)
        batch = await fleet.submit(Batch("soak", "bench"), tasks_for(repositories, args.jobs))
        for number in range(args.workers):
            machines.start(number)
        begun = time.monotonic()
        kills = spread([("kill", lambda: _kill(machines, chance))] * args.kills)
        rest: list[Fault] = [
            *[("restart", lambda: _restart(args.restart))] * (args.restarts if args.restart else 0),
            *[("cut", lambda: cut(chance))] * args.cuts,
        ]
        chance.shuffle(rest)
        others = spread(rest)
        done, last, called_off = Counter[str](), 0.0, 0
        while True:
            view = await find_batch(fleet, batch)
            minutes = (time.monotonic() - begun) / 60
            share = view.ended / view.total
            times = minutes / args.minutes if args.minutes else share
            while due := (not called_off and take_due(kills, share)) or take_due(others, times):
                kind, do = due
                await do()
                done[kind] += 1
            for number, process in machines.processes.items():
                if process.poll() is not None:
                    # A worker that begins while the database is away gives up soon, as it should.
                    assert process.returncode <= 0 or process.returncode == EXIT_TRY_LATER, (
                        folder / f"machine{number}.log"
                    ).read_text()[-500:]
                    machines.start(number)
            if not called_off and args.minutes and minutes > args.minutes:
                called_off = await _call_off(fleet, batch)
            if time.monotonic() - last > 15:
                last = time.monotonic()
                print(f"{last - begun:6.0f} s: {view.ended} of {view.total}, {dict(done)}", file=sys.stderr)
            if view.ended == view.total:
                break
            await asyncio.sleep(0.5)
        seconds = time.monotonic() - begun
        await machines.stop()
        report = await make_report(fleet, await find_batch(fleet, batch))
        rows = await fleet.rows(
            "SELECT count(*) AS attempts, count(*) FILTER (WHERE ended IS NULL) AS open FROM fleet_attempts"
        )
        slots = await fleet.rows("SELECT count(*) FILTER (WHERE run IS NOT NULL) AS held FROM fleet_slots")
        jobs = await fleet.rows("SELECT count(*) AS left FROM procrastinate_jobs")
        twice = await fleet.rows(
            """
            SELECT count(*) AS runs FROM (
              SELECT run FROM fleet_attempts WHERE why IN ('proven', 'held', 'unproven')
              GROUP BY run HAVING count(*) > 1) twice
            """
        )
        patches = await fleet.rows("SELECT DISTINCT result->'artefacts'->>'patch' AS patch FROM fleet_runs")
        return {
            "jobs": args.jobs - called_off,
            "workers": args.workers,
            "seconds": round(seconds),
            "faults": done,
            "states": dict(Counter(run.state for run in report.runs)),
            "called off at the end": called_off,
            "verdicts": report.verdicts,
            "runs with two results": twice[0]["runs"],
            "different patches": len([row for row in patches if row["patch"]]),
            "attempts": rows[0]["attempts"],
            "attempts without an end": rows[0]["open"],
            "replies": len(model.work),
            "replies without faults": (args.jobs - called_off) * len(STEPS),
            "sandboxed": await sandboxed(fleet, folder / "store"),
            "most requests at once": model.most_at_once(),
            "slots still held": slots[0]["held"],
            "jobs left in the queue": jobs[0]["left"],
            "trials, sessions and folders left": machines.sessions_left(),
            "processes left": leftovers(folder) if machines.bridge is None else machines.bridge.orphans(),
            "artefacts that no row names": len(await unnamed(fleet, folder / "store")),
        }


def spread(faults: list[Fault]) -> list[tuple[float, Fault]]:
    """Faults in reverse order, each with the share of the way after which it comes."""
    return [(0.95 * place / len(faults), fault) for place, fault in enumerate(faults)][::-1]


def take_due(faults: list[tuple[float, Fault]], share: float) -> Fault | None:
    return faults.pop()[1] if faults and share >= faults[-1][0] else None


@asynccontextmanager
async def machines_for(
    args: argparse.Namespace, folder: Path, url: str
) -> AsyncIterator[tuple[Machines, Callable[[random.Random], Awaitable[None]]]]:
    """Machines for workers, and a function that cuts them off for a while.

    In namespaces of their own some of them are cut off. Else all lose the database, but not the model.
    """
    where = conninfo_to_dict(args.dsn)
    host, port = str(where.get("host", "127.0.0.1")), int(where.get("port", 5432))
    long = min(45.0, 3 * args.silence)
    if not args.namespaces:
        proxy = Proxy(host, port)
        through = make_conninfo(args.dsn, host="127.0.0.1", port=await proxy.start())

        async def cut_all(chance: random.Random) -> None:
            await proxy.cut(chance.uniform(2, long), reset=chance.random() < 0.5)

        yield Machines(folder, through, url, args.silence, args.slots), cut_all
        return
    bridge = Bridge()
    try:
        model = Proxy("127.0.0.1", int(url.rpartition(":")[2]))
        through = f"http://{bridge.address}:{await model.start(bridge.address)}"
        dsn = make_conninfo(args.dsn, host=bridge.address)
        machines = Machines(folder, dsn, through, args.silence, args.slots, bridge)

        async def cut_some(chance: random.Random) -> None:
            chosen = chance.sample(sorted(bridge.spaces), max(1, len(bridge.spaces) // 3))
            for each in chosen:
                bridge.cut(each, up=False)
            await asyncio.sleep(chance.uniform(2, long))
            for each in chosen:
                bridge.cut(each, up=True)

        yield machines, cut_some
    finally:
        bridge.close()


async def sandboxed(fleet: Fleet, store: Path) -> int:
    """The number of results whose checks ran in a sandbox."""
    rows = await fleet.rows("SELECT result->'artefacts'->>'receipt' AS receipt FROM fleet_runs")
    found = [next(store.glob(f"*/{row['receipt']}")).read_text() for row in rows if row["receipt"]]
    return sum("No sandbox" not in each for each in found)


async def unnamed(fleet: Fleet, store: Path) -> set[str]:
    """The artefacts in the store that no run names."""
    rows = await fleet.rows(
        """
        SELECT checkpoint AS digest FROM fleet_runs
        UNION SELECT artefact.value FROM fleet_runs, jsonb_each_text(result->'artefacts') artefact
        """
    )
    return {each.name for each in store.glob("*/*")} - {row["digest"] for row in rows}


async def _call_off(fleet: Fleet, batch: str) -> int:
    """Take the jobs that no worker has begun out of the batch. Returns how many."""
    rows = await fleet.rows(
        """
        UPDATE fleet_runs SET cancel = true, state = 'cancelled', ended = now()
        WHERE batch = %(batch)s AND state = 'waiting' AND attempt = 0 RETURNING id
        """,
        batch=batch,
    )
    return len(rows)


async def _kill(machines: Machines, chance: random.Random) -> None:
    number = chance.choice(list(machines.processes))
    await machines.kill(number, chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))
    machines.start(number)


async def _restart(command: str) -> None:
    process = await asyncio.create_subprocess_shell(command, stdout=subprocess.DEVNULL)
    await process.wait()


# --- costs -----------------------------------------------------------------------------------------


async def overhead(args: argparse.Namespace) -> dict[str, Any]:
    """Seconds of a job (from its fetching to its result) against plain `kith run`s of the same task.

    Settings are kith's defaults: a task of three replies has no checkpoint.
    CPU seconds of a job are those of the worker and of all that it starts, from submitting to the result.
    """
    async with (
        prepared(args) as (fleet, folder),
        standin.serve(Model(0.0), "vllm", slots=64) as server,
        machines_for(args, folder, server.url) as (machines, _),
    ):
        (repository,) = make_repositories(folder, 1)
        machines.turns = FleetSettings().checkpoint_turns
        env = machines.environment(0)
        plain, jobs, plain_cpu, jobs_cpu = list[float](), list[float](), list[float](), list[float]()
        await start_workers(fleet, machines, 1, 1)
        for place in range(args.number + 2):
            tree = (
                folder / f"plain{place}"
            )  # new for kith, as a job's clone is: no result is known from before
            shutil.copytree(repository, tree)
            used, begun = children_cpu_s(), time.monotonic()
            words = [
                "run",
                "-C",
                str(tree),
                "-m",
                MODEL,
                "--yes",
                "--output-format",
                "json",
                "-p",
                "mend add",
            ]
            state = {"XDG_STATE_HOME": str(folder / f"plain-state{place}")}
            done = await asyncio.create_subprocess_exec(
                *machines.command(0, [sys.executable, "-m", "kith", *words]),
                env=env | state,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            assert await done.wait() == 0
            plain.append(time.monotonic() - begun)
            plain_cpu.append(children_cpu_s() - used)
            shutil.rmtree(tree)
            used = machines.cpu_s()
            batch = await fleet.submit(Batch(f"{place}", "bench"), tasks_for([repository], 1))
            while (await find_batch(fleet, batch)).ended == 0:
                await asyncio.sleep(0.02)
            jobs_cpu.append(machines.cpu_s() - used)
            jobs.append(await seconds_of(fleet, batch))
        await machines.stop()
        return {
            "number": args.number,
            "plain, median s": round(median(plain[2:]), 3),
            "job, median s": round(median(jobs[2:]), 3),
            "overhead, median ms": round(median(more_ms(jobs, plain))),
            "overhead, quartiles ms": [round(each) for each in quantiles(more_ms(jobs, plain))],
            "plain, median CPU s": round(median(plain_cpu[2:]), 3),
            "job, median CPU s": round(median(jobs_cpu[2:]), 3),
            "overhead, median CPU ms": round(median(more_ms(jobs_cpu, plain_cpu))),
        }


def more_ms(jobs: list[float], plain: list[float]) -> list[float]:
    """How much more each job took than the plain run before it; the first two only warm up."""
    return [1000 * (job - run) for job, run in zip(jobs[2:], plain[2:], strict=True)]


def children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def seconds_of(fleet: Fleet, batch: str) -> float:
    """From the first start in a batch to its last end, by the database's clock."""
    (row,) = await fleet.rows(
        """
        SELECT extract(epoch FROM max(ended) - min(started))::float AS seconds
        FROM fleet_runs WHERE batch = %(batch)s
        """,
        batch=batch,
    )
    return float(row["seconds"])


async def start_workers(fleet: Fleet, machines: Machines, number: int, slots: int) -> None:
    for place in range(number):
        machines.start(place, slots)
    while (await fleet.rows("SELECT count(*)::int AS there FROM fleet_workers"))[0]["there"] < number:
        assert all(each.poll() is None for each in machines.processes.values()), "a worker could not begin"
        await asyncio.sleep(0.1)


async def slots(args: argparse.Namespace) -> dict[str, Any]:
    """Jobs an hour with 1 slot and with many, for a model that takes `--delay` seconds for each reply."""
    figures = dict[str, Any]()
    if args.light:
        del STEPS[0]
    for number, jobs in ((1, args.ones), (args.slots, args.jobs)):
        async with (
            prepared(args) as (fleet, folder),
            standin.serve(Model(0.0), "vllm", slots=256, delay_first_byte=args.delay) as server,
            machines_for(args, folder, server.url) as (machines, _),
        ):
            repositories = make_repositories(folder, 5)
            workers = max(1, number // 8)
            await start_workers(fleet, machines, workers, number // workers)
            used = machines.cpu_s()
            batch = await fleet.submit(Batch(f"{number}", "bench"), tasks_for(repositories, jobs))
            while (view := await find_batch(fleet, batch)).ended < view.total:
                await asyncio.sleep(1.0)
            used = machines.cpu_s() - used
            await machines.stop()
            seconds, report = await seconds_of(fleet, batch), await make_report(fleet, view)
            alone = sorted(run.seconds or 0.0 for run in report.runs)
            figures[f"{number} slots"] = {
                "jobs": jobs,
                "verdicts": report.verdicts,
                "seconds": round(seconds, 1),
                "seconds of a job, median and longest": [round(median(alone), 1), round(alone[-1], 1)],
                "jobs an hour": round(3600 * jobs / seconds, 1),
                "CPU s a job": round(used / jobs, 2),
            }
            print(json.dumps(figures), file=sys.stderr)
    one, many = figures["1 slots"], figures[f"{args.slots} slots"]
    return {**figures, "times": round(many["jobs an hour"] / one["jobs an hour"], 1)}


async def queue(args: argparse.Namespace) -> dict[str, Any]:
    """Seconds to submit, to show the status of, and to fetch from many jobs."""
    async with prepared(args) as (fleet, _):
        tasks = name_tasks([FleetTask("/repository", f"task {place}") for place in range(args.jobs)])
        begun = time.monotonic()
        batch = await fleet.submit(Batch("many", "bench"), tasks)
        submitted = time.monotonic() - begun
        status = list[float]()
        for _ in range(5):
            begun = time.monotonic()
            await list_batches(fleet)
            status.append(time.monotonic() - begun)
        fetches = list[float]()
        for _ in range(2_000):
            begun = time.monotonic()
            await fleet.rows(
                "SELECT id FROM procrastinate_fetch_job_v2(%(queues)s::varchar[], NULL)",
                queues=[queue_of("")],
            )
            fetches.append(time.monotonic() - begun)
        begun = time.monotonic()
        runs = len(await list_runs(fleet, batch))
        return {
            "jobs": runs,
            "submit, s": round(submitted, 1),
            "status, median s": round(median(status), 3),
            "all runs, s": round(time.monotonic() - begun, 2),
            "fetch, median ms": round(1000 * median(fetches), 1),
            "fetch, p99 ms": round(1000 * sorted(fetches)[-20], 1),
            "fetch, slowest ms": round(1000 * max(fetches), 1),
        }


async def shares(args: argparse.Namespace) -> dict[str, Any]:
    """One submits 1,000 jobs, another 200 a little later: who is served while both wait."""
    async with prepared(args) as (fleet, _):
        await fleet.submit(Batch("many", "ada"), name_tasks([FleetTask("/r", "x") for _ in range(1000)]))
        served = list[str]()
        names = dict[int, str]()

        async def serve() -> None:
            (row,) = await fleet.rows(
                """
                SELECT (args->>'run')::bigint AS run
                FROM procrastinate_fetch_job_v2(ARRAY['any']::varchar[], NULL)
                """
            )
            attempt = await fleet.begin(row["run"], "w", Limits())
            assert attempt
            served.append(attempt.batch)
            names[row["run"]] = attempt.batch
            await fleet.settle(attempt, Spent(), Result("held", 0))

        for _ in range(100):
            await serve()
        few = await fleet.submit(Batch("few", "bob"), name_tasks([FleetTask("/r", "x") for _ in range(200)]))
        start = len(served)
        while served[start:].count(few) < 200:
            await serve()
        both = served[start:]
        return {
            "served while both wait": len(both),
            "share of the later one": round(both.count(few) / len(both), 3),
        }


async def recovery(args: argparse.Namespace) -> dict[str, Any]:
    """Seconds from a worker's death to the model's next request for its task, and replies asked for again."""
    seconds, repeated = list[float](), list[int]()
    async with prepared(args) as (fleet, folder):
        for place in range(args.number):
            model = Model(1.0)
            async with standin.serve(model, "vllm", slots=8) as server:
                machines = Machines(folder / f"try{place}", args.dsn, server.url, args.silence, 8)
                (folder / f"try{place}").mkdir()
                (repository,) = make_repositories(folder / f"try{place}", 1)
                batch = await fleet.submit(Batch(f"{place}", "bench"), tasks_for([repository], 1))
                machines.start(0)
                while len(model.work) < 2:
                    await asyncio.sleep(0.02)
                machines.start(1)
                await asyncio.sleep(1.2)  # the second reply is there, and kept
                asked = len(model.work)
                await machines.kill(0, signal.SIGKILL)
                died = time.monotonic()
                while len(model.work) == asked:
                    await asyncio.sleep(0.02)
                seconds.append(model.work[asked][0] - died)
                while (await find_batch(fleet, batch)).ended == 0:
                    await asyncio.sleep(0.1)
                repeated.append(len(model.work) - len(STEPS))
                await machines.stop()
    return {
        "silence, s": args.silence,
        "seconds to the next request": [round(each, 1) for each in seconds],
        "replies asked for again": repeated,
    }


async def limits(args: argparse.Namespace) -> dict[str, Any]:
    """What one database does: reports of running tasks, and whole tasks from fetching to the result.

    A worker with one slot reports every 2 s, gives a sign of life every 10 s (twice: the engine's and kith's
    own) and looks for work every 5 s while it has none.
    """
    async with open_fleet(args.dsn, connections=32, patience_s=60.0, check=False) as fleet:
        await make_schema(fleet)
        await fleet.submit(Batch("limits", "bench"), name_tasks([FleetTask("/r", "x")] * 20_000))
        ends = time.monotonic() + 10
        wholes = 0

        async def fetch() -> int:
            (row,) = await fleet.rows(
                """
                SELECT (args->>'run')::bigint AS run
                FROM procrastinate_fetch_job_v2(ARRAY['any']::varchar[], NULL)
                """
            )
            return int(row["run"])

        async def whole() -> None:
            nonlocal wholes
            while time.monotonic() < ends:
                attempt = await fleet.begin(await fetch(), "w", Limits())
                assert attempt
                await fleet.settle(attempt, Spent(), Result("held", 0))
                wholes += 1

        await asyncio.gather(*(whole() for _ in range(32)))
        attempts = [await fleet.begin(await fetch(), "w", Limits()) for _ in range(32)]
        ends, reports = time.monotonic() + 10, 0

        async def report(number: int) -> None:
            nonlocal reports
            attempt, turn = attempts[number], 0
            assert attempt
            while time.monotonic() < ends:
                turn += 1
                await fleet.report(attempt, Spent(turn // 5))
                reports += 1

        await asyncio.gather(*(report(number) for number in range(32)))
        reports_s, wholes_s = reports / 10, wholes / 10
        return {
            "whole tasks a second": round(wholes_s),
            "reports a second": round(reports_s),
            "workers that only report, at most": round(reports_s / (1 / 2 + 2 / 10)),
            "cores": os.cpu_count(),
        }


COUNTED: Final = ("statements", "bytes of WAL")
COUNT: Final = """
SELECT coalesce(sum(calls), 0)::int, coalesce(sum(wal_bytes), 0)::bigint
FROM pg_stat_statements bench JOIN pg_database ON pg_database.oid = dbid AND datname = current_database()
WHERE toplevel AND query NOT LIKE '%bench%'
"""
OPEN: Final = "SELECT count(*)::int AS bench FROM fleet_runs WHERE state IN ('waiting', 'running')"


async def statements(args: argparse.Namespace) -> dict[str, Any]:
    """What one worker and its jobs ask the database, with replies that take a while (pg_stat_statements).

    WAL is what PostgreSQL writes before it changes a row.
    """
    async with (
        prepared(args) as (fleet, folder),
        standin.serve(Model(args.delay), "vllm", slots=64) as server,
        await psycopg.AsyncConnection.connect(args.dsn, autocommit=True) as beside,
    ):

        async def look(statement: LiteralString) -> tuple[int, ...]:
            found = await (await beside.execute(statement)).fetchone()
            assert found
            return found

        await beside.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        machines = Machines(folder, args.dsn, server.url, 30.0, 64)
        repositories = make_repositories(folder, 5)
        machines.start(0, args.jobs)
        await asyncio.sleep(5)
        marks = [(time.monotonic(), await look(COUNT))]
        await asyncio.sleep(30)
        marks.append((time.monotonic(), await look(COUNT)))
        await fleet.submit(Batch("statements", "bench"), tasks_for(repositories, args.jobs))
        marks.append((time.monotonic(), await look(COUNT)))
        while (await look(OPEN))[0]:
            await asyncio.sleep(0.5)
        await asyncio.sleep(1)
        marks.append((time.monotonic(), await look(COUNT)))
        await machines.stop()
    idle_s, busy_s = marks[1][0] - marks[0][0], marks[3][0] - marks[2][0]
    idle = [(after - before) / idle_s for before, after in zip(marks[0][1], marks[1][1], strict=True)]
    busy = [after - before for before, after in zip(marks[2][1], marks[3][1], strict=True)]
    return {
        "jobs": args.jobs,
        "seconds": round(busy_s, 1),
        **{f"{name}, idle, a second": round(each, 2) for name, each in zip(COUNTED, idle, strict=True)},
        **{
            f"{name}, a job": round((all_of - rate * busy_s) / args.jobs, 1)
            for name, all_of, rate in zip(COUNTED, busy, idle, strict=True)
        },
    }


WORK: Final = {
    each.__name__: each for each in (soak, overhead, slots, queue, shares, recovery, limits, statements)
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=tuple(WORK))
    add = parser.add_argument
    add("--dsn", required=True)
    add("--jobs", type=int, default=400)
    add("--workers", type=int, default=8)
    add("--kills", type=int, default=40)
    add("--cuts", type=int, default=4)
    add("--restart", default="", help="a command that restarts PostgreSQL")
    add("--restarts", type=int, default=2)
    add("--silence", type=float, default=6.0)
    add("--delay", type=float, default=0.2, help="seconds of a reply")
    add("--slots", type=int, default=6)
    add("--ones", type=int, default=2, help="slots: jobs for the one slot")
    add("--number", type=int, default=15)
    add("--light", action="store_true", help="soak: two replies a task, and no tests")
    add("--minutes", type=float, default=0.0, help="soak: after that, what has not begun is called off")
    add("--namespaces", action="store_true", help="machines in namespaces of their own (as root)")
    add("--skew", type=float, default=0.0, help="soak: seconds by which the clocks of workers are wrong")
    add("--seed", type=int, default=1)
    args = parser.parse_args()
    print(json.dumps(asyncio.run(WORK[args.what](args)), indent=2))


if __name__ == "__main__":
    main()
