"""Listen to a session where the person named a topic; until then nothing that sends is loaded."""

from collections.abc import Callable
from typing import Final

from kith.agent.project import Project
from kith.core.feature import Lazy
from kith.features.ntfy import NtfySettings
from kith.memory.session import Listener

_NOTIFIER: Final[Lazy[Callable[[NtfySettings, str, str], Listener]]] = Lazy(
    "kith.features.ntfy.notices:Notifier"
)


def make_listener(project: Project, session: str) -> Listener | None:
    """The listener of one session; None where no notices are wanted. Raises UsageError."""
    chosen = project.settings.section(NtfySettings)
    if not project.may_send("ntfy.url", chosen.url):
        return None
    return _NOTIFIER.load()(chosen, project.root.name, session)
