"""Which model a conversation asks: opened when it is needed, chosen anew, let go when settings change."""

from contextlib import suppress
from dataclasses import replace
from typing import Final

from kith.agent.asking.routes import need_router
from kith.agent.open_project import hold_servers
from kith.agent.project import Opened, tree_at
from kith.core.errors import NoModelError, UsageError
from kith.settings import load_settings
from kith.terminal.conversation.talk import Talk

_CHOSEN_HERE: Final = "the conversation"  # the origin of a setting that was made in one
# Whatever says which model is asked, where and how: the next task opens it anew.
_OF_MODELS: Final = (
    *("model", "window", "stall", "engine", "model_folders", "offline", "discovery", "cloud"),
    *("endpoints", "pools", "ollama_host", "openai_base_url", "anthropic_base_url", "gemini_base_url"),
)


async def open_model(talk: Talk) -> None:
    """Have the model ready, unless one is chosen for each task; the task says where there is none."""
    if talk.opened is None and not talk.project.settings.is_routed:
        talk.voice.wait_for_model()
        with suppress(NoModelError):
            talk.opened = await talk.project.open_model(talk.hear)


async def need_model(talk: Talk) -> Opened:
    """The model of the conversation, opened. Raises NoModelError, UsageError where kith chooses it anew."""
    if talk.project.settings.is_routed:
        raise UsageError("kith chooses the model of each task here; name one first: /model NAME")
    if talk.opened is None:
        talk.opened = await talk.project.open_model(talk.hear)
    return talk.opened


async def choose_model(talk: Talk, name: str) -> None:
    """Ask this one from now on; the present one stays where it cannot be opened. Raises KithError."""
    chosen, held = talk.project.settings, talk.opened
    origin = {**chosen.origin, "model": _CHOSEN_HERE}
    project = replace(talk.project, settings=replace(chosen, model=name, origin=origin))
    if project.settings.is_routed:
        need_router()
    opened = None if project.settings.is_routed else await project.open_model(talk.hear)
    talk.voice.rest()
    talk.project, talk.opened = project, opened
    talk.status.begin_with(*((opened.facts.name, opened.window) if opened else ("", 0)))
    if held:
        await held.aclose()


async def read_settings(talk: Talk) -> None:
    """Do as the settings say by now; a model that was chosen here stays. Raises UsageError."""
    before, chosen = talk.project.settings, load_settings(talk.root, talk.flags)
    if before.origin.get("model") == _CHOSEN_HERE:
        origin = {**chosen.origin, "model": _CHOSEN_HERE}
        chosen = replace(chosen, model=before.model, origin=origin)
    project = replace(talk.project, settings=chosen, tree=tree_at(talk.root, chosen))
    talk.project = await hold_servers(project)
    talk.terminal.settle_in(chosen)
    if talk.opened and any(getattr(chosen, key) != getattr(before, key) for key in _OF_MODELS):
        held, talk.opened = talk.opened, None
        await held.aclose()
