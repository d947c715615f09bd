"""`kith doctor`: check kith's environment, and name the command that fixes each problem."""

import argparse

from kith.core.feature import Command, Feature, Lazy, SlashCommand, lazy_in
from kith.terminal.options import add_folder, add_json, add_offline

_here = lazy_in(__name__)

FEATURE = Feature(
    "doctor",
    "examines the machine, its model servers and the sandbox",
    needs=("engine",),
    commands=(
        Command(
            "doctor",
            "Check servers, sandbox and folders",
            Lazy(f"{__name__}:doctor_arguments"),
            _here("command:doctor_command"),
            group="Every day",
        ),
    ),
    slash_commands=(
        SlashCommand("doctor", "kith", "check servers, sandbox and folders", _here("conversation:doctor")),
    ),
)


# The options of its commands.


def doctor_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    rounds = parser.add_mutually_exclusive_group()
    rounds.add_argument("--deep", action="store_true", help="also checks that need a call to each model")
    words = "only try to escape the sandbox, in every known way"
    rounds.add_argument("--sandbox", action="store_true", help=words)
    add_offline(parser)
    add_json(parser)
