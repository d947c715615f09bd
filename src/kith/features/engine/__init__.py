"""An engine of kith's own: one llama.cpp server for each model file, shared, and never left behind."""

import argparse

from kith.core.feature import Command, Feature, Lazy, lazy_in
from kith.terminal.options import add_folder, add_offline, add_own_engine, positive

_here = lazy_in(__name__)

FEATURE = Feature(
    "engine",
    "kith's own llama.cpp: model files of this machine, and downloads",
    models={"file": _here("model_files:engine_of")},
    settings=_here("options:EngineSettings"),
    commands=(
        Command(
            "models pull",
            "Download a model",
            Lazy(f"{__name__}:pull_arguments"),
            _here("commands:pull_command"),
            "REPO[:QUANT]",
        ),
        Command(
            "engine",
            "Show, stop or measure kith's own engine",
            Lazy(f"{__name__}:engine_arguments"),
            _here("commands:engine_command"),
            "[status|stop|tune]",
            group="Models",
        ),
    ),
)


# The options of its commands.


def pull_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("name", metavar="REPO[:QUANT]", help="such as Qwen/Qwen3-8B-GGUF:Q4_K_M, or ollama/qwen3:8b")
    add("--force", action="store_true", help="ignore the memory limit")
    add_offline(parser)


def engine_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    what = "show what runs and was measured (the default), stop it, or measure a model"
    add("action", nargs="?", choices=("status", "stop", "tune"), default="status", help=what)
    add("model", nargs="?", default="", metavar="MODEL", help="tune: a model file (the one kith would ask)")
    add("--rounds", type=positive, default=5, metavar="N", help="tune: pairs of texts for each way (5)")
    add_own_engine(parser)
