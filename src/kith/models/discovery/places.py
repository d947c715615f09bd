"""Where models may be asked: what the person configured, and the usual places of this machine."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kith.core.errors import UsageError
from kith.models.discovery.servers import (
    OFTEN,
    USUAL,
    Place,
    Server,
    Wait,
    find_servers,
    llama_url,
    ollama_url,
)
from kith.models.providers.sampling import Kind
from kith.models.providers.wire import Endpoint, is_loopback

# These two are only asked by name: their lists are a price list, not what somebody has.
CLOUDS: tuple[Kind, ...] = ("anthropic", "gemini")


@dataclass(frozen=True, slots=True)
class Named:
    """An endpoint that the person gave a name, or one that has its name from its maker.

    `key_env` is the variable that the key comes from; `cloud` says whether it is outside of the person's own
    network, None: its address does.
    """

    kind: Kind
    url: str = ""
    key: str = field(default="", repr=False)
    key_env: str = ""
    cloud: bool | None = None


@dataclass(frozen=True, slots=True)
class Places:
    """Where models may be asked: what the person configured, and the usual places of this machine.

    `named` are the endpoints of the configuration, `pools` names of several that share work. `cloud`: whether
    models outside of the person's own network may be asked at all ("ask": whoever calls them asks before).
    `window`: tokens that Ollama is asked for on every call, 0 for what model and memory allow. `stall_s`:
    seconds without a byte before a server counts as hung.
    """

    named: Mapping[str, Named] = field(default_factory=dict)
    pools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ollama_host: str = ""
    openai_base_url: str = ""
    openai_key: str = field(default="", repr=False)
    anthropic: Named = Named("anthropic", key_env="ANTHROPIC_API_KEY")
    gemini: Named = Named("gemini", key_env="GEMINI_API_KEY")
    offline: bool = False
    cloud: Literal["never", "ask", "allow"] = "ask"
    window: int = 0
    stall_s: float = 600.0
    usual: tuple[str, ...] = (*USUAL, *OFTEN)


def addresses(places: Places, environ: Mapping[str, str] = os.environ) -> tuple[Place, ...]:
    """Every address to look at, each once, the configured ones first; offline, only those of this machine.

    The clouds that have a protocol of their own are not among them. Of `environ` llama-server's own variables
    are read. Raises UsageError for an address that is none.
    """
    asked = [
        Place(each.url, each.key, f"endpoints.{name}", each.cloud)
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
                once.setdefault(found.url, Place(found.url, found.key, place.said, found.is_cloud))
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


def endpoint_of(place: Named, stall_s: float) -> Endpoint:
    """An endpoint as its protocol wants it. Raises UsageError for an address that is none."""
    if place.kind == "anthropic":
        from kith.models.providers.anthropic import anthropic_endpoint

        return anthropic_endpoint(place.url, place.key, cloud=place.cloud, stall_s=stall_s)
    if place.kind == "gemini":
        from kith.models.providers.gemini import gemini_endpoint

        return gemini_endpoint(place.url, place.key, cloud=place.cloud, stall_s=stall_s)
    return Endpoint(place.url, place.key, cloud=place.cloud, stall_s=stall_s)


def key_for(url: str, places: Places) -> str:
    """The key that goes to an address, and nowhere else; "" for most."""
    return next((place.key for place in addresses(places) if place.url == url), "")


def full_name(server: Server, model: str, places: Places) -> str:
    """What `kith -m` takes for a model of a server: PROVIDER/MODEL, or its bare name elsewhere."""
    named = {Endpoint(each.url).url: name for name, each in places.named.items()}
    if places.openai_base_url:
        named.setdefault(Endpoint(places.openai_base_url).url, "openai")
    usual = {("llama-server", USUAL[0]), ("lmstudio", USUAL[1]), ("vllm", USUAL[2])}
    if (server.kind, server.url) in {*usual, ("ollama", Endpoint(ollama_url(places.ollama_host)).url)}:
        named.setdefault(server.url, server.kind)
    provider = named.get(server.url)
    return f"{provider}/{model}" if provider else model
