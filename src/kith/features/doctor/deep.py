"""Check a model by asking it: a real tool call, and a prompt that is too long."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kith.core.errors import KithError, ModelError
from kith.core.events import Event
from kith.core.model import Model, Prompt, Tool
from kith.core.run import Run
from kith.core.values import Sampling, ToolResult, say
from kith.features.doctor.check import Check, Examination, Tell, closed
from kith.features.doctor.servers import Ward, bare, endpoint_of, title
from kith.models.discovery.cards import Card, cards
from kith.models.discovery.servers import Place, Places, Server, full_name
from kith.models.providers.ollama import Ollama
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.sampling import Kind

LIMIT_S: Final = 60.0
_LARGEST: Final = 65_536  # tokens: a longer prompt takes too long to send


async def _never(args: Mapping[str, Any], run: Run) -> ToolResult:
    raise AssertionError("the doctor runs no tool")


_PATHS: Final = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
_READ: Final = Tool("read", "Show a file.", _PATHS, "read", _never)


def deep_examinations(ward: Ward, *, deep: bool) -> Sequence[Examination]:
    """One for each server's first model; without `deep` a line that says what was not tested."""
    with_models = {place: server for place, server in ward.servers.items() if server.models}

    async def say_so(tell: Tell) -> None:
        text = (
            "Not tested, since models would have to be loaded: a real tool call, a prompt that is too long."
        )
        tell(Check("deep", "green", text, "kith doctor --deep"))

    if not deep:
        return [Examination("deep", say_so)] if with_models else []
    return [_asking(place, server, ward.places) for place, server in with_models.items()]


def _asking(place: Place, server: Server, places: Places) -> Examination:
    async def look(tell: Tell) -> None:
        card = server.models[0]  # one that is loaded comes first
        model = _open(server.kind, card, place)
        try:
            tell(await _try_call(model, card, place, full_name(server, card.name, places)))
            tell(await _try_overflow(model, server, card, place))
        except KithError as error:
            tell(Check(title(place), "red", closed(str(error)), "kith models"))

    return Examination(title(place), look, LIMIT_S, place.url, "try again when that server has nothing to do")


def _open(kind: Kind, card: Card, place: Place) -> Model:
    """The model with its running window: another one would make Ollama reload it."""
    if kind == "ollama":
        return Ollama(card.name, endpoint_of(place), card.window or None)
    return OpenAILike(card.name, endpoint_of(place), kind)


async def _try_call(model: Model, card: Card, place: Place, name: str) -> Check:
    """Test if a required tool is called; `name` is the model's for `kith -m`. Raises ModelError."""
    prompt = _prompt("Read the file notes.txt with your tool.", (_READ,), 256)
    calls = (await model(prompt, _ignore)).message.calls
    if calls and calls[0].name == _READ.name and not calls[0].fault:
        return Check(title(place), "green", f"{bare(card.name)} called a tool.")
    text = f"{bare(card.name)} called no tool, though it was asked to."
    return Check(title(place), "yellow", text, f"kith models probe {shlex.quote(name)}")


async def _try_overflow(model: Model, server: Server, card: Card, place: Place) -> Check:
    """Test if a prompt a quarter larger than the window is refused before it is read."""
    listed = await cards(server.kind, endpoint_of(place))
    window = next((each.window for each in listed if each.name == card.name), 0)
    if not 0 < window <= _LARGEST:
        text = (
            "the window is not known" if not window else f"a window of {window:,} tokens is too large for it"
        )
        return Check(title(place), "green", f"Whether too long a prompt is refused is not tested: {text}.")
    try:
        await model(_prompt("hello " * (window * 5 // 4), (), 1), _ignore)
    except ModelError as error:
        if error.overflow:
            return Check(title(place), "green", f"{bare(card.name)} refuses a prompt that is too long.")
        raise
    text = (
        f"{bare(card.name)} answered a prompt larger than its window: the server cuts, and does not say so."
    )
    return Check(
        title(place), "yellow", text, "kith stops such a turn; update the server, or enlarge its window"
    )


def _prompt(words: str, tools: tuple[Tool, ...], limit: int) -> Prompt:
    sampling = Sampling(temperature=0.0, max_tokens=limit)
    return Prompt("You are a careful programmer.", (say(words),), tools, "probe", sampling=sampling)


def _ignore(event: Event) -> None:
    """Nobody watches."""
