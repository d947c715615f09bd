"""A worker: takes runs for the models of this machine, until it is told to stop."""

import asyncio
import ctypes
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from typing import Any, Final

from msgspec import Struct

from kith.agent.models import list_all, places_of
from kith.core.errors import BusyError, KithError, NoModelError
from kith.core.event_loop import handle_signal, hangups, leave
from kith.core.processes import happens
from kith.features.fleet.attempts import PUBLISH_QUEUE
from kith.features.fleet.database import Fleet, open_fleet
from kith.features.fleet.engine import free_forgotten_jobs, make_app, make_worker, run_engine
from kith.features.fleet.forges import TOKEN, open_forge
from kith.features.fleet.job import Machine, clear_leftovers, perform
from kith.features.fleet.orphans import reap_orphans
from kith.features.fleet.publish import publish
from kith.features.fleet.retention import forget_again_and_again
from kith.features.fleet.settings import FleetSettings, fleet_folder
from kith.features.fleet.stores import open_store
from kith.features.fleet.tasks import queue_of
from kith.memory.log import LOG_FILE, Log
from kith.models.discovery.servers import endpoint_of
from kith.models.providers.wire import is_loopback
from kith.settings import Settings

_LONG_S: Final = 24 * 3600.0  # a result is not thrown away because the database is away for a night
_LAST_S: Final = 4.0  # for results and leases, once the worker is to end
_MARK_S: Final = 2.0  # to tell others that it drains and is gone, which they would find out
_FRESH_S: Final = 3.0  # before a worker that failed starts again
_CONNECTIONS: Final = 4
_PR_SET_DUMPABLE: Final = 4  # prctl(2): /proc/PID/environ belongs to root then
_REAP_S: Final = 30.0
_SPACE_S: Final = 5.0  # between two looks at the disk
_LOOK_S: Final = 10.0  # between two looks for models, while there is none

Say = Callable[[str], None]


class Wanted(Struct, frozen=True):
    """A worker's options.

    `models`: none named means all that are found; `grace_s`: for drains; `works`: it takes tasks.
    """

    dsn: str
    slots: int = 1
    models: tuple[str, ...] = ()
    name: str = ""
    grace_s: float = 10.0
    publishes: bool = False
    works: bool = True


class Offer(Struct, frozen=True):
    """A model of this machine, with what is known of it; `server`: whose slots are counted, "" for none."""

    name: str
    server: str = ""
    window: int = 0
    read_rate: float = 0.0
    write_rate: float = 0.0


async def run_worker(wanted: Wanted, settings: Settings, say: Say) -> None:
    """Work until SIGTERM or SIGINT. Raises KithError where it cannot begin."""
    hide_environment()
    own = settings.section(FleetSettings)
    folder, stop = fleet_folder(own), asyncio.Event()
    store = open_store(own.store) if own.store else open_store(str(folder / "store"))
    token = os.environ.pop(TOKEN, "")  # from here on no program that this worker starts has it
    forge = open_forge(own.pull_requests, own.forge_url, token) if wanted.publishes else None
    await asyncio.to_thread(clear_leftovers, folder)
    for each in (signal.SIGTERM, signal.SIGINT, *hangups()):
        handle_signal(each, stop.set)
    async with open_fleet(wanted.dsn, connections=_CONNECTIONS, patience_s=_LONG_S, check=False) as fleet:
        quick = Fleet(fleet.pool, own.silence_seconds / 2)
        await _greet(wanted.dsn)
        offers = await find_models(settings, own, wanted.models) if wanted.works else []
        name = wanted.name or f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"
        drain = asyncio.Event()
        try:
            while not stop.is_set():
                servers = {each.name: each.server for each in offers if each.server}
                machine = Machine(name, fleet, quick, own, folder, store, servers, drain, forge)
                await _announce(fleet, wanted, own, offers, name)
                say(f"{name}: {_models(offers, wanted)}.")
                over = asyncio.Event()
                search = asyncio.ensure_future(_search(settings, wanted, offers, stop, over))
                try:
                    await _serve(machine, wanted, offers, stop, over, say)
                    offers = await search
                finally:
                    await leave(search)
        finally:
            with suppress(KithError):
                await Fleet(fleet.pool, _MARK_S).leave(name)


def hide_environment() -> None:
    """Let no other process of this user read the secrets in this one: its environment and memory (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


async def _greet(dsn: str) -> None:
    """Fail soon where there is no fleet; later its database is waited for."""
    async with open_fleet(dsn):
        pass


def _models(offers: Sequence[Offer], wanted: Wanted) -> str:
    if not wanted.works:
        return "changes to publish"
    if not offers:
        return f"no model found; kith looks again every {_LOOK_S:.0f} s"
    return f"{wanted.slots} at once; {', '.join(each.name for each in offers)}"


async def _search(
    settings: Settings, wanted: Wanted, offers: list[Offer], stop: asyncio.Event, over: asyncio.Event
) -> list[Offer]:
    """Look for models while there is none; what is served is `over` then, or as the worker stops."""
    try:
        if offers or not wanted.works:
            await stop.wait()
        while not (offers or stop.is_set()):
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _LOOK_S)
                break
            with suppress(BusyError):
                offers = await find_models(settings, settings.section(FleetSettings), wanted.models)
        return offers
    finally:
        over.set()


async def _announce(
    fleet: Fleet, wanted: Wanted, own: FleetSettings, offers: Sequence[Offer], name: str
) -> None:
    counted = {each.server: _slots_of(each.name, each.server, own) for each in offers if each.server}
    await fleet.announce(name, wanted.slots, [_row(each) for each in offers], counted)


def _row(offer: Offer) -> dict[str, Any]:
    return {
        "name": offer.name,
        "window": offer.window,
        "read": round(offer.read_rate, 1),
        "write": round(offer.write_rate, 1),
    }


async def find_models(settings: Settings, own: FleetSettings, names: Sequence[str]) -> list[Offer]:
    """The models that this machine can ask. Raises NoModelError where a named one is not found."""
    with closing(Log(settings.state / LOG_FILE)) as log:
        listed = await list_all(settings, log)
    known = {each.name: each for each in listed.rows}
    places = places_of(settings)
    named = {name: endpoint_of(each, places).url for name, each in places.reachable.items()}
    offers = list[Offer]()
    for name in names or known:
        entry = known.get(name)
        if entry is None and "/" not in name:
            raise NoModelError(f"No model {name!r} is found here; `kith models` lists them.")
        where = entry.where if entry else named.get(name.partition("/")[0], "")
        server = where if _slots_of(name, where, own) else ""
        if server and is_loopback(server):  # another machine's loopback is another server
            server = f"{socket.gethostname()} {server}"
        offers.append(
            Offer(name, server, entry.window, entry.read_rate, entry.write_rate)
            if entry
            else Offer(name, server)
        )
    return offers


def _slots_of(name: str, where: str, own: FleetSettings) -> int:
    """The slots of a model's server, by its address or the first part of the model's name; 0: not counted."""
    address = where.rpartition(" ")[2]
    counted = own.counted
    return counted.get(address, 0) or counted.get(name.partition("/")[0], 0)


async def _serve(
    machine: Machine,
    wanted: Wanted,
    offers: Sequence[Offer],
    stop: asyncio.Event,
    over: asyncio.Event,
    say: Say,
) -> None:
    """Let the engine work until it is over; it starts again where it failed, for its jobs are kept."""

    async def run(number: int) -> None:
        await perform(machine, number)

    async def put_out(number: int) -> None:
        await publish(machine, number)

    queues = [queue_of(""), *(queue_of(each.name) for each in offers)] if offers else []
    queues += [PUBLISH_QUEUE] if wanted.publishes else []
    if not queues:
        telling = asyncio.ensure_future(_tell(machine, stop))
        await over.wait()
        await leave(telling)
        return
    limits = machine.settings.limits
    logging.getLogger("procrastinate").setLevel(logging.CRITICAL)  # what concerns people is said here
    app = make_app(machine.fleet, run, put_out)
    async with app.open_async(machine.fleet.pool):
        lasting = [asyncio.ensure_future(_drain(machine, wanted, stop, say))]
        if os.getpid() == 1:  # of a container
            lasting.append(asyncio.ensure_future(reap_orphans(_REAP_S)))
        forgetting = forget_again_and_again(machine.close, machine.store, machine.settings.keep_days)
        lasting.append(asyncio.ensure_future(forgetting))
        while not over.is_set():
            if not machine.has_space():
                say(f"No new task begins: {machine.free_mb()} MB are left in {machine.folder}.")
                await _wait_for_space(machine, over)
                continue
            listens = machine.settings.listen
            engine = make_worker(app, machine.name, queues, wanted.slots, limits, listens=listens)
            beside = [
                asyncio.ensure_future(each)
                for each in (
                    _sweep(machine),
                    _tell(machine, stop),
                    free_forgotten_jobs(machine.fleet, engine, limits.silence_s / 2),
                    _stop_engine(over, engine.stop),
                    _watch_space(machine, engine.stop),
                )
            ]
            try:
                await run_engine(engine)
            except Exception as error:
                say(f"The worker starts again: {error}")
                await happens(over, _FRESH_S)
            finally:
                await leave(*beside)
        await leave(*lasting)


async def _stop_engine(over: asyncio.Event, end: Callable[[], None]) -> None:
    await over.wait()
    end()


async def _wait_for_space(machine: Machine, over: asyncio.Event) -> None:
    while not machine.has_space() and not await happens(over, _SPACE_S):
        pass


async def _watch_space(machine: Machine, end: Callable[[], None]) -> None:
    """Fetch no more tasks once the disk is nearly full; those at work go on."""
    while machine.has_space():
        await asyncio.sleep(_SPACE_S)
    end()


async def _drain(machine: Machine, wanted: Wanted, stop: asyncio.Event, say: Say) -> None:
    """After the signal, let runs end for a while, then have them kept for other workers."""
    await stop.wait()
    say("Draining: no new run begins.")
    with suppress(KithError):
        await Fleet(machine.fleet.pool, _MARK_S).seen(machine.name, True)
    await asyncio.sleep(wanted.grace_s)
    machine.stop.set()
    machine.fleet.patience_s = _LAST_S  # whoever ends a worker does not wait for a database


async def _sweep(machine: Machine) -> None:
    """Give the runs of dead workers to others.

    Who was away itself cannot tell who is dead: it waits as long as a dead worker is silent.
    """
    limits, loop = machine.settings.limits, asyncio.get_running_loop()
    since = loop.time()
    while True:
        await asyncio.sleep(limits.silence_s / 3)
        try:
            if loop.time() - since >= limits.silence_s:
                await machine.close.sweep(limits)
            else:
                await machine.close.rows("SELECT 1 AS here")
        except KithError:
            since = loop.time()


async def _tell(machine: Machine, stop: asyncio.Event) -> None:
    while True:
        with suppress(KithError):
            await machine.close.seen(machine.name, stop.is_set())
        await asyncio.sleep(machine.settings.limits.silence_s / 3)
