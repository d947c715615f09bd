"""The commands of the fleet."""

import argparse
import asyncio
import getpass
import json
import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from kith.core.errors import EXIT_DONE, EXIT_FAILED, BusyError, UsageError
from kith.core.event_loop import run_loop
from kith.features.fleet.artefacts import Store
from kith.features.fleet.attempts import Batch
from kith.features.fleet.batches import (
    Overview,
    Report,
    find_batch,
    list_batches,
    list_runs,
    list_workers,
    make_report,
)
from kith.features.fleet.cluster import Cluster
from kith.features.fleet.database import Fleet, make_schema, open_fleet
from kith.features.fleet.exports import as_csv, as_json, as_markdown, as_text, run_line, summary_lines
from kith.features.fleet.settings import FleetSettings, find_dsn, fleet_folder, keep_dsn
from kith.features.fleet.stores import open_store
from kith.features.fleet.tasks import FleetTask, check_task, find_repository, name_tasks, read_tasks
from kith.features.fleet.worker import Wanted, run_worker
from kith.settings import Settings, load_settings
from kith.terminal.options import find_root
from kith.view.lines import count, wrapped
from kith.view.printing import printable

_LOOK_S: Final = 1.0
_BAR: Final = 30  # columns
_FORMATS: Final[dict[str, Callable[[Report], str]]] = {
    "text": as_text,
    "json": as_json,
    "csv": as_csv,
    "md": as_markdown,
}
_SAVED: Final = {"patch": "patch", "receipt": "json", "log": "sqlite3", "output": "txt", "bundle": "bundle"}

T = TypeVar("T")


def _settings() -> Settings:
    return load_settings(find_root("."), {})


def _say(text: str) -> None:
    print(wrapped(printable(text), sys.stderr), file=sys.stderr, flush=True)


def _ask(args: argparse.Namespace, work: Callable[[Fleet], Awaitable[T]]) -> T:
    """Do something with the fleet's database, and close it."""

    state = _settings().state
    dsn = find_dsn(args.dsn, state)

    async def within() -> T:
        async with open_fleet(dsn) as fleet:
            return await work(fleet)

    try:
        return run_loop(within())
    except BusyError as error:
        if dsn != _own_cluster(state).dsn:
            raise
        raise BusyError(f"{error} `kith fleet up` starts it.") from error


def _own_cluster(state: Path) -> Cluster:
    return Cluster(state / "fleet-database")


# --- the database and workers ----------------------------------------------------------------------


def init_command(args: argparse.Namespace) -> int:
    """Make the tables, and remember a database that was named for the commands of this user."""
    state = _settings().state
    dsn = find_dsn(args.dsn, state)

    async def within() -> bool:
        async with open_fleet(dsn, check=False) as fleet:
            return await make_schema(fleet)

    made = run_loop(within())
    if args.dsn:
        keep_dsn(dsn, state)
    print("The fleet's tables are made." if made else "The fleet's tables were there already.")
    return EXIT_DONE


def worker_command(args: argparse.Namespace) -> int:
    """Work until SIGTERM or Ctrl-C."""
    settings = _settings()
    dsn = find_dsn(args.dsn, settings.state)
    run_loop(run_worker(_wanted(args, dsn), settings, _say))
    return EXIT_DONE


def _wanted(args: argparse.Namespace, dsn: str) -> Wanted:
    models = tuple(filter(None, (name.strip() for name in args.models.split(","))))
    name, only = getattr(args, "name", ""), getattr(args, "publish_only", False)
    publishes = only or getattr(args, "publish", True)
    return Wanted(dsn, args.slots, models, name, args.grace, publishes, works=not only)


def up_command(args: argparse.Namespace) -> int:
    """A database of this user and a worker, until Ctrl-C; both are there again at the next start."""
    settings = _settings()
    cluster = _own_cluster(settings.state)
    with cluster.running(_say):

        async def prepare() -> None:
            async with open_fleet(cluster.dsn, check=False) as fleet:
                await make_schema(fleet)

        run_loop(prepare())
        keep_dsn(cluster.dsn, settings.state)
        _say('In another terminal: kith fleet submit --repos FILE "TASK". Ctrl-C ends the worker here.')
        run_loop(run_worker(_wanted(args, cluster.dsn), settings, _say))
    return EXIT_DONE


# --- tasks -----------------------------------------------------------------------------------------


def submit_command(args: argparse.Namespace) -> int:
    """Submit a batch; prints its id, which is all that scripts need."""
    tasks = name_tasks(_read_tasks(args))
    if not tasks:
        raise UsageError("There is no task to submit.")
    batch = Batch(
        args.name or _name_of(args),
        args.submitter or getpass.getuser(),
        args.batch,
        args.max_usd,
        _find_target(args.publish),
    )
    id = _ask(args, lambda fleet: fleet.submit(batch, tasks))
    if args.json:
        print(json.dumps({"batch": id, "tasks": len(tasks)}))
    else:
        print(id)
        _say(f"{count(len(tasks), 'task')} submitted; kith fleet watch {id}")
    return EXIT_DONE


def _find_target(words: str) -> str:
    """The repository for branches; one at an absolute path has to be on the workers only."""
    return words if not words or words.startswith("/") else find_repository(words)


def _name_of(args: argparse.Namespace) -> str:
    return " ".join(" ".join(args.what).split())[:60]


def _read_tasks(args: argparse.Namespace) -> list[FleetTask]:
    if args.repos:
        request = " ".join(args.what)
        repositories = [line.strip() for line in _lines(args.repos)]
        return [
            check_task(FleetTask(each, request, args.command, model=args.model))
            for each in repositories
            if each and not each.startswith("#")
        ]
    if len(args.what) != 1:
        raise UsageError("Name one file of tasks, or --repos FILE and the task.")
    tasks = read_tasks(_lines(args.what[0]), args.what[0])
    return [each if each.model else msgspec.structs.replace(each, model=args.model) for each in tasks]


def _lines(name: str) -> Iterable[str]:
    if name == "-":
        return sys.stdin.read().splitlines()
    try:
        return Path(name).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"{name} cannot be read: {why}.") from error


def cancel_command(args: argparse.Namespace) -> int:
    return _change(args, "task", "cancelled", lambda fleet, batch: fleet.cancel(batch, args.keys))


def retry_command(args: argparse.Namespace) -> int:
    again = "in the queue again"
    return _change(args, "task", again, lambda fleet, batch: fleet.retry(batch, args.keys, args.max_usd))


def publish_command(args: argparse.Namespace) -> int:
    again = "in the queue again"
    return _change(args, "change", again, lambda fleet, batch: fleet.publish_again(batch, args.keys))


def _change(
    args: argparse.Namespace, noun: str, done: str, work: Callable[[Fleet, str], Awaitable[int]]
) -> int:
    """Change some tasks of a batch, and tell how many; exit code 1 for none."""

    async def within(fleet: Fleet) -> int:
        return await work(fleet, (await find_batch(fleet, args.batch)).id)

    number = _ask(args, within)
    print(f"{count(number, noun)} {done}.")
    return EXIT_DONE if number else EXIT_FAILED


# --- looking ---------------------------------------------------------------------------------------


def status_command(args: argparse.Namespace) -> int:
    """Batches and workers; of one batch, its tasks."""
    if args.batch:
        return _show_batch(args)

    async def within(fleet: Fleet) -> int:
        batches, workers = await list_batches(fleet), await list_workers(fleet)
        if args.json:
            print(msgspec.json.encode({"batches": batches, "workers": workers}).decode())
            return EXIT_DONE
        for batch in batches:
            print(printable(_batch_line(batch)))
        if not batches:
            print("No batch was submitted yet.")
        print()
        for worker in workers:
            models = ", ".join(each["name"] for each in worker.models) or "no model"
            state = "draining" if worker.draining else f"{worker.running} of {worker.slots} at work"
            silent = f", silent for {worker.silent_s:.0f} s" if worker.silent_s > 2 * _LOOK_S + 30 else ""
            print(printable(f"{worker.name}  {state}{silent}  {models}"))
        if not workers:
            print("No worker is there: kith fleet worker")
        return EXIT_DONE

    return _ask(args, within)


def _show_batch(args: argparse.Namespace) -> int:
    async def within(fleet: Fleet) -> int:
        batch = await find_batch(fleet, args.batch)
        runs = await list_runs(fleet, batch.id)
        if args.json:
            print(msgspec.json.encode({"batch": batch, "runs": runs}).decode())
            return EXIT_DONE
        print(printable(_batch_line(batch)))
        for run in runs:
            print(printable(run_line(run)))
        return EXIT_DONE

    return _ask(args, within)


def _batch_line(batch: Overview) -> str:
    states = (
        (batch.running, "running"),
        (batch.waiting, "waiting"),
        (batch.set_aside, "set aside"),
        (batch.cancelled, "cancelled"),
    )
    rest = "".join(f", {number} {what}" for number, what in states if number)
    money = f", ${batch.usd:.2f}" if batch.usd else ""
    return f"{batch.id}  {batch.done} of {batch.total} done{rest}{money}  {batch.submitter}  {batch.name}"


def watch_command(args: argparse.Namespace) -> int:
    """Follow a batch to its end, and print its summary; exit code 1 where a task failed."""

    async def within(fleet: Fleet) -> Report:
        terminal, last = sys.stderr.isatty(), ""
        while True:
            batch = await find_batch(fleet, args.batch)
            line = f"{_bar(batch)} {batch.ended} of {batch.total}, {batch.running} running"
            if line != last:
                print(f"\r{line}\x1b[K" if terminal else line, end="" if terminal else "\n", file=sys.stderr)
                sys.stderr.flush()
            last = line
            if batch.ended == batch.total:
                break
            await asyncio.sleep(_LOOK_S)
        if terminal:
            print(file=sys.stderr)
        return await make_report(fleet, batch)

    report = _ask(args, within)
    for line in summary_lines(report):
        print(printable(line))
    return EXIT_DONE if report.solved == report.batch.total else EXIT_FAILED


def _bar(batch: Overview) -> str:
    full = _BAR * batch.ended // batch.total if batch.total else _BAR
    return f"[{'#' * full}{'.' * (_BAR - full)}]"


def results_command(args: argparse.Namespace) -> int:
    """The report of a batch, and its artefacts."""

    async def within(fleet: Fleet) -> Report:
        return await make_report(fleet, await find_batch(fleet, args.batch))

    report = _ask(args, within)
    if args.save:
        settings = _settings().section(FleetSettings)
        store = open_store(settings.store or str(fleet_folder(settings) / "store"))
        _save(report, store, Path(args.save))
        _say(f"Saved {count(len(report.runs), 'task')} in {args.save}.")
    text = _FORMATS[args.format](report)
    print(printable(text) if args.format == "text" else text, end="")
    return EXIT_DONE


def _save(report: Report, store: Store, folder: Path) -> None:
    for run in report.runs:
        for name, digest in run.artefacts.items():
            place = folder / run.key
            place.mkdir(parents=True, exist_ok=True)
            store.get(digest, place / f"{name}.{_SAVED.get(name, 'bin')}")
