"""Model servers: the places where they may be, and finding those that answer."""

import asyncio
import ipaddress
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Literal
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.errors import ModelError, UsageError
from kith.core.feature import Lazy
from kith.core.model import Emit
from kith.core.structs import repr_without
from kith.core.values import ServerKind
from kith.models.discovery.cards import Card, cards, kind_of
from kith.models.providers.facts import Provider
from kith.models.providers.faults import LoadingError
from kith.models.providers.manner import USUAL as USUAL_MANNER
from kith.models.providers.manner import Manner
from kith.models.providers.sampling import TITLES
from kith.models.providers.waiting import waiting_for
from kith.models.providers.wire import Endpoint, is_loopback

# Where llama-server, LM Studio and vLLM listen unless told otherwise: `-m llama-server/MODEL` means these.
USUAL: Final = ("http://127.0.0.1:8080", "http://127.0.0.1:1234", "http://127.0.0.1:8000")
# Where else they are often put; Jan, GPT4All, text-generation-webui and KoboldCpp.
OFTEN: Final = tuple(f"http://127.0.0.1:{port}" for port in (8081, 8888, 1337, 4891, 5000, 5001))
CONNECT_S: Final = 0.15  # a listening port of this machine answers at once
FAR_CONNECT_S: Final = 1.0  # a machine elsewhere may take a moment, and a server here that is busy
PATIENCE_S: Final = 1.5  # for everything that one server is asked
DETAILS_S: Final = 3.0  # for asking about each of its models
STARTS_S: Final = 2.0  # for a server that was started a moment ago, until its port is open
_LOOK_AGAIN_S: Final = 0.1


class Place(Struct, frozen=True):
    """The address of a possible server, and its key; `said` names the setting, "" for a usual place.

    `cloud`: it is outside the person's own network; None: decided by its address.
    """

    url: str
    key: str = ""
    said: str = ""
    cloud: bool | None = None
    manner: Manner = USUAL_MANNER
    __repr__ = repr_without("key")


class Server(Struct, frozen=True):
    """A server that answers, and its models; `loading`: it cannot tell them yet.

    `cloud`: it is outside of the person's own network.
    """

    kind: ServerKind
    url: str
    models: tuple[Card, ...]
    loading: bool = False
    cloud: bool = False


class Wait(Struct, frozen=True):
    """Patience with servers that the person named: up to `seconds`, which `emit` is told.

    It ends early once `enough` was found; without that, once one of them lists a model.
    """

    seconds: float
    emit: Emit
    enough: Callable[[Sequence[Server]], bool] | None = None
    connect_s: float | None = None


async def find_servers(
    places: Iterable[Place], *, details: bool = False, wait: Wait | None = None
) -> tuple[Server, ...]:
    """Every server that answers, all asked at once. `details` asks about each model too.

    With `wait`, those that the person named may be slow. Raises UsageError for an address that is none.
    """
    endpoints: dict[str, Endpoint] = {}
    named = set[str]()
    for place in places:
        endpoint = Endpoint(
            place.url,
            place.key,
            cloud=place.cloud,
            manner=place.manner,
            stall_s=PATIENCE_S,
            connect_s=FAR_CONNECT_S,
        )
        if wait and place.said:
            named.add(endpoint.url)
            endpoint.stall_s = endpoint.look_s = wait.seconds
            endpoint.connect_s = wait.connect_s
        endpoints.setdefault(endpoint.url, endpoint)
    # All ports first: loading the HTTP library takes longer than a port is waited for.
    opened = await asyncio.gather(*(_listens(url, named=url in named) for url in endpoints))
    there = [endpoint for endpoint, listens in zip(endpoints.values(), opened, strict=True) if listens]
    looks = [
        asyncio.create_task(_look_at(each, details, each.stall_s), name=each.url if each.url in named else "")
        for each in there
    ]
    try:
        await _hear(looks, wait)
    finally:
        for look in looks:
            look.cancel()
        found = await asyncio.gather(*looks, return_exceptions=True)
    for each in found:
        if isinstance(each, Exception):
            raise each
    return tuple(each for each in found if isinstance(each, Server))


async def _hear(looks: Sequence[asyncio.Task[Server | None]], wait: Wait | None) -> None:
    """Until all looks are done; those that may take long (they have a name) only until there is enough."""
    late = {look for look in looks if look.get_name()}
    quick = set(looks) - late
    if quick:
        await asyncio.wait(quick)
    if not late or wait is None:
        return

    def enough() -> bool:
        done = [look for look in looks if look.done() and (wait.enough or look.get_name())]
        found = [server for look in done if (server := look.result())]
        return wait.enough(found) if wait.enough else any(each.models or each.loading for each in found)

    _, late = await asyncio.wait(late, timeout=PATIENCE_S)
    urls = " and ".join(sorted(look.get_name() for look in late))
    async with waiting_for(urls, wait.emit, wait.seconds):
        while late and not enough():
            _, late = await asyncio.wait(late, return_when=asyncio.FIRST_COMPLETED)


async def wait_for_port(url: str) -> None:
    """Wait a moment for a closed port of this machine: its server may have been started just now."""
    loop = asyncio.get_running_loop()
    until = loop.time() + STARTS_S
    while not await _listens(url, named=True) and loop.time() < until:
        await asyncio.sleep(_LOOK_AGAIN_S)


def ollama_url(host: str) -> str:
    """The address that OLLAMA_HOST means, read as Ollama reads it; "everywhere" becomes loopback.

    Source: `envconfig.Host` of Ollama. The port defaults to 11434, or to the scheme's when there is one.
    """
    scheme, found, rest = host.strip().partition("://")
    if not found:
        scheme, rest = "http", host.strip()
    usual = {"http": "80", "https": "443"}.get(scheme, "11434") if found else "11434"
    place, _, path = rest.partition("/")
    person, at, place = place.rpartition("@")
    name, port = _split_port(place)
    if not port.isdecimal() or int(port) > 65535:
        port = usual
    return f"{scheme}://{person}{at}{_reachable(name)}:{port}/{path}".rstrip("/")


def llama_url(host: str, port: str) -> str:
    """The address that llama-server's own variables mean (LLAMA_ARG_HOST, LLAMA_ARG_PORT); "" for none.

    A socket file, or what is no host or port at all, is none.
    """
    name, number = host.strip("[]"), port or "8080"
    good = re.fullmatch(r"[\w.:-]*", name, re.ASCII) and re.fullmatch(r"\d{1,5}", number, re.ASCII)
    if not (host or port) or host.endswith(".sock") or not good or not 0 < int(number) < 65536:
        return ""
    return f"http://{_reachable(name)}:{number}"


def _reachable(name: str) -> str:
    """A host to bind to, as one to connect to."""
    name = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)
    return f"[{name}]" if ":" in name else name


def _split_port(place: str) -> tuple[str, str]:
    """The host and the port ("" when there is none) of `host:port`, `[v6]:port`, or an address alone."""
    try:
        return str(ipaddress.ip_address(place.strip("[]"))), ""
    except ValueError:
        name, _, port = place.rpartition(":") if ":" in place else (place, "", "")
        return name.strip("[]"), port


async def _look_at(endpoint: Endpoint, details: bool, patience_s: float) -> Server | None:
    """Look at an address: one that is silent, slow or something else is no server."""
    server = None
    try:
        with suppress(ModelError, TimeoutError):  # what is known by then is what counts
            async with asyncio.timeout(patience_s):
                server = await _meet(endpoint)
            if server and details and not server.loading:
                async with asyncio.timeout(DETAILS_S):
                    server = replace(server, models=await cards(server.kind, endpoint, details=True))
    finally:
        await endpoint.close()
    return server


async def _meet(endpoint: Endpoint) -> Server | None:
    kind = await kind_of(endpoint)
    try:
        found = await cards(kind, endpoint) if kind else ()
    except LoadingError:
        return Server(kind or "llama-server", endpoint.url, (), loading=True, cloud=endpoint.is_cloud)
    return Server(kind, endpoint.url, found, cloud=endpoint.is_cloud) if kind else None


async def _listens(url: str, *, named: bool) -> bool:
    """True if a port of this machine is open; a closed one saves loading the HTTP library.

    One that neither opens nor refuses is busy. Waiting for it is worth it only where the person `named` it.
    """
    parts = urlsplit(url)
    if not is_loopback(url):
        return True
    try:
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    except TimeoutError:
        return named
    except OSError:
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True


# --- where models may be asked -------------------------------------------------------------------


# These two are only asked by name: their lists are a price list, not what somebody has.
CLOUDS: tuple[ServerKind, ...] = ("anthropic", "gemini")


class CloudProtocol(Struct, frozen=True):
    """A protocol of the cloud: how its servers are reached, and the provider of one of their models."""

    endpoint: Callable[..., Endpoint]
    provider: Callable[[str, Endpoint], Provider]


# Makes one model, called by the name, of several servers that run it.
MakePool = Callable[[str, Sequence[Provider]], Provider]


class NamedServer(Struct, frozen=True):
    """An endpoint that the person gave a name, or one that has its name from its maker.

    `key_env` is the variable that the key comes from; `cloud` says whether it is outside of the person's own
    network, None: its address does.
    """

    kind: ServerKind
    url: str = ""
    key: str = ""
    key_env: str = ""
    cloud: bool | None = None
    manner: Manner = USUAL_MANNER
    __repr__ = repr_without("key")


class Places(Struct, frozen=True):
    """The places of models: the configured ones, and the usual ones of this machine.

    `named` are the endpoints of the configuration, `pools` names of several that share work. `cloud` is
    the rule for models outside the person's own network ("ask": the caller asks before). `window`: the
    tokens that Ollama is asked for on every call, 0 for what model and memory allow. `stall_s`: seconds
    without a byte before a server counts as hung; `connect_s`: for a connection, None as in `Endpoint`.
    `protocols` are those of the cloud; they and `pool` are loaded when one is asked. `lacks` says which
    feature a kind of cloud or a pool needs, by its name, where that is missing.
    """

    protocols: Mapping[str, Lazy[CloudProtocol]] = field(default_factory=dict)
    named: Mapping[str, NamedServer] = field(default_factory=dict)
    pools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ollama_host: str = ""
    openai_base_url: str = ""
    openai_key: str = ""
    anthropic: NamedServer = NamedServer("anthropic", key_env="ANTHROPIC_API_KEY")
    gemini: NamedServer = NamedServer("gemini", key_env="GEMINI_API_KEY")
    offline: bool = False
    cloud: Literal["never", "ask", "allow"] = "ask"
    window: int = 0
    stall_s: float = 600.0
    connect_s: float | None = None
    usual: tuple[str, ...] = (*USUAL, *OFTEN)
    pool: Lazy[MakePool] | None = None
    lacks: Mapping[str, str] = field(default_factory=dict)
    __repr__ = repr_without("openai_key")

    @property
    def reachable(self) -> dict[str, NamedServer]:
        """The named endpoints, without those of a cloud whose protocol no feature that is on speaks."""
        unspoken = {*CLOUDS} - self.protocols.keys()
        return {name: each for name, each in self.named.items() if each.kind not in unspoken}


def addresses(places: Places, environ: Mapping[str, str] = os.environ) -> tuple[Place, ...]:
    """Every address to look at, each once, the configured ones first; offline, only those of this machine.

    The clouds that have a protocol of their own are not among them. Of `environ` llama-server's own variables
    are read. Raises UsageError for an address that is none.
    """
    asked = [
        Place(each.url, each.key, f"endpoints.{name}", each.cloud, each.manner)
        for name, each in places.named.items()
        if each.kind not in CLOUDS
    ]
    if places.openai_base_url:
        asked.append(Place(places.openai_base_url, places.openai_key, "OPENAI_BASE_URL"))
    if places.ollama_host or places.usual:
        asked.append(Place(ollama_url(places.ollama_host), said="OLLAMA_HOST" * bool(places.ollama_host)))
    if own := llama_url(environ.get("LLAMA_ARG_HOST", ""), environ.get("LLAMA_ARG_PORT", "")):
        asked.append(Place(own))
    once: dict[str, Place] = {}
    for place in (*asked, *map(Place, places.usual)):
        if is_loopback(place.url) or not places.offline:
            try:
                found = Endpoint(place.url, place.key, cloud=place.cloud)
            except UsageError as error:
                raise UsageError(f"{place.said}: {error}") from None
            if not (found.is_cloud and places.cloud == "never"):
                once.setdefault(found.url, replace(place, url=found.url, key=found.key, cloud=found.is_cloud))
    return tuple(once.values())


async def servers_of(
    places: Places,
    *,
    details: bool = False,
    clouds: bool = True,
    environ: Mapping[str, str] = os.environ,
    wait: Wait | None = None,
) -> tuple[Server, ...]:
    """Every server that answers at these addresses. `details` asks about each model too.

    Without `clouds`, only those of the person's own network. With `wait`, those that were named may be slow.
    """
    looked = (place for place in addresses(places, environ) if clouds or not place.cloud)
    return await find_servers(looked, details=details, wait=wait)


def protocol_of(kind: ServerKind, places: Places) -> CloudProtocol:
    """A protocol of the cloud. Raises UsageError where no feature that is on speaks it."""
    if kind not in places.protocols:
        raise UsageError(places.lacks.get(kind, f"kith does not speak the protocol of {TITLES[kind]}."))
    return places.protocols[kind].load()


def endpoint_of(place: NamedServer, places: Places) -> Endpoint:
    """An endpoint as its protocol wants it. Raises UsageError for an address that is none."""
    make = protocol_of(place.kind, places).endpoint if place.kind in CLOUDS else Endpoint
    endpoint = make(place.url, place.key, cloud=place.cloud, stall_s=places.stall_s)
    endpoint.manner = place.manner
    if places.connect_s is not None:
        endpoint.connect_s = places.connect_s
    return endpoint


def place_at(url: str, places: Places) -> Place:
    """Return the key and the manner that go to an address, and nowhere else; most have neither."""
    return next((place for place in addresses(places) if place.url == url), Place(url))


def full_name(server: Server, model: str, places: Places) -> str:
    """Return a model's name for `kith -m`: PROVIDER/MODEL, or its bare name elsewhere."""
    named = {Endpoint(each.url).url: name for name, each in places.named.items()}
    if places.openai_base_url:
        named.setdefault(Endpoint(places.openai_base_url).url, "openai")
    usual = {("llama-server", USUAL[0]), ("lmstudio", USUAL[1]), ("vllm", USUAL[2])}
    if (server.kind, server.url) in {*usual, ("ollama", Endpoint(ollama_url(places.ollama_host)).url)}:
        named.setdefault(server.url, server.kind)
    provider = named.get(server.url)
    return f"{provider}/{model}" if provider else model
