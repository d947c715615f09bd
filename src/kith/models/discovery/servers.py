"""Finds the model servers at the places it is given, and knows the usual places of this machine."""

import asyncio
import ipaddress
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlsplit

from kith.core.errors import ModelError
from kith.models.discovery.cards import Card, cards, kind_of
from kith.models.providers.faults import LoadingError
from kith.models.providers.sampling import Kind
from kith.models.providers.wire import Endpoint, is_loopback

# Where llama-server, LM Studio and vLLM listen unless told otherwise: `-m llama-server/MODEL` means these.
USUAL: Final = ("http://127.0.0.1:8080", "http://127.0.0.1:1234", "http://127.0.0.1:8000")
# Where else they are often put; Jan, GPT4All, text-generation-webui and KoboldCpp.
OFTEN: Final = tuple(f"http://127.0.0.1:{port}" for port in (8081, 8888, 1337, 4891, 5000, 5001))
CONNECT_S: Final = 0.15  # a listening port of this machine answers at once
FAR_CONNECT_S: Final = 1.0  # a machine elsewhere may take a moment, and a server here that is busy
PATIENCE_S: Final = 1.5  # for everything that one server is asked
DETAILS_S: Final = 3.0  # for asking about each of its models


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server may be, and the key for it; `said` names the setting, "" for one of the usual places.

    `cloud`: it is outside of the person's own network; None: its address says so.
    """

    url: str
    key: str = field(default="", repr=False)
    said: str = ""
    cloud: bool | None = None


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers, and its models; `loading`: it cannot tell them yet.

    `cloud`: it is outside of the person's own network.
    """

    kind: Kind
    url: str
    models: tuple[Card, ...]
    loading: bool = False
    cloud: bool = False


async def find_servers(places: Iterable[Place], *, details: bool = False) -> tuple[Server, ...]:
    """Every server that answers, all asked at once. `details` asks about each model too.

    Raises UsageError for an address that is none.
    """
    endpoints: dict[str, Endpoint] = {}
    for place in places:
        endpoint = Endpoint(
            place.url, place.key, cloud=place.cloud, stall_s=PATIENCE_S, connect_s=FAR_CONNECT_S
        )
        endpoints.setdefault(endpoint.url, endpoint)
    # All ports first: loading the HTTP library takes longer than a port is waited for.
    opened = await asyncio.gather(*(_listens(url) for url in endpoints))
    there = [endpoint for endpoint, listens in zip(endpoints.values(), opened, strict=True) if listens]
    found = await asyncio.gather(*(_look_at(endpoint, details) for endpoint in there))
    return tuple(server for server in found if server is not None)


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


async def _look_at(endpoint: Endpoint, details: bool) -> Server | None:
    """What is at an address: one that is silent, slow or something else is no server."""
    server = None
    try:
        with suppress(ModelError, TimeoutError):  # what is known by then is what counts
            async with asyncio.timeout(PATIENCE_S):
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


async def _listens(url: str) -> bool:
    """Whether a port of this machine is open: most are not, and then the HTTP library is not even loaded."""
    parts = urlsplit(url)
    if not is_loopback(url):
        return True
    try:
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True
