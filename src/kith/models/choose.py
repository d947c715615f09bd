"""From a name such as `ollama/qwen3:8b`, or none at all, to the model that will be asked."""

import asyncio
import difflib
import importlib
from collections.abc import Mapping
from pathlib import Path

from kith.core.errors import NoModelError, UsageError
from kith.core.events import Notice
from kith.core.model import Emit
from kith.models.discovery.cards import kind_of
from kith.models.discovery.places import Places, servers_of
from kith.models.discovery.servers import Server, nearest, ollama_url
from kith.models.own import OwnEngine
from kith.models.providers.facts import Provider
from kith.models.providers.ollama import Ollama
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.sampling import Kind
from kith.models.providers.shape import shape_of
from kith.models.providers.wire import Endpoint, is_loopback

# The servers that need no configuration, and where they listen by default.
_USUAL_URLS: Mapping[str, tuple[Kind, str]] = {
    "llama-server": ("llama-server", "http://127.0.0.1:8080"),
    "lmstudio": ("lmstudio", "http://127.0.0.1:1234"),
    "vllm": ("vllm", "http://127.0.0.1:8000"),
}


async def choose_provider(name: str, places: Places, own: OwnEngine, emit: Emit) -> Provider:
    """The model called `name`; with no name, the first that is found on this machine.

    `name` is PROVIDER/MODEL, `replay/FILE`, `file/MODEL` (a model file, run by kith's own engine), or a
    model's bare name. Servers come before files. Raises NoModelError saying what is there, UsageError for a
    provider that does not exist.
    """
    provider, slash, model = name.partition("/")
    if slash and not model.strip():
        raise UsageError(f"{name!r} names no model; it should look like {provider or 'ollama'}/MODEL.")
    if provider == "replay" and slash:
        from kith.models.replay import Replay

        return Replay.load(Path(model).expanduser())
    # The HTTP library takes a while to load: in a thread, what else is under way goes on meanwhile.
    await asyncio.to_thread(importlib.import_module, "httpx2")
    known = _providers(places)
    if slash and provider in known:
        kind, url, key = known[provider]
        return await _open(kind, url, key, model, places)
    if slash and provider == "file":
        return await own.open(await own.pick(model), emit)
    servers = await servers_of(places)
    if name:
        return await _find(name, servers, places, tuple(known), own, emit)
    if found := _first(servers):
        server, model = found
        return await _open(server.kind, server.url, _key_for(server.url, places), model, places)
    if stored := await own.best():
        emit(Notice(f"No model server runs here; kith's own engine runs file/{stored.name}."))
        return await own.open(stored, emit)
    from kith.models.discovery.advice import advise

    raise NoModelError(advise(places, servers))


def _first(servers: tuple[Server, ...]) -> tuple[Server, str] | None:
    """The first model that is loaded, for it answers without a load; else the first that there is."""
    there = [(server, card) for server in servers for card in server.models]
    ready = [each for each in there if each[1].loaded or each[1].window]
    return next(((server, card.name) for server, card in (*ready, *there)), None)


def _providers(places: Places) -> dict[str, tuple[Kind, str, str]]:
    known: dict[str, tuple[Kind, str, str]] = {
        key: (kind, url, "") for key, (kind, url) in _USUAL_URLS.items()
    }
    known["ollama"] = ("ollama", ollama_url(places.ollama_host), "")
    if places.openai_base_url:
        known["openai"] = ("openai", places.openai_base_url, places.openai_key)
    return known | dict(places.named)


def _key_for(url: str, places: Places) -> str:
    if places.openai_base_url and Endpoint(places.openai_base_url).url == url:
        return places.openai_key
    return next((key for _, each, key in places.named.values() if Endpoint(each).url == url), "")


async def _open(kind: Kind, url: str, key: str, model: str, places: Places) -> Provider:
    if places.offline and not is_loopback(url):
        raise NoModelError(f"{url} is not on this machine, and --offline is set.")
    endpoint = Endpoint(url, key, stall_s=places.stall_s)
    if kind == "ollama":
        return Ollama(model, endpoint, await _ollama_window(endpoint, model, places.window))
    if kind == "openai":  # an address says nothing of the server behind it, which may know more
        kind = await kind_of(endpoint) or kind
    return OpenAILike(model, endpoint, kind)


async def _ollama_window(endpoint: Endpoint, model: str, wish: int) -> int | None:
    """The window that Ollama is asked for on every call: the wish, else what it runs already, else what fits.

    None where nothing is known, which leaves it to the server. A server elsewhere has its own memory, which
    nobody can see from here: it keeps its default.
    """
    shape = await shape_of(endpoint, model)
    if wish:
        return min(wish, shape.trained or wish)
    if shape.running:  # another window would make the server load the model anew, for everybody
        return shape.running
    if not shape.trained or not is_loopback(endpoint.url):
        return None
    from kith.models.discovery.header import describe
    from kith.models.discovery.machine import read_memory
    from kith.models.discovery.memory import TARGET, choose_window

    memory = await asyncio.to_thread(read_memory, cards=True)
    return choose_window(describe(shape.info), shape.size, memory, TARGET).window


async def _find(
    name: str, servers: tuple[Server, ...], places: Places, known: tuple[str, ...], own: OwnEngine, emit: Emit
) -> Provider:
    """A model by its bare name, wherever it is: on a server, or in a file."""
    for server in servers:
        for card in server.models:
            if card.name in (name, f"{name}:latest"):
                return await _open(server.kind, server.url, _key_for(server.url, places), card.name, places)
    if stored := await own.find(name):
        return await own.open(stored, emit)
    there = [f"{server.kind}/{card.name}" for server in servers for card in server.models]
    there += [f"file/{each}" for each in await own.names()]
    provider, slash, _ = name.partition("/")
    if slash and not any(card.name.startswith(f"{provider}/") for s in servers for card in s.models):
        providers = sorted((*known, "file", "replay"))
        near = difflib.get_close_matches(provider, providers, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(providers)}."
        raise UsageError(f"There is no provider {provider!r}; {hint}")
    if not there:
        raise NoModelError(f"No server here has a model, so none called {name!r}; see `kith models`.")
    close = nearest(name, there)
    hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(there[:8])}."
    raise NoModelError(f"There is no model {name!r}; {hint}")
