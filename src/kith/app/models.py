"""The models of this machine, as the settings see them: what there is, and how to get more."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kith import __version__
from kith.core.errors import EXIT_LIMIT, EXIT_NO_MODEL, EXIT_TRY_LATER, KithError
from kith.core.events import Carded, RunEnded, RunStarted
from kith.core.model import Emit
from kith.core.run import new_id
from kith.memory.log import Listener, Log, Session
from kith.models.choose import choose_provider
from kith.models.discovery.places import Places, servers_of
from kith.models.engine.options import EngineOptions
from kith.models.own import OwnEngine
from kith.models.stack import look
from kith.settings import Settings

if TYPE_CHECKING:
    from kith.models.discovery.advice import Recommendation
    from kith.models.discovery.catalogue import Entry
    from kith.models.engine.listing import RunningEngine


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe stored: the facts as they stand on the model's card."""

    model: str
    facts: dict[str, Any]


def places_of(chosen: Settings) -> Places:
    """Where models may be asked, from the settings."""
    keys = {name: os.environ.get(each.key_env, "") for name, each in chosen.endpoints.items()}
    return Places(
        named={name: (each.kind, each.url, keys[name]) for name, each in chosen.endpoints.items()},
        ollama_host=chosen.ollama_host,
        openai_base_url=chosen.openai_base_url,
        openai_key=chosen.openai_api_key,
        offline=chosen.offline,
        window=chosen.window,
        stall_s=chosen.stall,
    )


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


async def list_all(chosen: Settings, log: Log) -> "tuple[Entry, ...]":
    """Every model that can be asked, of servers and on the disk, with what earlier sessions learned of it."""
    from kith.models.discovery.catalogue import list_models
    from kith.models.discovery.machine import read_memory

    places = places_of(chosen)
    servers, stored, memory = await asyncio.gather(
        servers_of(places, details=True),
        engine_of(chosen).stored(),
        asyncio.to_thread(read_memory, cards=True),
    )
    return list_models(servers, stored, places=places, memory=memory, learned=log.cards())


async def list_names(chosen: Settings) -> tuple[str, ...]:
    """The names of what can be asked, quickly."""
    from kith.models.discovery.catalogue import names_of

    places = places_of(chosen)
    servers, stored = await asyncio.gather(servers_of(places), engine_of(chosen).stored())
    return names_of(servers, stored, places)


async def explain_no_model(chosen: Settings) -> str:
    """The normal first run: what was looked for and where, what this machine carries, how to get one."""
    from kith.models.discovery.advice import advise

    places = places_of(chosen)
    return advise(places, await servers_of(places))


def recommend_models() -> "tuple[Recommendation, ...]":
    """What is worth having on this machine."""
    from kith.models.discovery.advice import recommend
    from kith.models.discovery.machine import read_memory

    return recommend(read_memory(cards=True))


async def pull_model(chosen: Settings, name: str, force: bool, emit: Emit) -> Path | str:
    """Download a model. Raises KithError."""
    from kith.models.download.pull import pull_model as pull

    return await pull(places_of(chosen), name, force, emit)


async def probe_model(chosen: Settings, log: Log, listener: Listener) -> Probed:
    """Measure the chosen model and keep the result on its card, in a session of its own. Raises KithError."""
    from kith.workflows.probe import probe

    with Session(log, new_id()) as session:
        session.listeners.append(listener)
        session.emit(RunStarted("probe a model", "", chosen.model, __version__))
        try:
            provider = await choose_provider(chosen.model, places_of(chosen), engine_of(chosen), session.emit)
            opened = await look(provider, log.card, chosen.window, session.emit)
            result = await probe(session.emit, opened.metered(), window=opened.window)
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
    from kith.models.engine.listing import running_engines

    return running_engines(chosen.state)


def stop_own_engines(chosen: Settings) -> int:
    """End them; how many there were."""
    from kith.models.engine.listing import stop_engines

    return stop_engines(chosen.state)


def end_of(error: KithError) -> RunEnded:
    """How a run ends that met `error`."""
    if error.code in (EXIT_NO_MODEL, EXIT_TRY_LATER):
        return RunEnded("unavailable", str(error))
    return RunEnded("limit" if error.code == EXIT_LIMIT else "failed", str(error))
