"""The models of this machine, as the settings see them: what there is, and how to get more."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kith import __version__
from kith.core.errors import (
    EXIT_LIMIT,
    EXIT_NO_MODEL,
    EXIT_TRY_LATER,
    HopelessError,
    KithError,
    UnrecordedError,
)
from kith.core.events import Carded, Notice, RunEnded, RunStarted
from kith.core.model import Emit
from kith.core.run import new_id
from kith.features.engine.options import EngineOptions
from kith.features.engine.own import OwnEngine
from kith.memory.log import Log
from kith.memory.session import Listener, Session
from kith.models.discovery.places import Named, Places, full_name, servers_of
from kith.settings import Settings

if TYPE_CHECKING:
    from kith.features.engine.listing import RunningEngine
    from kith.models.discovery.advice import Recommendation
    from kith.models.discovery.catalogue import Entry
    from kith.models.discovery.servers import Server


@dataclass(frozen=True, slots=True)
class Listed:
    """The models that can be asked, and in sentences what else there is to know; without any, what to do."""

    rows: "tuple[Entry, ...]"
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe stored: the facts as they stand on the model's card."""

    model: str
    facts: dict[str, Any]


def measured_name(chosen: Settings, name: str) -> str:
    """A model as the log and the prices call it: one of an endpoint that the person named, by its kind."""
    endpoint, _, model = name.partition("/")
    known = chosen.endpoints.get(endpoint)
    return f"{known.kind}/{model}" if known else name


def places_of(chosen: Settings) -> Places:
    """Where models may be asked, from the settings."""
    named = {
        name: Named(each.kind, each.url, os.environ.get(each.key_env, ""), each.key_env, each.cloud)
        for name, each in chosen.endpoints.items()
    }
    claude, gemini = chosen.anthropic_api_key, chosen.gemini_api_key
    places = Places(
        named=named,
        pools=chosen.pools,
        ollama_host=chosen.ollama_host,
        openai_base_url=chosen.openai_base_url,
        openai_key=chosen.openai_api_key,
        anthropic=Named("anthropic", chosen.anthropic_base_url, claude, "ANTHROPIC_API_KEY"),
        gemini=Named("gemini", chosen.gemini_base_url, gemini, "GEMINI_API_KEY"),
        offline=chosen.offline,
        cloud=chosen.cloud,
        window=chosen.window,
        stall_s=chosen.stall,
    )
    return places if chosen.discovery == "on" else replace(places, usual=())


def engine_of(chosen: Settings) -> OwnEngine:
    """kith's own engine, as the settings want it."""
    own = chosen.engine
    options = EngineOptions(
        ngl=own.ngl,
        flash_attn=own.flash_attn,
        threads=own.threads or 0,
        cache_type_k=own.cache_type_k,
        cache_type_v=own.cache_type_v,
        extra=own.args,
    )
    folders = tuple(Path(each).expanduser() for each in chosen.model_folders)
    state, cache = chosen.state, chosen.cache
    return OwnEngine(state, cache, folders, own.program, options, chosen.window, own.idle, chosen.stall)


async def list_all(chosen: Settings, log: Log) -> Listed:
    """Every model that can be asked, of servers and on the disk, with what earlier sessions learned of it."""
    from kith.models.discovery.advice import advise
    from kith.models.discovery.catalogue import list_models
    from kith.models.discovery.machine import read_memory

    places, own = places_of(chosen), engine_of(chosen)
    servers, stored, memory = await asyncio.gather(
        servers_of(places, details=True), own.stored(), asyncio.to_thread(read_memory, cards=True)
    )
    rows = list_models(servers, stored, places=places, memory=memory, learned=log.cards())
    if not rows:
        return Listed((), (advise(places, servers, memory),))
    name = await default_model(chosen, servers, own)
    choice = f"kith asks {name} unless told otherwise." if name else await own.excuse()
    loading = (f"The server at {server.url} still loads its model." for server in servers if server.loading)
    return Listed(rows, (*loading, *_silent(places, servers), choice))


def _silent(places: Places, servers: "Sequence[Server]") -> Iterator[str]:
    """What the person named, and does not tell of models: a sentence for each."""
    from kith.models.discovery.places import endpoint_of
    from kith.models.providers.wire import is_loopback

    seen = {server.url for server in servers}
    for name, each in places.named.items():
        endpoint = endpoint_of(each, places.stall_s)
        if endpoint.url in seen or endpoint.is_cloud or (places.offline and not is_loopback(endpoint.url)):
            continue
        key = "" if not each.key_env else f", and is its key in {each.key_env}"
        yield f"{name} at {endpoint.url} names no models: does it run{key}?"


async def default_model(chosen: Settings, servers: "Sequence[Server]", own: OwnEngine) -> str:
    """The name of the model that is asked where none is named; "" when there is none."""
    from kith.models.choose import first_model

    if chosen.model:
        return chosen.model
    if found := first_model(servers):
        server, card = found
        return full_name(server, card.name, places_of(chosen))
    stored = await own.best()
    return f"file/{stored.name}" if stored else ""


async def list_names(chosen: Settings) -> tuple[str, ...]:
    """The names of what can be asked, quickly."""
    from kith.models.discovery.catalogue import names_of

    places = places_of(chosen)
    servers, stored = await asyncio.gather(servers_of(places), engine_of(chosen).stored())
    return names_of(servers, stored, places)


def recommend_models() -> "tuple[Recommendation, ...]":
    """What is worth having on this machine."""
    from kith.models.discovery.advice import recommend
    from kith.models.discovery.machine import read_memory

    return recommend(read_memory(cards=True))


async def pull_model(chosen: Settings, name: str, force: bool, emit: Emit) -> Path | str:
    """Download a model, and say what to call it. Raises KithError."""
    from kith.features.engine.download.pull import pull_model as pull

    got = await pull(places_of(chosen), name, force, emit)
    if isinstance(got, Path):
        stored = await engine_of(chosen).stored()
        known = next((f"file/{each.name}" for each in stored if each.path == got), "")
    else:
        known = got
    if known:
        emit(Notice(f"To ask it: kith -m {known}"))
    return got


async def probe_model(chosen: Settings, log: Log, listener: Listener) -> Probed:
    """Measure the chosen model and keep the result on its card, in a session of its own. Raises KithError."""
    from kith.features.measure.probe import probe
    from kith.models.choose import choose_provider
    from kith.models.stack import look

    with Session(log, new_id()) as session:
        session.listeners.append(listener)
        session.emit(RunStarted("probe a model", "", chosen.model, __version__))
        try:
            provider = await choose_provider(chosen.model, places_of(chosen), engine_of(chosen), session.emit)
            async with aclosing(await look(provider, log.card, chosen.window, session.emit)) as opened:
                session.emit(Notice(f"Probing {opened.facts.name}; that takes a minute at most."))
                result = await probe(session.emit, opened.metered(tells=False), window=opened.window)
        except KithError as error:
            session.emit(end_of(error))
            raise
        name, facts = opened.facts.name, result.facts
        if opened.facts.digest:
            session.emit(Carded(opened.facts.digest, name, facts))
        session.emit(RunEnded("done", f"{name} was probed."))
    return Probed(name, facts)


def engines(chosen: Settings) -> "list[RunningEngine]":
    """kith's own engines that run now."""
    from kith.features.engine.listing import running_engines

    return running_engines(chosen.state)


def stop_own_engines(chosen: Settings) -> int:
    """End them; how many there were."""
    from kith.features.engine.listing import stop_engines

    return stop_engines(chosen.state)


def end_of(error: KithError) -> RunEnded:
    """How a run ends that met `error`."""
    if isinstance(error, UnrecordedError):
        return RunEnded("done", str(error))
    if error.code in (EXIT_NO_MODEL, EXIT_TRY_LATER):
        return RunEnded("unavailable", str(error))
    if isinstance(error, HopelessError):
        return RunEnded("failed", str(error), "hopeless")
    return RunEnded("limit" if error.code == EXIT_LIMIT else "failed", str(error))
