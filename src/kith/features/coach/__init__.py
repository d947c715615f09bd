"""Tune how each model is asked: proposals, trials on recorded tasks, and their results."""

import argparse
from typing import Annotated, Any

from msgspec import Meta, Struct

from kith.core.feature import Command, Feature, Lazy, SlashCommand, lazy_in
from kith.terminal.options import add_engine, add_folder, add_json, add_offline, positive

_here = lazy_in(__name__)

FEATURE = Feature(
    "coach",
    "tune how each model is asked, by trials on recorded tasks",
    needs=("measure",),
    extends={"measure": _here("page:PART")},
    settings=Lazy(f"{__name__}:CoachSettings"),
    commands=(
        Command(
            "coach",
            "Show how each model is asked",
            Lazy(f"{__name__}:coach_arguments"),
            _here("command:coach_command"),
            group="Measure",
        ),
        Command(
            "coach run",
            "Try other ways on recorded tasks",
            Lazy(f"{__name__}:coach_run_arguments"),
            _here("command:run_command"),
        ),
        Command(
            "coach undo",
            "Restore the way used before",
            Lazy(f"{__name__}:coach_one_arguments"),
            _here("command:undo_command"),
            "ID",
        ),
        Command(
            "coach adopt",
            "Adopt a way that live work tries",
            Lazy(f"{__name__}:coach_one_arguments"),
            _here("command:adopt_command"),
            "ID",
        ),
    ),
    slash_commands=(
        SlashCommand(
            "original",
            "Models",
            "stop or allow tuned ways of asking here (F2)",
            _here("conversation:original"),
            rest="[on|off]",
            more="From the next task on the model gets your words and nothing that kith coach has tuned.",
            key="f2",
        ),
    ),
    work_options=Lazy(f"{__name__}:work_options"),
    adapt=_here("adaptation:adapt"),
    settle=_here("adoption:settle_live"),
)


# The options of its commands, and of tasks.


def work_options(group: Any) -> None:
    meaning = "send your words as they are, without the tuning of kith coach"
    group.add_argument("--original", dest="coach.original", action="store_const", const=True, help=meaning)


def coach_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)


def coach_run_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("--minutes", type=positive, metavar="N", help="how long to test strategies (60)")
    add("-m", "--model", metavar="NAME", help="the model to tune, such as ollama/qwen3:8b")
    add_offline(parser)
    add_engine(parser)
    add_json(parser)


def coach_one_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("id", metavar="ID", help="of a strategy, as kith coach shows it")


# Its settings.


class CoachSettings(Struct, frozen=True):
    """The settings of experiments with strategies: their author, and their share of the work."""

    original: bool = False  # ask in the original way, whatever was adopted or is tried
    model: str = ""  # who proposes; none: the one that is coached
    live: Annotated[float, Meta(ge=0, le=1)] = 0.2  # share of live tasks for a canary; 0: no live task tests
    max_trials: Annotated[int, Meta(ge=1)] = 200  # recorded tasks done again for one experiment
    max_usd: Annotated[float | None, Meta(ge=0)] = None  # for proposals and replays together, a day
