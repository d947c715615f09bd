"""Check model servers and model files: which answer, what they have, and whether there is a model to ask."""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.agent.models import places_of
from kith.core.errors import ModelError, NoModelError
from kith.core.values import ServerKind
from kith.features.doctor.check import Check, Examination, Tell, closed
from kith.features.engine.model_files import engine_of, rank
from kith.features.engine.stored import find_stored
from kith.models.choose import first_model
from kith.models.discovery.cards import Card, cards, kind_of
from kith.models.discovery.machine import read_memory
from kith.models.discovery.memory import FLOOR, fits
from kith.models.discovery.servers import Place, Places, Server, addresses, full_name
from kith.models.providers.answers import part, plain, whole
from kith.models.providers.faults import LoadingError, NoRouteError, UnreachableError
from kith.models.providers.sampling import TITLES
from kith.models.providers.wire import Endpoint, is_loopback
from kith.settings import Settings

# The chat template of a llama-server: which roles it takes, and whether it leaves the beginning alone.

Row = Mapping[str, Any]
_SYSTEM: Final = {"role": "system", "content": "You are Anna."}
_TASK: Final = {"role": "user", "content": "What is in the file a.py?"}
_RESULT_TEXT: Final = "print(1729)"
_QUIET: Final = {"chat_template_kwargs": {"enable_thinking": False}}
_TOOLS: Final = [
    {
        "type": "function",
        "function": {
            "name": "read",
            "description": "Show a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
    }
]


def _call(id: str, path: str) -> Row:
    function = {"name": "read", "arguments": f'{{"path": "{path}"}}'}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": id, "type": "function", "function": function}],
    }


def _result(id: str) -> Row:
    return {"role": "tool", "tool_call_id": id, "content": _RESULT_TEXT}


# The prompts of a turn with two calls and of the question after it, each beginning with the one before.
_FIRST: Final = (_SYSTEM, _TASK)
_SECOND: Final = (*_FIRST, _call("call00001", "a.py"), _result("call00001"))
_THIRD: Final = (*_SECOND, _call("call00002", "b.py"), _result("call00002"))
_FOURTH: Final = (
    *_THIRD,
    {"role": "assistant", "content": "It prints 1729."},
    {"role": "user", "content": "Why that number?"},
)
_PROMPTS: Final = (_FIRST, _SECOND, _THIRD, _FOURTH)


async def check_template(endpoint: Endpoint, model: str, name: str, tell: Tell) -> None:
    """Roles, then the beginning, told under `name`; a server without the endpoint is skipped.

    Raises UnreachableError.
    """
    faults = {}
    for role, messages, sign in (
        ("the system message", _FIRST, "You are Anna."),
        ("tool results", _SECOND, _RESULT_TEXT),
        ("a question after a tool call", _FOURTH, "Why that number?"),
    ):
        try:
            if sign not in await _render(endpoint, model, messages):
                faults[role] = "leaves it out"
        except NoRouteError:
            return
        except UnreachableError:
            raise
        except ModelError as error:
            faults[role] = f"refuses it ({_reason(error)})"
    if faults:
        role, fault = next(iter(faults.items()))
        more = f", and {' and '.join(list(faults)[1:])}" if len(faults) > 1 else ""
        text = closed(f"Its template does not take {role}{more}: it {fault}")
        tell(Check(name, "yellow", text, "llama-server --chat-template-file FILE ..."))
        return
    tell(Check(name, "green", "Its template takes system, tool and user messages in every order."))
    await _check_beginning(endpoint, model, name, tell)


async def _check_beginning(endpoint: Endpoint, model: str, name: str, tell: Tell) -> None:
    """Check that each prompt of a conversation begins with the one before, byte for byte."""
    broken = await _first_break(endpoint, model, {})
    if broken is None:
        tell(Check(name, "green", "Its template only appends, so nothing is read twice."))
    elif await _first_break(endpoint, model, _QUIET) is None:
        text = f"While it may think, its template rewrites {broken}: the server processes that again."
        tell(Check(name, "yellow", text, "think = false"))
    else:
        text = f"Its template rewrites {broken}: the server processes that again."
        tell(Check(name, "yellow", text, "llama-server --chat-template-file FILE ..."))


async def _first_break(endpoint: Endpoint, model: str, extra: Row) -> str | None:
    """Return the part that the template changes in a growing conversation; None for no change."""
    texts = [await _render(endpoint, model, messages, extra) for messages in _PROMPTS]
    if not texts[1].startswith(texts[0]) or not texts[2].startswith(texts[1]):
        return "the turn with each tool call"
    return None if texts[3].startswith(texts[2]) else "the former turn with each new question"


async def _render(endpoint: Endpoint, model: str, messages: Sequence[Row], extra: Row | None = None) -> str:
    """A conversation as the model would get it, without the opening of the next reply. Raises ModelError."""
    said = {"model": model, "messages": list(messages), "tools": _TOOLS, "add_generation_prompt": False}
    return str(plain(await endpoint.post("/apply-template", {**said, **(extra or {})})).get("prompt", ""))


def _reason(error: ModelError) -> str:
    """The template's own words, in one short line."""
    words = " ".join(str(error).rpartition(": ")[2].split())
    return words[:100]


LEAST_WINDOW: Final = 8192  # tokens; below it there is little room beside the prompt and a few files
WANTED_WINDOW: Final = 16_384
_NAMED: Final = 3  # models of a server that are named in a line
_CONNECT_S: Final = 0.5


class Ward(Struct):
    """The models to check: servers with their models, by place, and the names of model files that can run.

    `places` are the configured places of models, which give each model its name. `lacks_engine`: there
    are files that fit, and no engine to run them.
    """

    servers: dict[Place, Server] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    lacks_engine: bool = False
    places: Places = field(default_factory=Places)

    @property
    def ranks(self) -> tuple[Server, ...]:
        """The servers in the order in which kith asks them, whichever answered first."""
        order = list(addresses(self.places))
        known = sorted(self.servers, key=lambda place: order.index(place) if place in order else len(order))
        return tuple(self.servers[place] for place in known)


def server_examinations(settings: Settings, environ: Mapping[str, str], ward: Ward) -> Iterator[Examination]:
    """One for each address; offline, only those of this machine."""
    for place in addresses(places_of(settings), environ):

        async def look(tell: Tell, place: Place = place) -> None:
            await check_server(place, settings, ward, tell)

        fix = "restart that server, or try again when it is idle"
        yield Examination(title(place), look, subject=place.url, fix=fix)


def title(place: Place) -> str:
    """The address as a name: its port where it is this machine, else host and port."""
    host = place.url.partition("://")[2]
    return f"port {host.rpartition(':')[2]}" if is_loopback(place.url) else host


def endpoint_of(place: Place) -> Endpoint:
    """The server there; only one that the person named may be slow to accept a connection."""
    return Endpoint(place.url, place.key, manner=place.manner, connect_s=None if place.said else _CONNECT_S)


async def check_server(place: Place, settings: Settings, ward: Ward, tell: Tell) -> None:
    """Everything about the server at one address. Where nobody listens, only a configured one is missed."""
    endpoint = endpoint_of(place)
    try:
        kind = await kind_of(endpoint)
        if kind is None:
            tell(_stranger(place))
            return
        server = Server(kind, endpoint.url, await cards(kind, endpoint, details=True))
        ward.servers[place] = server
        tell(_roll_call(server, place))
        await _check_models(server, place, endpoint, settings, tell)
    except UnreachableError:
        if place.said:
            text = f"Nothing answers at {place.url}, which {place.said} names."
            tell(Check(title(place), "yellow", text, f"start that server, or remove {place.said}"))
    except LoadingError:
        text = f"The server at {place.url} is still loading its model."
        tell(Check(title(place), "yellow", text, "wait a moment"))
    except ModelError as error:
        tell(Check(title(place), "yellow", closed(str(error))))
    finally:
        await endpoint.close()


def _stranger(place: Place) -> Check:
    text = f"The server at {place.url} is not a model server."
    if place.said:
        return Check(title(place), "yellow", text, f"correct {place.said}")
    return Check(title(place), "green", text)


def _roll_call(server: Server, place: Place) -> Check:
    who = f"{TITLES[server.kind] if server.kind != 'openai' else 'A server'} at {place.url}"
    if not server.models:
        fix = "ollama pull qwen3:8b" if server.kind == "ollama" else "start it with a model"
        return Check(title(place), "yellow", f"{who} runs, but has no model.", fix)
    names = ", ".join(bare(card.name) for card in server.models[:_NAMED])
    more = f" and {len(server.models) - _NAMED} more" if len(server.models) > _NAMED else ""
    return Check(title(place), "green", f"{who} has {names}{more}.")


async def _check_models(
    server: Server, place: Place, endpoint: Endpoint, settings: Settings, tell: Tell
) -> None:
    """The models that matter now: their windows, their tools, their template."""
    for card in _concerned(server.models, settings):
        path = ""
        if server.kind == "llama-server" and card.loaded:
            # What one of several slots holds is less than all of them together.
            about = await endpoint.get("/props", model=card.name)
            slot = whole(part(about, "default_generation_settings").get("n_ctx"))
            card, path = replace(card, window=slot or card.window), str(about.get("model_path") or "")
        tell(_check_window(server.kind, card, place, path))
        if card.tools is not None:
            tell(_check_tools(card, place))
        if server.kind == "llama-server" and card.loaded:
            await check_template(endpoint, card.name, title(place), tell)


def _concerned(models: Sequence[Card], settings: Settings) -> tuple[Card, ...]:
    """Those that are loaded, and the one that the person chose."""
    chosen = settings.model.partition("/")[2] or settings.model
    return tuple(each for each in models if each.loaded or each.name in (chosen, f"{chosen}:latest"))


def _check_window(kind: ServerKind, card: Card, place: Place, path: str) -> Check:
    model = bare(card.name)
    trained = f" of the {card.trained:,} it was trained for" if card.trained > card.window else ""
    if not card.window:
        when = "the server does not tell its window" if card.loaded else "it is not loaded"
        return Check(title(place), "green", f"{model}: {when}.")
    text = f"{model} runs with a window of {card.window:,} tokens{trained}"
    if card.window >= LEAST_WINDOW:
        return Check(title(place), "green", f"{text}.")
    if 0 < card.trained <= card.window:
        fix = "kith models recommend"
    else:
        fix = _enlarge(kind, card.name, path, min(card.trained or WANTED_WINDOW, WANTED_WINDOW))
    return Check(
        title(place), "yellow", f"{text}; less than {LEAST_WINDOW:,} leave little room to work.", fix
    )


def _enlarge(kind: ServerKind, model: str, path: str, window: int) -> str:
    """Return the command that starts a server of this kind with a larger window."""
    model, path = shlex.quote(model), shlex.quote(path) if path else "FILE"
    return {
        "ollama": f"OLLAMA_CONTEXT_LENGTH={window} ollama serve",
        "llama-server": f"llama-server -m {path} -c {window}",
        "lmstudio": f"lms load {model} --context-length {window}",
        "vllm": f"vllm serve {model} --max-model-len {window}",
        "openai": f"start the server with a window of {window} tokens",
    }[kind]


def _check_tools(card: Card, place: Place) -> Check:
    model = bare(card.name)
    if card.tools:
        return Check(title(place), "green", f"{model} takes tools.")
    text = f"The template of {model} takes no tools; calls come as text, less reliably."
    return Check(title(place), "yellow", text, "kith models recommend")


def bare(name: str) -> str:
    """A model's name in a sentence: of a path, the file."""
    return name.rpartition("/")[2] if name.endswith(".gguf") else name


# Model files on the disk, kith's own engine, and whether there is anything to ask at all.

ENGINE: Final = 'pip install "kith-agent[engine]"'


def check_files(settings: Settings, ward: Ward, tell: Tell) -> None:
    """Check the model files on disk, if they fit the memory, and the engine that runs them."""
    own = engine_of(settings)
    stored = find_stored(own.folders, cache=settings.cache)
    fault = ""
    try:
        tell(Check("engine", "green", f"kith's own engine is {own.engine()}."))
    except NoModelError as error:
        fault, wanted = str(error), bool(stored) and own.program != "off"
        tell(Check("engine", "yellow" if wanted else "green", closed(fault), ENGINE if wanted else ""))
    if not stored:
        tell(Check("files", "green", "No model files on this disk."))
        return
    memory = read_memory(cards=True)
    good = [each for each in stored if not each.fault and fits(each.header, each.size, memory, FLOOR)[0]]
    good.sort(key=lambda each: rank(each, memory), reverse=True)
    ward.files += [each.name for each in good if not fault]
    ward.lacks_engine = bool(good and fault)
    names = ", ".join(each.name for each in good[:3]) or "none"
    many = f"{len(stored)} model file{'s' if len(stored) > 1 else ''} on this disk"
    if good:
        tell(Check("files", "green", f"{many}; {len(good)} fit the memory: {names}."))
        return
    why = stored[0].fault or fits(stored[0].header, stored[0].size, memory, FLOOR)[1]
    text = f"{many}, and none can run: {stored[0].name} {why}."
    tell(Check("files", "yellow", text, "kith models recommend"))


def check_choice(settings: Settings, ward: Ward) -> Check:
    """Check that there is a model to ask, and that the chosen one exists."""
    chosen = settings.model
    if chosen.startswith("replay/"):
        return Check("model", "green", f"{chosen} plays a script.")
    if chosen:
        names = [card.name for server in ward.servers.values() for card in server.models]
        if _is_there(chosen, {*names, *ward.files}):
            return Check("model", "green", f"{chosen} is there.")
        text = f"The chosen model {chosen} was not found."
        return Check("model", "red", text, "kith models")
    if found := first_model(ward.ranks):
        server, card = found
        name = full_name(server, card.name, ward.places)
        return Check("model", "green", f"kith asks {name} unless told otherwise.")
    if ward.files:
        text = f"No model server runs; kith's own engine runs file/{ward.files[0]} unless told otherwise."
        return Check("model", "green", text)
    text = "There is no model to ask: no server has one, and no file can be run."
    return Check("model", "red", text, ENGINE if ward.lacks_engine else "kith models recommend")


def _is_there(chosen: str, names: Collection[str]) -> bool:
    """True if a chosen name is one of these, with or without provider, tag or quantisation."""
    known = {name.casefold() for name in names}
    known |= {name.rpartition(":")[0] for name in known}
    model = chosen.partition("/")[2]
    if {chosen.casefold(), model.casefold()} & (known - {""}):
        return True
    return any(each.endswith(".gguf") and Path(each).expanduser().is_file() for each in (chosen, model))
