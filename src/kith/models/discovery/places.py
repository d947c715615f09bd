"""Where models may be asked: what the person configured, and the usual places of this machine."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from kith.models.discovery.servers import OFTEN, USUAL, Server, find_servers, llama_url, ollama_url
from kith.models.providers.sampling import Kind
from kith.models.providers.wire import Endpoint, is_loopback


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


async def servers_of(
    places: Places, *, details: bool = False, environ: Mapping[str, str] = os.environ
) -> tuple[Server, ...]:
    """Every server that answers at the configured and the usual places; offline, only of this machine.

    `details` asks about each model too. Of `environ` llama-server's own variables are read.
    """
    named = [url for _, url, _ in places.named.values()]
    base, host = places.openai_base_url, places.ollama_host
    own = llama_url(environ.get("LLAMA_ARG_HOST", ""), environ.get("LLAMA_ARG_PORT", ""))
    usual = [*([own] if own else []), *USUAL, *OFTEN]
    if places.offline:
        named = [url for url in named if is_loopback(url)]
        usual = [url for url in usual if is_loopback(url)]
        base = base if base and is_loopback(base) else ""
        host = host if is_loopback(ollama_url(host)) else ""
    return await find_servers(host, base, named, key=places.openai_key, usual=usual, details=details)


def full_name(server: Server, model: str, places: Places) -> str:
    """What `kith -m` takes for a model of a server: PROVIDER/MODEL, or its bare name elsewhere."""
    named = {Endpoint(url).url: name for name, (_, url, _) in places.named.items()}
    if places.openai_base_url:
        named.setdefault(Endpoint(places.openai_base_url).url, "openai")
    usual = {("llama-server", USUAL[0]), ("lmstudio", USUAL[1]), ("vllm", USUAL[2])}
    if (server.kind, server.url) in {*usual, ("ollama", ollama_url(places.ollama_host))}:
        named.setdefault(server.url, server.kind)
    provider = named.get(server.url)
    return f"{provider}/{model}" if provider else model
