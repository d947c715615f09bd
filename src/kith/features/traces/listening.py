"""Listen to a session where the person named a collector; until then OpenTelemetry is not loaded."""

from collections.abc import Callable
from typing import Final

from kith.agent.project import Project
from kith.core.feature import Lazy
from kith.features.traces import TracesSettings
from kith.memory.session import Listener
from kith.settings.features import check_extra

_SPANS: Final[Lazy[Callable[[TracesSettings, str], Listener]]] = Lazy("kith.features.traces.spans:Spans")


def make_listener(project: Project, session: str) -> Listener | None:
    """The listener of one session; None where no traces are wanted. Raises UsageError."""
    chosen = project.settings.section(TracesSettings)
    if not project.may_send("traces.url", chosen.url):
        return None
    check_extra("traces", "traces.url")
    return _SPANS.load()(chosen, session)
