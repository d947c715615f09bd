"""Tests written by a model and kept by what they prove: they pass on the code and notice planted faults."""

import argparse

from kith.core.feature import Command, Feature, Lazy, SlashCommand, lazy_in
from kith.terminal.options import add_json, add_work, add_yes, positive

_here = lazy_in(__name__)

FEATURE = Feature(
    "testgen",
    "write tests verified by mutation testing; measure present tests",
    needs=("review",),
    commands=(
        Command(
            "test",
            "Write tests, verified by mutation testing",
            Lazy(f"{__name__}:testgen_arguments"),
            _here("command:testgen_command"),
            "[TARGET]",
            group="Change code",
        ),
    ),
    slash_commands=(
        SlashCommand(
            "test",
            "Work",
            "write tests, verified by mutation testing",
            _here("conversation:test"),
            rest="[TARGET]",
            takes="file",
            more="TARGET is a file, file::function or file::Class.method; without one: what is not "
            "committed.",
        ),
    ),
)


# The options of its commands.


def testgen_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("target", nargs="?", metavar="TARGET", help="file, file::function or file::Class.method")
    add("--diff", action="store_true", help="what is not committed (as without a TARGET)")
    add("--out", metavar="FILE", help="the file of tests to write, or to add to")
    add("--score", action="store_true", help="write nothing, measure the present tests")
    add("--existing", action="store_true", help="count the mutants that present tests kill")
    add("--max-mutants", type=positive, metavar="N", help="mutants to try (60)")
    add("--time", type=positive, metavar="SECONDS", help="for running the new tests (300)")
    add_yes(parser)
    add_json(parser)
    add_work(parser)
