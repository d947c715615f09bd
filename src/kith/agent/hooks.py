"""The hooks of a session, made by a feature; without it a configuration that names hooks is refused."""

from collections.abc import Callable

from kith.agent.project import Project
from kith.settings.features import need_part
from kith.tools.veiled import Veil
from kith.tools.wrappers import Hooks

# The hooks that count in a project, for one session; in the trial they see nothing behind the veil.
MakeHooks = Callable[[Project, str, Veil | None], Hooks]


def hooks_of(project: Project, session: str, veil: Veil | None = None) -> Hooks | None:
    """The hooks of a session; None where the settings name none. Raises UsageError where they cannot run."""
    if not project.settings.hooks:
        return None
    make: MakeHooks = need_part(lambda feature: feature.hooks, "A configuration with [[hooks]]")
    return make(project, session, veil)
