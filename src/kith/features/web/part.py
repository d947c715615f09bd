"""Let other features add to the page and the API, as `Feature.extends["web"]`."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from fastapi import APIRouter
from msgspec import Struct, field

from kith.core.events import Event
from kith.memory.log import Log
from kith.settings.features import parts_for
from kith.view.markup import NOTHING, Html


class WebPart(Struct, frozen=True):
    """Routes; how items of a session's log are drawn, by their kind; and a panel beside that log.

    `panel` draws how the work of a session stands, given the log and the session; nothing for other sessions.
    """

    routes: tuple[APIRouter, ...] = ()
    items: Mapping[str, Callable[[Iterable[Event]], Iterable[Html]]] = field(default_factory=dict)
    panel: Callable[[Log, str], Html] | None = None


@cache
def web_parts() -> tuple[WebPart, ...]:
    """The parts of all enabled features."""
    return parts_for("web")


def draw_panel(log: Log, session: str) -> Html:
    """Draw the state of a session's work, by the feature whose session it is."""
    drawn = (each.panel(log, session) for each in web_parts() if each.panel)
    return next(filter(None, drawn), NOTHING)
