"""procrastinate as the fleet uses it: a worker that outlives cut connections, and drains with a heartbeat.

procrastinate 3.10 stops a worker whose database is away, cancels the heartbeat before it drains, and forgets
a job whose fetching was cut. Here every statement is repeated, the heartbeat goes on to the end, and jobs
that this worker never heard of go back into the queue.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, LiteralString, TypeVar

import psycopg
import psycopg_pool
from procrastinate import App, PsycopgConnector, exceptions, utils
from procrastinate.jobs import DeleteJobCondition
from procrastinate.worker import Worker

from kith.features.fleet.attempts import PUBLISH_NAME, TASK_NAME
from kith.features.fleet.database import Fleet
from kith.features.fleet.settings import Limits

T = TypeVar("T")
Perform = Callable[[int], Awaitable[None]]
_PAUSES: Final = (0.1, 0.5, 1.0, 2.0, 5.0)
_KEPT: Final = ("update_heartbeats", "poll_jobs_to_abort")  # side tasks that a draining worker needs


class PatientConnector(PsycopgConnector):
    """Repeats a statement until the database answers, or the fleet's patience ends.

    Twice fetched is once forgotten (see `SteadyWorker`), and a job that is finished twice was finished.
    """

    def __init__(self, fleet: Fleet) -> None:
        super().__init__()
        self._fleet = fleet

    async def _repeat(self, ask: Callable[[], Awaitable[T]]) -> T:
        loop = asyncio.get_running_loop()
        begun, tries = loop.time(), 0
        while True:
            try:
                return await ask()
            except exceptions.ConnectorException as error:
                if not _is_absence(error) or loop.time() - begun > self._fleet.patience_s:
                    raise
                await asyncio.sleep(_PAUSES[min(tries, len(_PAUSES) - 1)])
                tries += 1

    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:
        await self._repeat(partial(super().execute_query_async, query, **arguments))

    async def execute_query_one_async(self, query: LiteralString, **arguments: Any) -> dict[str, Any]:
        return await self._repeat(partial(super().execute_query_one_async, query, **arguments))

    async def execute_query_all_async(self, query: LiteralString, **arguments: Any) -> list[dict[str, Any]]:
        return await self._repeat(partial(super().execute_query_all_async, query, **arguments))


def _is_absence(error: exceptions.ConnectorException) -> bool:
    """True if the database was away, and not the statement wrong."""
    cause = error.__cause__
    return isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError | psycopg_pool.PoolTimeout)


class SteadyWorker(Worker):
    """A worker whose heartbeat outlives the order to stop, until its last job has ended."""

    async def _shutdown(self, side_tasks: list[asyncio.Task[Any]]) -> None:
        kept = [task for task in side_tasks if task.get_name() in _KEPT]
        await utils.cancel_and_capture_errors([task for task in side_tasks if task not in kept])
        try:
            await super()._shutdown(side_tasks=[])
        finally:
            await utils.cancel_and_capture_errors(kept)

    async def _persist_job_status(self, *args: Any, **named: Any) -> None:
        with suppress(exceptions.ConnectorException):  # another worker has finished it, or the sweeper
            await super()._persist_job_status(*args, **named)

    def known_jobs(self) -> set[int]:
        """The jobs at work here."""
        return {context.job.id for context in self._running_jobs.values() if context.job.id is not None}


def make_app(fleet: Fleet, perform: Perform, publish: Perform) -> App:
    """The engine's application: a run, and the publishing of one, each by its number."""
    app = App(connector=PatientConnector(fleet))

    @app.task(name=TASK_NAME)
    async def _run(run: int) -> None:
        await perform(run)

    @app.task(name=PUBLISH_NAME)
    async def _publish(run: int) -> None:
        await publish(run)

    return app


def make_worker(
    app: App, name: str, queues: Sequence[str], slots: int, limits: Limits, *, listens: bool
) -> SteadyWorker:
    """A worker for these queues, which does so many jobs at once.

    One that `listens` hears of new jobs at once, over a connection of its own. Any worker also looks for them
    every few seconds.
    """
    return SteadyWorker(
        app,
        queues=list(queues),
        name=name,
        concurrency=slots,
        install_signal_handlers=False,
        listen_notify=listens,
        delete_jobs=DeleteJobCondition.ALWAYS,
        abort_job_polling_interval=3_600.0,  # runs are cancelled by our own table
        update_heartbeat_interval=limits.silence_s / 3,
        stalled_worker_timeout=limits.silence_s,
        fetch_job_polling_interval=min(5.0, limits.silence_s / 3),
    )


async def run_engine(worker: SteadyWorker) -> None:
    """Fetch and do jobs until the worker is stopped. Raises what its side tasks raised."""
    await worker.run()  # type: ignore[no-untyped-call]


async def free_forgotten_jobs(fleet: Fleet, worker: SteadyWorker, seconds: float) -> None:
    """Look again and again for jobs that the engine gave to this worker, and that it never got."""
    before = set[int]()
    while True:
        await asyncio.sleep(seconds)
        if worker.worker_id is None:
            continue
        unknown = await fleet.jobs_of(worker.worker_id) - worker.known_jobs()
        if again := unknown & before:  # what was fetched a moment ago is not forgotten
            await fleet.free_jobs(worker.worker_id, again)
        before = unknown - again
