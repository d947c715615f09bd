"""Hooks: commands of the user that hear of the work, and may refuse it (`[[hooks]]`)."""

from kith.core.feature import Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "hooks",
    "your own commands, run before and after steps of a task; they may refuse a step",
    hooks=_here("project_hooks:ProjectHooks"),
)
