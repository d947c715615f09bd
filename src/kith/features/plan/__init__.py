"""Find the files that a task needs, and say why, without a model."""

from kith.core.feature import Command, Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "plan",
    "the files that a task needs, without a model",
    commands=(
        Command(
            "plan",
            "show which files a task needs, and why",
            _here("arguments:plan"),
            _here("command:plan_command"),
            "TASK",
        ),
    ),
)
