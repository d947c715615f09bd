"""Who chooses the model of a task: the person, or kith; and what the log is told where the person did."""

from typing import Final

from kith.core.decisions import Routed
from kith.models.stack import Opened
from kith.settings import Settings

ROUTE: Final = "route"  # in place of a model's name: let kith choose


def is_routed(chosen: Settings) -> bool:
    """Whether kith chooses who is asked, instead of the person."""
    return chosen.model == ROUTE


def pin(chosen: Settings, opened: Opened, kind: str) -> Routed:
    """No choice for a task of this kind: the model that the person named, or the one that was found."""
    plan, origin = (opened.facts.name,), chosen.origin.get("model", "the conversation")
    if not chosen.model:
        return Routed(kind, plan, "the first that was found", by="rule")
    return Routed(kind, plan, f"named {'with -m' if origin == 'flag' else f'in {origin}'}", by="person")
