"""The demo's project and the conversation that was recorded for it."""

from kith.core.feature import Command, Feature, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "demo",
    "the whole path on a small project, and the stand-in model servers",
    models={"replay": _here("replay:Scripts")},
    commands=(
        Command(
            "demo",
            "see the whole path on a small project, no model needed",
            _here("arguments:demo"),
            _here("command:demo_command"),
        ),
    ),
)
