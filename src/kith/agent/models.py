"""The models of this machine, as the settings see them: what there is, and how to get more."""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kith.core.errors import UsageError
from kith.core.feature import Feature, Lazy
from kith.core.values import ServerKind
from kith.memory.log import Log
from kith.models.choose import first_model
from kith.models.discovery.advice import Recommendation, advise, recommend
from kith.models.discovery.catalogue import Entry, list_models, names_of
from kith.models.discovery.machine import read_memory
from kith.models.discovery.servers import (
    CLOUDS,
    CloudProtocol,
    NamedServer,
    Places,
    Server,
    endpoint_of,
    full_name,
    servers_of,
)
from kith.models.discovery.stored import FILES
from kith.models.providers.manner import Manner
from kith.models.providers.sampling import TITLES
from kith.models.providers.wire import is_loopback
from kith.models.sources import NoSource, Source, Sources, files_of
from kith.settings import Settings
from kith.settings.features import features, find_part, known_features, word_lack
from kith.settings.values import NamedEndpoint


class Listed(Struct, frozen=True):
    """The models that can be asked, and in sentences what else there is to know; without any, what to do."""

    rows: tuple[Entry, ...]
    notes: tuple[str, ...]


def listed_name(chosen: Settings, name: str, server: str) -> str:
    """A model of the log as `kith models` lists it: by its endpoint, where the person named that one."""
    places = places_of(chosen)
    named = places.reachable if server else {}
    place = next((each for each, known in named.items() if endpoint_of(known, places).url == server), "")
    return f"{place}/{name.partition('/')[2]}" if place else name


def places_of(chosen: Settings) -> Places:
    """Return the places of models, from the settings."""
    named = {
        name: NamedServer(
            each.kind, each.url, os.environ.get(each.key_env, ""), each.key_env, each.cloud, _manner_of(each)
        )
        for name, each in chosen.endpoints.items()
    }
    protocols, pool = cloud_protocols(), next((each.pool for each in features() if each.pool), None)
    claude, gemini = chosen.anthropic_api_key, chosen.gemini_api_key
    places = Places(
        protocols=protocols,
        named=named,
        pools=chosen.pools,
        ollama_host=chosen.ollama_host,
        openai_base_url=chosen.openai_base_url,
        openai_key=chosen.openai_api_key,
        anthropic=NamedServer("anthropic", chosen.anthropic_base_url, claude, "ANTHROPIC_API_KEY"),
        gemini=NamedServer("gemini", chosen.gemini_base_url, gemini, "GEMINI_API_KEY"),
        offline=chosen.offline,
        cloud=chosen.cloud,
        window=chosen.window,
        stall_s=chosen.stall,
        connect_s=chosen.connect,
        pool=pool,
        lacks={
            **{kind: _word_protocol(kind) for kind in CLOUDS if kind not in protocols},
            **{name: word_lack(lambda each: each.pool, f"Pool {name}") for name in chosen.pools if not pool},
        },
    )
    return places if chosen.discovery == "on" else replace(places, usual=())


def cloud_protocols() -> dict[str, Lazy[CloudProtocol]]:
    """The protocols of the cloud that features speak, by the kind of the server."""
    return {kind: found for each in features() for kind, found in each.protocols.items()}


def _word_protocol(kind: ServerKind) -> str:
    return word_lack(lambda each: each.protocols.get(kind), TITLES[kind])


def _manner_of(endpoint: NamedEndpoint) -> Manner:
    """Return the ways of a server; a header whose variable is not set is not sent. Raises UsageError."""
    told = {header: os.environ.get(name, "") for header, name in endpoint.headers_env.items()}
    for header, value in told.items():
        if not (value.isascii() and value.isprintable()):
            name = endpoint.headers_env[header]
            raise UsageError(f"The variable {name} holds no value for a header; was it copied completely?")
    headers = {**endpoint.headers, **{header: value for header, value in told.items() if value}}
    return Manner(headers, endpoint.path, endpoint.fields, endpoint.renames)


def sources_of(chosen: Settings) -> Sources:
    """The models of features, by prefix; one of a feature that is off says so when it is asked."""
    return {prefix: partial(_source, prefix, chosen) for each in known_features() for prefix in each.models}


def _source(prefix: str, chosen: Settings) -> Source:
    def part(feature: Feature) -> Lazy[Any] | None:
        return feature.models.get(prefix)

    make: Callable[[Settings], Source] | None = find_part(part)
    return make(chosen) if make else NoSource(word_lack(part, f"{prefix}/..."))


async def list_all(chosen: Settings, log: Log) -> Listed:
    """Every model that can be asked, of servers and on the disk, with what earlier sessions learned of it."""
    places, files = places_of(chosen), files_of(sources_of(chosen))
    servers, stored, memory = await asyncio.gather(
        servers_of(places, details=True), files.stored(), asyncio.to_thread(read_memory, cards=True)
    )
    rows = list_models(servers, stored, places=places, memory=memory, learned=log.cards())
    if not rows:
        return Listed((), (advise(places, servers, memory),))
    name = await default_model(chosen, servers, files)
    choice = f"kith asks {name} unless told otherwise." if name else await files.excuse()
    loading = (f"The server at {server.url} still loads its model." for server in servers if server.loading)
    return Listed(rows, (*loading, *_silent(places, servers), choice))


def _silent(places: Places, servers: Sequence[Server]) -> Iterator[str]:
    """Yield a sentence for each named server that lists no models."""
    seen = {server.url for server in servers}
    for name, each in places.reachable.items():
        endpoint = endpoint_of(each, places)
        if endpoint.url in seen or endpoint.is_cloud or (places.offline and not is_loopback(endpoint.url)):
            continue
        key = "" if not each.key_env else f", and is its key in {each.key_env}"
        yield f"{name} at {endpoint.url} lists no models: is it running{key}?"


async def default_model(chosen: Settings, servers: Sequence[Server], files: Source) -> str:
    """The name of the model that is asked where none is named; "" when there is none."""
    if chosen.model:
        return chosen.model
    if found := first_model(servers):
        server, card = found
        return full_name(server, card.name, places_of(chosen))
    best = await files.best()
    return f"{FILES}/{best}" if best else ""


async def list_names(chosen: Settings) -> tuple[str, ...]:
    """The names of what can be asked, quickly."""
    places, files = places_of(chosen), files_of(sources_of(chosen))
    servers, stored = await asyncio.gather(servers_of(places), files.stored())
    return names_of(servers, stored, places)


def recommend_models() -> tuple[Recommendation, ...]:
    """Recommend models for this machine."""
    return recommend(read_memory(cards=True))
