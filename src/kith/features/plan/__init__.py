"""Find the files that a task needs, and say why, without a model."""

import argparse
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from kith.core.feature import Command, Feature, Lazy, lazy_in
from kith.terminal.options import add_folder, positive

_here = lazy_in(__name__)


def plan_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("task", nargs="?", metavar="TASK", help="what is to be done, in your words")
    add("--limit", type=positive, metavar="N", help="show at most N files (10)")
    add(
        "--save",
        type=Path,
        metavar="FILE",
        help="save the task and its files; kith run --from-plan FILE runs it",
    )
    add("--measure", action="store_true", help="rank your own commits' messages: how often are files found?")
    add("--json", action="store_true", help="print JSON")


class PlanSettings(Struct, frozen=True):
    """The settings of `kith plan`: how many files it lists, and of which kinds."""

    limit: Annotated[int, Meta(ge=1)] = 10  # files
    extensions: tuple[str, ...] = ()  # such as ".py"; none: all files
    deny: tuple[str, ...] = ()  # patterns of paths that are never listed


FEATURE = Feature(
    "plan",
    "the files that a task needs, without a model",
    settings=Lazy(f"{__name__}:PlanSettings"),
    commands=(
        Command(
            "plan",
            "Show the files a task needs",
            Lazy(f"{__name__}:plan_arguments"),
            _here("command:plan_command"),
            "TASK",
            group="Measure",
        ),
    ),
)
