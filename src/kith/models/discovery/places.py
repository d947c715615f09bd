"""Where models may be asked: what the person configured, and the usual places of this machine."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from kith.core.errors import UsageError
from kith.models.discovery.servers import (
    OFTEN,
    USUAL,
    Place,
    Server,
    find_servers,
    llama_url,
    ollama_url,
)
from kith.models.providers.sampling import Kind
from kith.models.providers.wire import Endpoint, is_loopback


@dataclass(frozen=True, slots=True)
class Places:
    """Where models may be asked: what the person configured, and the usual places of this machine.

    `named`: kind, address and key of each endpoint in the configuration. `window`: tokens that Ollama is
    asked for on every call, 0 for what model and memory allow. `stall_s`: seconds without a byte before a
    server counts as hung.
    """

    named: Mapping[str, tuple[Kind, str, str]] = field(default_factory=dict)
    ollama_host: str = ""
    openai_base_url: str = ""
    openai_key: str = field(default="", repr=False)
    offline: bool = False
    window: int = 0
    stall_s: float = 600.0
    usual: tuple[str, ...] = (*USUAL, *OFTEN)


def addresses(places: Places, environ: Mapping[str, str] = os.environ) -> tuple[Place, ...]:
    """Every address to look at, each once, the configured ones first; offline, only those of this machine.

    Of `environ` llama-server's own variables are read. Raises UsageError for an address that is none.
    """
    asked = [Place(url, key, f"endpoints.{name}") for name, (_, url, key) in places.named.items()]
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
                found = Endpoint(place.url, place.key)
            except UsageError as error:
                raise UsageError(f"{place.said}: {error}") from None
            once.setdefault(found.url, Place(found.url, found.key, place.said))
    return tuple(once.values())


async def servers_of(
    places: Places, *, details: bool = False, environ: Mapping[str, str] = os.environ
) -> tuple[Server, ...]:
    """Every server that answers at these addresses. `details` asks about each model too."""
    return await find_servers(addresses(places, environ), details=details)


def key_for(url: str, places: Places) -> str:
    """The key that goes to an address, and nowhere else; "" for most."""
    return next((place.key for place in addresses(places) if place.url == url), "")


def full_name(server: Server, model: str, places: Places) -> str:
    """What `kith -m` takes for a model of a server: PROVIDER/MODEL, or its bare name elsewhere."""
    named = {Endpoint(url).url: name for name, (_, url, _) in places.named.items()}
    if places.openai_base_url:
        named.setdefault(Endpoint(places.openai_base_url).url, "openai")
    usual = {("llama-server", USUAL[0]), ("lmstudio", USUAL[1]), ("vllm", USUAL[2])}
    if (server.kind, server.url) in {*usual, ("ollama", Endpoint(ollama_url(places.ollama_host)).url)}:
        named.setdefault(server.url, server.kind)
    provider = named.get(server.url)
    return f"{provider}/{model}" if provider else model
