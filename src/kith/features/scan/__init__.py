"""Describe a codebase without a model, from what is in each file to one report."""

import argparse

from kith.core.feature import Command, Feature, Lazy, SlashCommand, lazy_in
from kith.terminal.options import add_folder

_here = lazy_in(__name__)

FEATURE = Feature(
    "scan",
    "describe a codebase, without a model",
    commands=(
        Command(
            "scan",
            "Describe a codebase without a model",
            Lazy(f"{__name__}:scan_arguments"),
            _here("command:scan_command"),
            "[PATH]",
            group="Measure",
        ),
        Command(
            "init",
            "Write AGENTS.md from a scan",
            Lazy(f"{__name__}:init_arguments"),
            _here("command:init_command"),
            group="Change code",
        ),
    ),
    slash_commands=(
        SlashCommand(
            "init",
            "Work",
            "write an AGENTS.md from a scan",
            _here("conversation:init"),
            more="Commands, layout and conventions that were found; you see the diff, and say yes or no.",
        ),
    ),
)


# The options of its commands.


def scan_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("path", nargs="?", metavar="PATH", help="only this folder or file (the whole project)")
    add("--lint", action="store_true", help="run linters and type checkers without a time limit")
    add("--no-lint", action="store_true", help="run no linters (else up to 20 s, on up to 2,000 files)")
    add("--svg", metavar="FILE", help="write a picture: folders by size, coloured by where the work is")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--md", action="store_true", help="as Markdown")
    forms.add_argument("--json", action="store_true", help="as JSON")


def init_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("--yes", "--write", action="store_true", help="write it without a question")
