"""Let other features add to the page and the API, as `Feature.extends["web"]`."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from fastapi import APIRouter
from msgspec import Struct, field

from kith.core.events import Event
from kith.memory.log import Log
from kith.settings.features import parts_for
from kith.view.markup import Html, element, joined


class WebPart(Struct, frozen=True):
    """Routes; how items of a session's log are drawn, by their kind; and a panel beside that log.

    `panel` draws how the work of a session stands, given the log and the session; nothing for other sessions.
    `title` is its heading, and events of the types `redraw` change it.
    """

    routes: tuple[APIRouter, ...] = ()
    items: Mapping[str, Callable[[Iterable[Event]], Iterable[Html]]] = field(default_factory=dict)
    panel: Callable[[Log, str], Html] | None = None
    title: str = ""
    redraw: tuple[type, ...] = ()


@cache
def web_parts() -> tuple[WebPart, ...]:
    """The parts of all enabled features."""
    return parts_for("web")


def draw_panels(log: Log, session: str) -> Html:
    """Draw the state of a session's work, by the features that have a part in it."""
    drawn = ((each.title, each.panel(log, session)) for each in web_parts() if each.panel)
    return joined(joined((element("h2", title), inner)) for title, inner in drawn if inner)


@cache
def redrawing() -> tuple[type, ...]:
    """Return the types of events that change a panel of some feature."""
    return tuple(kind for each in web_parts() for kind in each.redraw)
