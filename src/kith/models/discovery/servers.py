"""Finds the model servers of this machine, and those that were configured; it never looks anywhere else."""

import asyncio
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kith.core.errors import ModelError, UsageError
from kith.models.discovery.cards import Card, cards, kind_of
from kith.models.providers.faults import nearest
from kith.models.providers.sampling import Kind
from kith.models.providers.wire import Endpoint, is_loopback

__all__ = ["Server", "find_servers", "is_loopback", "nearest", "ollama_url"]

# Where llama-server, LM Studio and vLLM listen unless told otherwise.
USUAL: Final = ("http://127.0.0.1:8080", "http://127.0.0.1:1234", "http://127.0.0.1:8000")
CONNECT_S = 0.3  # a listening port of this machine answers at once
PATIENCE_S = 3.0  # for everything that one server is asked


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers, and its models."""

    kind: Kind
    url: str
    models: tuple[Card, ...]


async def find_servers(
    ollama_host: str = "",
    openai_base_url: str = "",
    extra: Iterable[str] = (),
    *,
    key: str = "",
    usual: Iterable[str] = USUAL,
) -> tuple[Server, ...]:
    """Every server that answers, all asked at once; addresses beyond this machine must be arguments.

    `ollama_host` is OLLAMA_HOST, `openai_base_url` and `extra` are addresses, `key` is for `openai_base_url`
    alone. Raises UsageError for an address that is none.
    """
    configured = [openai_base_url] if openai_base_url else []
    addresses = [*configured, *extra, ollama_url(ollama_host), *usual]
    endpoints: dict[str, Endpoint] = {}
    for number, address in enumerate(addresses):
        bearer = key if number < len(configured) else ""
        endpoint = Endpoint(address, bearer, stall_s=PATIENCE_S, connect_s=CONNECT_S)
        endpoints.setdefault(endpoint.url, endpoint)
    found = await asyncio.gather(*(_look_at(endpoint) for endpoint in endpoints.values()))
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
    name, port = _split_port(place)
    if not port.isdecimal() or int(port) > 65535:
        port = usual
    name = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)
    name = f"[{name}]" if ":" in name else name
    return f"{scheme}://{name}:{port}/{path}".rstrip("/")


def _split_port(place: str) -> tuple[str, str]:
    """The host and the port ("" when there is none) of `host:port`, `[v6]:port`, or an address alone."""
    try:
        return str(ipaddress.ip_address(place.strip("[]"))), ""
    except ValueError:
        name, _, port = place.rpartition(":") if ":" in place else (place, "", "")
        return name.strip("[]"), port


async def _look_at(endpoint: Endpoint) -> Server | None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            kind = await kind_of(endpoint)
            return Server(kind, endpoint.url, await cards(kind, endpoint)) if kind else None
    except (ModelError, TimeoutError, UsageError):
        return None
    finally:
        await endpoint.close()
