"""One list of all models that can be asked: those of servers, and those that lie on the disk."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from kith.models.discovery.cards import Card
from kith.models.discovery.memory import FLOOR, Memory, fits
from kith.models.discovery.servers import Places, Server, full_name
from kith.models.discovery.stored import FILES, Stored
from kith.models.providers.sampling import TITLES
from kith.models.providers.wire import is_loopback
from kith.models.traits import Header


class Entry(Struct, frozen=True):
    """One model as a person chooses it. Sizes in bytes, windows in tokens, rates in tokens a second.

    `name` is what `kith -m` takes. `source` says whose the model is, `where` its server's address or its
    path. `fits` is None where nobody can say, `why` is half a sentence about it. `good_for` and `not_for`
    come from `kith models probe`. 0, "", () and None mean unknown.
    """

    name: str
    source: str
    where: str
    size: int = 0
    parameters: str = ""
    quantisation: str = ""
    window: int = 0
    trained: int = 0
    tools: bool | None = None
    thinking: bool | None = None
    loaded: bool = False
    fits: bool | None = None
    why: str = ""
    read_rate: float = 0.0
    write_rate: float = 0.0
    good_for: tuple[str, ...] = ()
    not_for: tuple[str, ...] = ()
    digest: str = ""


def list_models(
    servers: Sequence[Server],
    stored: Sequence[Stored],
    *,
    places: Places,
    memory: Memory,
    learned: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[Entry, ...]:
    """Every model once, servers first; `learned` has the cards of experience, by digest.

    A file that a running server lists already, as Ollama and LM Studio do with their own, is left out.
    """
    known = learned or {}
    running = [
        _of_server(server, card, places, memory, known.get(card.digest, {}))
        for server in servers
        for card in server.models
    ]
    on_disk = [
        _of_file(each, memory, known.get(each.header.digest, {}))
        for each in stored
        if not _is_listed(each, servers)
    ]
    return (*running, *on_disk)


def names_of(servers: Sequence[Server], stored: Sequence[Stored], places: Places) -> tuple[str, ...]:
    """Only the names of what can be asked, for completion in the shell."""
    running = (full_name(server, card.name, places) for server in servers for card in server.models)
    on_disk = (f"{FILES}/{each.name}" for each in stored if not each.fault)
    return tuple(dict.fromkeys((*running, *on_disk)))


def _of_server(server: Server, card: Card, places: Places, memory: Memory, facts: Mapping[str, Any]) -> Entry:
    here = is_loopback(server.url)
    if card.loaded:
        fit, why = True, "loaded"
    elif here and card.size:
        fit, why = fits(card.header, card.size, memory, _least(card.header))
    else:
        fit, why = None, "" if here else "on another machine"
    return Entry(
        full_name(server, card.name, places),
        TITLES[server.kind] if server.kind != "openai" else "server",
        server.url,
        card.size,
        card.parameters,
        card.quantisation,
        card.window,
        card.trained,
        card.tools,
        card.thinking,
        card.loaded,
        fit,
        why,
        digest=card.digest,
        **_measured(facts),
    )


def _of_file(stored: Stored, memory: Memory, facts: Mapping[str, Any]) -> Entry:
    header, template = stored.header, stored.header.template
    fit, why = fits(header, stored.size, memory, _least(header))
    return Entry(
        f"{FILES}/{stored.name}",
        stored.source,
        str(stored.path),
        stored.size,
        header.size_label,
        stored.quantisation,
        trained=header.trained,
        tools=template.tools if template else False,
        thinking=template.thinking if template else False,
        fits=fit and not stored.fault,
        why=stored.fault or why,
        digest=header.digest,
        **_measured(facts),
    )


def _measured(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Read speed and use from a model's card; its content is not trusted."""
    probe = facts.get("probe")
    told = probe if isinstance(probe, Mapping) else {}
    return {
        "read_rate": _rate(facts.get("read_rate")),
        "write_rate": _rate(facts.get("write_rate")),
        "good_for": _words(told.get("good_for")),
        "not_for": _words(told.get("not_for")),
    }


def _is_listed(stored: Stored, servers: Sequence[Server]) -> bool:
    """True if the program that keeps the file runs on this machine and lists it."""
    for server in servers:
        if not is_loopback(server.url) or TITLES[server.kind] != stored.source:
            continue
        if server.kind == "ollama" and any(card.name == stored.name for card in server.models):
            return True
        if server.kind == "lmstudio" and any(card.size == stored.size for card in server.models):
            return True
    return False


def _least(header: Header | None) -> int:
    return min(header.trained or FLOOR, FLOOR) if header else FLOOR


def _rate(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(str(each) for each in value) if isinstance(value, list | tuple) else ()
