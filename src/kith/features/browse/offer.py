"""Offer the tool where the person switched it on; until then none of its code is loaded."""

from collections.abc import Callable
from typing import Final

from kith.agent.project import Project
from kith.core.feature import Lazy
from kith.core.model import Emit, Tool
from kith.features.browse import BrowseSettings

_TOOLS: Final[Lazy[Callable[[Project], tuple[Tool, ...]]]] = Lazy("kith.features.browse.tools:make_tools")


def offer_tools(project: Project, emit: Emit) -> tuple[Tool, ...]:
    """The tools, if they are on and may reach out. Raises UsageError for settings that cannot be used."""
    chosen = project.settings
    if not chosen.section(BrowseSettings).on or chosen.offline or chosen.read_only:
        return ()
    return _TOOLS.load()(project)
