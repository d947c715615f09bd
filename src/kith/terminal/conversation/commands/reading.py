"""Settings read anew in the middle of a conversation: what the person has chosen since counts from now on."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kith.terminal.conversation.talk import Talk

CHOSEN_HERE: Final = "the conversation"  # the origin of a setting that was made in one
# Whatever says which model is asked, where and how: the next task opens it anew.
_OF_MODELS: Final = (
    *("model", "window", "stall", "engine", "model_folders", "offline", "discovery", "cloud"),
    *("endpoints", "pools", "ollama_host", "openai_base_url", "anthropic_base_url", "gemini_base_url"),
)


async def read_settings(talk: "Talk") -> None:
    """Read them, and do as they say; a model that was chosen here stays. Raises UsageError."""
    from kith.agent.held_servers import hold_servers
    from kith.agent.project import tree_at
    from kith.settings import load_settings

    before, chosen = talk.project.settings, load_settings(talk.root, talk.flags)
    if before.origin.get("model") == CHOSEN_HERE:
        origin = {**chosen.origin, "model": CHOSEN_HERE}
        chosen = replace(chosen, model=before.model, origin=origin)
    project = replace(talk.project, settings=chosen, tree=tree_at(talk.root, chosen))
    talk.project = await hold_servers(project)
    talk.terminal.settle_in(chosen)
    if talk.opened and any(getattr(chosen, key) != getattr(before, key) for key in _OF_MODELS):
        held, talk.opened = talk.opened, None
        await held.aclose()
