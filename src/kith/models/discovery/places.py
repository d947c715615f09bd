"""Where models may be asked: what the person configured, and the usual places of this machine."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kith.models.discovery.servers import Server, find_servers, ollama_url
from kith.models.providers.sampling import Kind
from kith.models.providers.wire import is_loopback


@dataclass(frozen=True, slots=True)
class Places:
    """Where models may be asked: what the person configured, and the usual places of this machine.

    `named`: address, kind and key of each endpoint in the configuration. `window`: tokens that Ollama is
    asked for on every call. `stall_s`: seconds without a byte before a server counts as hung.
    """

    named: Mapping[str, tuple[Kind, str, str]] = field(default_factory=dict)
    ollama_host: str = ""
    openai_base_url: str = ""
    openai_key: str = field(default="", repr=False)
    offline: bool = False
    window: int = 16_384
    think: bool | None = None
    stall_s: float = 600.0


async def servers_of(places: Places) -> tuple[Server, ...]:
    """Every server that answers at the configured and the usual places; offline, only of this machine."""
    named = [url for _, url, _ in places.named.values()]
    base = places.openai_base_url
    if places.offline:
        named = [url for url in named if is_loopback(url)]
        base = base if base and is_loopback(base) else ""
    host = places.ollama_host
    if places.offline and not is_loopback(ollama_url(host)):
        host = ""
    return await find_servers(host, base, named, key=places.openai_key)
