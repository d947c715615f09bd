"""The demo's project and the conversation that was recorded for it."""

import argparse

from kith.core.feature import Command, Feature, Lazy, lazy_in

_here = lazy_in(__name__)

FEATURE = Feature(
    "demo",
    "one whole task on a sample project, and stand-in model servers",
    models={"replay": _here("replay:Scripts")},
    commands=(
        Command(
            "demo",
            "Try kith without a model",
            Lazy(f"{__name__}:demo_arguments"),
            _here("command:demo_command"),
            group="Models",
        ),
    ),
)


# The options of its commands.


def demo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", metavar="NAME", help="run it live, with this model")
    parser.add_argument("--keep", action="store_true", help="keep the demo's folder to play with")
