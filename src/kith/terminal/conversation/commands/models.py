"""Models in a conversation: which one is asked, which there are, what was measured, and why it was chosen."""

from typing import Final

from kith.agent.context_usage import Reading, read_anew
from kith.agent.models import list_all
from kith.agent.tasks import THREAD
from kith.core.feature import Lazy, SlashCommand
from kith.core.numbers import dollars
from kith.settings.features import features
from kith.settings.values import ROUTE
from kith.terminal.conversation.talk import Talk, choose_model
from kith.terminal.models import ModelRow, table
from kith.terminal.rendering.panels import in_rows
from kith.view.printing import printable

COMMANDS: Final = (
    SlashCommand(
        "model",
        "Models",
        "show or choose the model",
        Lazy(f"{__name__}:model"),
        rest="[NAME]",
        takes="model",
        more="Without a NAME you pick from a list. `route`: kith chooses for each task.",
    ),
    SlashCommand(
        "models", "Models", "list the models that can be asked", Lazy(f"{__name__}:models"), anytime=True
    ),
)


async def model(talk: Talk, rest: str) -> None:
    """Choose the model, by its name or from a list; say which one it is. Raises KithError."""
    name = rest or await _pick(talk)
    if name:
        await choose_model(talk, name)
        _tell_model(talk)


def _tell_model(talk: Talk) -> None:
    if talk.opened is None:
        talk.say("kith chooses the model of each task; /why says why.")
        return
    window = f", window {talk.opened.window:,}" if talk.opened.window else ""
    talk.say(f"The model is {printable(talk.status.name_of(talk.opened.facts.name))}{window}.")
    if reading := read_anew(talk.opened, talk.past, THREAD):
        talk.say(_reading_text(reading), "dim")


def _reading_text(reading: Reading) -> str:
    """`It reads the conversation anew: about 4,200 tokens, 9 s, $0.013.`"""
    words = [f"about {reading.tokens:,} tokens"]
    words += [f"{reading.seconds:.0f} s"] if reading.seconds and reading.seconds >= 1 else []
    words += [dollars(reading.usd)] if reading.usd else []
    less = "" if reading.fits else " That is more than its window: older results are left out."
    return f"It reads the conversation anew: {', '.join(words)}.{less}"


async def _pick(talk: Talk) -> str:
    """The name of the model that the person wants; "" for none."""
    found = await list_all(talk.project.settings, talk.project.log)
    now = talk.status.name_of(talk.opened.facts.name) if talk.opened else talk.project.settings.model
    if not found.rows:
        here = f"The model is {printable(now)}. " if now else ""
        talk.say(f"{here}No {'other ' if now else ''}model was found; /models says what to do.")
        return ""
    names = [each.name for each in found.rows]
    rows = [(each.name, *_figures(each)) for each in found.rows]
    if talk.project.settings.route.local and any(each.router for each in features()):
        names, rows = [*names, ROUTE], [*rows, (ROUTE, "", "", "kith chooses for each task")]
    at = names.index(now) if now in names else 0
    words = f"The model is {printable(now)}. Which one from now on?" if now else "Which model?"
    chosen = await talk.terminal.pick(words, in_rows(rows, talk.terminal.width - 4), at)
    return "" if chosen is None else names[chosen]


def _figures(row: ModelRow) -> tuple[str, str, str]:
    """The figures for a choice: window, measured speed, whether it fits."""
    window = row.window or row.trained
    speed = f"{row.write_rate:,.0f} tok/s" if row.write_rate else ""
    state = "loaded" if row.loaded else row.why if row.fits is False else ""
    return (f"{window / 1024:.0f}k" if window >= 1024 else "", speed, state)


async def models(talk: Talk, rest: str) -> None:
    """All that can be asked, with what is known of them."""
    from rich.text import Text

    found = await list_all(talk.project.settings, talk.project.log)
    if found.rows:
        lines = [Text.assemble(*line) for line in table(found.rows, talk.terminal.width)]
        talk.terminal.show(*lines)
    for note in filter(None, found.notes):
        talk.say(printable(note), "dim")
