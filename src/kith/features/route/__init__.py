"""Decisions from measurements: which model to ask, how to ask it, how long it takes, when to ask several."""

import argparse
from typing import Any

from kith.core.feature import Command, Feature, Lazy, SlashCommand, lazy_in
from kith.terminal.options import add_folder, add_json, some_id

_here = lazy_in(__name__)

FEATURE = Feature(
    "route",
    "choose the models of a task from measurements",
    needs=("build", "measure"),
    commands=(
        Command(
            "why",
            "Explain which models were chosen",
            Lazy(f"{__name__}:why_arguments"),
            _here("command:why_command"),
            "[ID]",
            group="Look back",
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
    work_options=Lazy(f"{__name__}:work_options"),
    extends={"measure": _here("errands:PART")},
)


# The options of its commands, and of tasks.


def work_options(group: Any) -> None:
    meaning = "what `-m route` strives for (balanced)"
    group.add_argument("--dial", dest="route.dial", choices=("frugal", "balanced", "quality"), help=meaning)


def why_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("id", type=some_id, nargs="?", metavar="ID", help="of a session (the last one)")
    add_json(parser)
