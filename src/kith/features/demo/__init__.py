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
            "Try kith without a model",
            _here("arguments:demo"),
            _here("command:demo_command"),
            group="Models",
        ),
    ),
)
