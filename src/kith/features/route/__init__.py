"""Decisions from measurements: which model to ask, how to ask it, how long it takes, when to ask several."""

import argparse

from kith.core.feature import Command, Feature, Lazy, SlashCommand, lazy_in
from kith.terminal.options import add_folder, add_json, some_id

_here = lazy_in(__name__)

FEATURE = Feature(
    "route",
    "which models a task goes to, learned from what was measured",
    needs=("build", "measure"),
    commands=(
        Command(
            "why",
            "say why these models were asked",
            Lazy(f"{__name__}:why_arguments"),
            _here("command:why_command"),
            "[ID]",
        ),
    ),
    slash_commands=(
        SlashCommand(
            "why",
            "Models",
            "which models were asked here, and why",
            _here("conversation:why"),
            rest="[ID]",
            anytime=True,
            takes="session",
        ),
    ),
    router=_here("router:ROUTER"),
)


# The options of its commands.


def why_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("id", type=some_id, nargs="?", metavar="ID", help="of a session (the last one)")
    add_json(parser)
