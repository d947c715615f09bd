"""Measure models: benchmarks, profiles of models and builds, and reasons for kith's choices."""

import argparse
import time

from kith.core.feature import Command, Feature, Lazy, SlashCommand, lazy_in
from kith.terminal.options import (
    add_cloud,
    add_engine,
    add_folder,
    add_json,
    add_offline,
    positive,
)

_here = lazy_in(__name__)

FEATURE = Feature(
    "measure",
    "what calls and tasks took: profiles, benches and probes",
    extends={"web": _here("page.routes:PART"), "measure": _here("bench.chart:PART")},
    foretell=_here("task_forecasts:forecast_task"),
    forget=_here("measured_rows:forget_rows"),
    commands=(
        Command(
            "profile",
            "Show speed, success and cost of models",
            Lazy(f"{__name__}:profile_arguments"),
            _here("profile_command:profile_command"),
            group="Measure",
        ),
        Command(
            "models probe",
            "Measure what a model can do",
            Lazy(f"{__name__}:probe_arguments"),
            _here("probe_command:probe_command"),
            "[MODEL]",
        ),
        Command(
            "bench",
            "Benchmark models on this machine",
            Lazy(f"{__name__}:bench_arguments"),
            _here("bench_command:bench_command"),
            "[MODEL ...]",
            group="Measure",
        ),
    ),
    slash_commands=(
        SlashCommand(
            "profile",
            "Models",
            "show measurements of models here",
            _here("conversation:profile"),
            rest="[MODEL]",
            anytime=True,
            takes="model",
        ),
    ),
)


# The options of its commands.


def profile_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("--all", action="store_true", help="count every folder, not only this one")
    add("--model", metavar="NAME", help="only models with this in their names, in detail")
    add("--kind", metavar="KIND", help="only one kind of work, such as edit-small, or one purpose of calls")
    add("--since", type=moment, metavar="WHEN", help="only since then: 30d, 12h, 4w, or 2026-11-01")
    add("--rows", choices=("calls", "tasks", "verdicts"), help="with --csv or --json: rows, not sums (calls)")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="as JSON")
    forms.add_argument("--csv", metavar="FILE", help="the rows behind it as CSV; - for stdout")
    forms.add_argument("--html", metavar="FILE", help="as one page of HTML; - for stdout")


def probe_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument(
        "model", nargs="?", metavar="MODEL", help="a model's name, as after -m (the first found)"
    )
    add_offline(parser)
    add_engine(parser)
    add_json(parser)


def bench_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("models", nargs="*", metavar="MODEL", help="a model's name, as after -m (the first found)")
    add("--quick", action="store_true", help="one minute: speed, and a little of the rest")
    add("--minutes", type=positive, metavar="N", help="minutes for each model (3)")
    add("--no-tasks", dest="tasks", action="store_false", help="leave out the small tasks with tests")
    add("--compare", nargs=2, metavar=("A", "B"), help="two runs: a model, a session's id, a file of --json")
    add("--output", metavar="FILE", help="write speeds as llama-bench does: .json, .jsonl, .csv or .md")
    add("--import", dest="imported", metavar="FILE", help="forecast from llama-bench results of MODEL")
    add_cloud(parser, "measuring a model")
    add_offline(parser)
    add_engine(parser)
    add_json(parser)


def moment(text: str) -> float:
    """Seconds of the epoch: so long ago, or the beginning of a day."""
    units = {"h": 3_600, "d": 86_400, "w": 604_800}
    count, unit = text[:-1], units.get(text[-1:], 0)
    if unit and count.isdigit():
        return time.time() - int(count) * unit
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%d"))
    except (ValueError, OverflowError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; 30d or 2026-11-01 is one") from error
