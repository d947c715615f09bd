"""Listen to a session where the person named a collector; until then OpenTelemetry is not loaded."""

from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from kith.agent.project import Project
from kith.core.errors import UsageError
from kith.core.feature import Lazy
from kith.features.traces import TracesSettings
from kith.memory.session import Listener
from kith.models.providers.wire import is_loopback
from kith.settings.features import check_extra

_SPANS: Final[Lazy[Callable[[TracesSettings, str], Listener]]] = Lazy("kith.features.traces.spans:Spans")


def make_listener(project: Project, session: str) -> Listener | None:
    """The listener of one session; None where no traces are wanted. Raises UsageError."""
    chosen = project.settings.section(TracesSettings)
    if not chosen.url:
        return None
    if urlsplit(chosen.url).scheme not in ("http", "https"):
        raise UsageError(f"traces.url: {chosen.url!r} is no http or https address.")
    check_extra("traces", "traces.url")
    if project.settings.offline and not is_loopback(chosen.url):
        return None
    return _SPANS.load()(chosen, session)
