"""From a name such as `ollama/qwen3:8b`, or none at all, to the model that will be asked."""

import asyncio
import difflib
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from kith.core.errors import ModelError, NoModelError, UsageError
from kith.core.events import Notice
from kith.core.model import Emit
from kith.core.values import ServerKind
from kith.models.discovery.advice import advise
from kith.models.discovery.cards import Card, cards, kind_of
from kith.models.discovery.machine import read_memory
from kith.models.discovery.memory import TARGET, choose_window, fits
from kith.models.discovery.servers import (
    CLOUDS,
    NamedServer,
    Places,
    Server,
    Wait,
    endpoint_of,
    full_name,
    ollama_url,
    place_at,
    protocol_of,
    servers_of,
    wait_for_port,
)
from kith.models.discovery.stored import FILES
from kith.models.providers.facts import Provider
from kith.models.providers.faults import UnreachableError, nearest
from kith.models.providers.flavours import served_name, when_loaded
from kith.models.providers.ollama import Ollama, Shape, shape_of
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.waiting import waiting_for
from kith.models.providers.wire import Endpoint, is_loopback, leads_out, load_http
from kith.models.sources import Source, Sources, files_of
from kith.models.traits import describe

# The servers that need no configuration, and where they listen by default.
_USUAL: Mapping[str, NamedServer] = {
    "llama-server": NamedServer("llama-server", "http://127.0.0.1:8080"),
    "lmstudio": NamedServer("lmstudio", "http://127.0.0.1:1234"),
    "vllm": NamedServer("vllm", "http://127.0.0.1:8000"),
}

# Windows that Ollama is asked for, by address and model. A model that is being loaded takes memory, and is
# not listed as running yet: a choice made meanwhile would be a smaller one, and it would be loaded anew.
_CHOSEN: dict[tuple[str, str], int] = {}


async def choose_provider(name: str, places: Places, sources: Sources, emit: Emit) -> Provider:
    """Open the model called `name`; with no name, the first that is found on this machine.

    `name` is PROVIDER/MODEL, PREFIX/MODEL of one of the `sources` (`file/MODEL` is a model file), the
    path of a model file, or a model's bare name. Servers come before files. A server that loads its model
    is waited for; a slow one only if the person named it (with the model, or in a setting). Models
    outside the person's own network are only asked by name. Raises NoModelError with what is there,
    UsageError for an unknown provider.
    """
    provider, slash, model = name.partition("/")
    if slash and not model.strip():
        raise UsageError(f"{name!r} names no model; it should look like {provider or 'ollama'}/MODEL.")
    if slash and provider in sources and provider not in (*places.named, *places.pools):
        return await sources[provider]().open(model, emit)
    if name.endswith(".gguf") and name[0] in "./~":
        return await files_of(sources).open(name, emit)
    await load_http()
    known = _providers(places)
    if slash and provider in known:
        return await _open_named(provider, known[provider], model, places, emit)
    if slash and provider in places.pools:
        return await _open_pool(name, places.pools[provider], model, places, emit)
    if name:
        return await _find(name, places, (*known, *places.pools, *sources), files_of(sources), emit)
    servers = await servers_of(
        places, clouds=False, wait=Wait(places.stall_s, emit, connect_s=places.connect_s)
    )
    servers = servers if first_model(servers) else await _all_loaded(servers, places, emit)
    if found := first_model(servers):
        server, card = found
        return await _open(server.kind, _endpoint_of(server, places), card.name, places, emit)
    files = files_of(sources)
    if best := await files.best():
        emit(Notice(f"No model server runs here; kith's own engine runs {FILES}/{best}."))
        return await files.open(best, emit)
    raise NoModelError(await files.excuse() or advise(places, servers))


def first_model(servers: Sequence[Server]) -> tuple[Server, Card] | None:
    """Choose the default model: one that is loaded, as it answers at once; else one that can be.

    Never one outside the person's own network. If none is loaded, one on this machine comes first, then one
    with tools, then one that fits the memory. After that, the server's own order counts.
    """
    memory = read_memory()

    def rank(found: tuple[Server, Card]) -> tuple[bool, ...]:
        server, card = found
        here = is_loopback(server.url)
        fit = not here or not card.size or fits(card.header, card.size, memory)[0]
        return not (card.loaded or card.window), not here, card.tools is False, not fit

    near = (server for server in servers if not server.cloud)
    return min(((server, card) for server in near for card in server.models), key=rank, default=None)


async def _all_loaded(servers: Sequence[Server], places: Places, emit: Emit) -> tuple[Server, ...]:
    """The servers, once those that still load a model have one to tell."""

    async def loaded(server: Server) -> Server:
        if not server.loading:
            return server
        endpoint = _endpoint_of(server, places)
        try:
            found = await when_loaded(endpoint, lambda: cards(server.kind, endpoint), emit)
        except ModelError:  # it ended before it was ready
            return server
        finally:
            await endpoint.close()
        return replace(server, models=found, loading=False)

    return tuple(await asyncio.gather(*map(loaded, servers)))


def _providers(places: Places) -> dict[str, NamedServer]:
    known = {**_USUAL, "ollama": NamedServer("ollama", ollama_url(places.ollama_host))}
    known |= {"anthropic": places.anthropic, "gemini": places.gemini}
    if places.openai_base_url:
        known["openai"] = NamedServer("openai", places.openai_base_url, places.openai_key)
    return known | dict(places.named)


def _endpoint_of(server: Server, places: Places) -> Endpoint:
    said = {Endpoint(each.url).url: each.cloud for each in places.named.values() if each.url}
    cloud = server.cloud or said.get(server.url)  # what nobody said, its address says, or where that leads
    at = place_at(server.url, places)
    endpoint = endpoint_of(
        NamedServer(server.kind, server.url, at.key, cloud=cloud, manner=at.manner), places
    )
    endpoint.look_s = places.stall_s
    return endpoint


async def _open_named(provider: str, place: NamedServer, model: str, places: Places, emit: Emit) -> Provider:
    """A model of an endpoint that was named with it, and is waited for like a reply."""
    endpoint = endpoint_of(place, places)
    endpoint.look_s = places.stall_s
    _check_allowed(f"{endpoint.url} is", endpoint.is_cloud, places, is_loopback(endpoint.url))
    if place.kind in CLOUDS and endpoint.is_cloud and not endpoint.key:
        how = f"set {place.key_env}" if place.key_env else f"set endpoints.{provider}.key_env"
        raise NoModelError(f"{endpoint.url} needs a key: {how}.")
    await wait_for_port(endpoint.url)
    return await _open(place.kind, endpoint, model, places, emit)


async def _open_pool(name: str, members: Sequence[str], model: str, places: Places, emit: Emit) -> Provider:
    """The servers of a pool, as one model; a member is an endpoint's name, or an address.

    Those that do not answer are left out, and said. Raises NoModelError when none is left, UsageError for a
    member that is no endpoint or is in the cloud.
    """
    if places.pool is None:
        raise UsageError(places.lacks.get(name.partition("/")[0], f"kith knows no pools, such as {name}."))
    found = list[Provider]()
    for each, place in [(each, _member(name, each, places)) for each in members]:
        endpoint = endpoint_of(place, places)
        try:
            kind = place.kind if place.url != each else await kind_of(endpoint) or "openai"
            found.append(await _open(kind, endpoint, model, places, emit))
        except (ModelError, NoModelError) as error:
            emit(Notice(f"{str(error).rstrip('.')}. The pool goes on without {each}.", "warning"))
    if not found:
        raise NoModelError(f"No server of the pool of {name} answers.")
    return places.pool.load()(name, found)


def _member(pool: str, name: str, places: Places) -> NamedServer:
    """A server of a pool. Raises UsageError for one that cannot be."""
    place = _providers(places).get(name) or (NamedServer("openai", name) if "://" in name else None)
    if place is None:
        raise UsageError(f"The pool of {pool} names {name!r}, which is neither an endpoint nor an address.")
    if endpoint_of(place, places).is_cloud:
        raise UsageError(f"The pool of {pool} names {name}, which is outside of your own network.")
    return place


def _check_allowed(what: str, cloud: bool, places: Places, here: bool) -> None:
    """Raise NoModelError for what the settings keep closed."""
    if places.offline and not here:
        raise NoModelError(f"{what} not on this machine, and --offline is set.")
    if cloud and places.cloud == "never":
        raise NoModelError(f'{what} outside of your own network, and cloud = "never" is set.')


async def _open(kind: ServerKind, endpoint: Endpoint, model: str, places: Places, emit: Emit) -> Provider:
    async with waiting_for(endpoint.url, emit, places.stall_s) as listen:
        return await _recognise(kind, endpoint, model, places, listen)


async def _recognise(
    kind: ServerKind, endpoint: Endpoint, model: str, places: Places, emit: Emit
) -> Provider:
    """The provider for what really is at an endpoint."""
    known = endpoint.cloud is not None or endpoint.is_cloud or is_loopback(endpoint.url)
    if not known and not places.offline and await leads_out(endpoint.url):
        endpoint.cloud = True
    _check_allowed(f"{endpoint.url} is", endpoint.is_cloud, places, is_loopback(endpoint.url))
    if kind == "openai":  # an address says nothing of the server behind it, which may know more
        kind = await kind_of(endpoint) or kind
    shape = await _shape_behind(kind, endpoint, model)
    if shape.remote:
        endpoint.cloud = True
        _check_allowed(f"Ollama runs {model} at {shape.remote}, which is", True, places, here=False)
        emit(Notice(f"Ollama runs {model} at {shape.remote}: prompts leave this machine.", "warning"))
    if kind in CLOUDS:
        return protocol_of(kind, places).provider(model, endpoint)
    if kind == "ollama":
        return Ollama(model, endpoint, await _ollama_window(endpoint, model, shape, places.window))
    if kind == "llama-server" and (served := await served_name(endpoint, model)) != model:
        words = f"The server at {endpoint.url} ignores the name {model!r}: it runs {served}."
        emit(Notice(words, "warning"))
        model = served
    return OpenAILike(model, endpoint, kind)


async def _shape_behind(kind: ServerKind, endpoint: Endpoint, model: str) -> Shape:
    """Ask Ollama for its facts on a model, in any protocol; empty where no Ollama is there.

    It speaks several protocols, and a model that it forwards to a cloud looks like any other in each of them.
    """
    if kind == "ollama":
        return await shape_of(endpoint, model)
    if kind == "llama-server" or endpoint.is_cloud:
        return Shape()
    try:
        return await shape_of(endpoint, model) if await kind_of(endpoint) == "ollama" else Shape()
    except (NoModelError, UnreachableError):  # the protocol that was chosen says it in its own words
        return Shape()


async def _ollama_window(endpoint: Endpoint, model: str, shape: Shape, wish: int) -> int | None:
    """Choose Ollama's window for every call: the requested one, else the running one, else one that fits.

    None where nothing is known, which leaves it to the server. A remote server has its own memory, unknown
    here, so it keeps its default.
    """
    if wish:
        return min(wish, shape.trained or wish)
    if shape.running:  # another window would make the server load the model anew, for everybody
        return shape.running
    if not shape.trained or not is_loopback(endpoint.url):
        return None
    chosen = _CHOSEN.get((endpoint.url, model))
    if chosen is None:
        memory = await asyncio.to_thread(read_memory, cards=True)
        chosen = choose_window(describe(shape.info), shape.size, memory, TARGET).window
    return _CHOSEN.setdefault((endpoint.url, model), chosen)


async def _find(
    name: str,
    places: Places,
    known: tuple[str, ...],
    files: Source,
    emit: Emit,
) -> Provider:
    """A model by its bare name, wherever it is: on a server, or in a file."""
    stored = [each.name for each in await files.stored() if not each.fault]

    def listed(servers: Sequence[Server]) -> tuple[Server, Card] | None:
        # A bare name means what is near, wherever it is listed first.
        near_first = sorted(servers, key=lambda server: server.cloud)
        there = ((server, card) for server in near_first for card in server.models)
        return next((each for each in there if each[1].name in (name, f"{name}:latest")), None)

    def is_known(servers: Sequence[Server]) -> bool:
        return name in stored or listed(servers) is not None

    servers = await servers_of(places, wait=Wait(places.stall_s, emit, is_known, places.connect_s))
    if not is_known(servers):
        servers = await _all_loaded(servers, places, emit)
    if found := listed(servers):
        server, card = found
        return await _open(server.kind, _endpoint_of(server, places), card.name, places, emit)
    if name in stored:
        return await files.open(name, emit)
    raise _no_such_model(name, servers, places, known, stored)


def _no_such_model(
    name: str, servers: Sequence[Server], places: Places, known: Sequence[str], stored: Sequence[str]
) -> NoModelError | UsageError:
    """Explain that a model does not exist: list the available ones, or suggest the nearest."""
    there = [full_name(server, card.name, places) for server in servers for card in server.models]
    there += [f"{FILES}/{each}" for each in stored]
    provider, slash, _ = name.partition("/")
    if slash and not any(card.name.startswith(f"{provider}/") for s in servers for card in s.models):
        providers = sorted(known)
        near = difflib.get_close_matches(provider, providers, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(providers)}."
        return UsageError(f"There is no provider {provider!r}; {hint}")
    if not there:
        return NoModelError(f"There is no model {name!r}: no server here has any. See `kith models`.")
    close = nearest(name, there)
    hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(there[:8])}."
    return NoModelError(f"There is no model {name!r}; {hint}")
