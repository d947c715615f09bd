"""What the commands take that find, measure and coach models."""

import argparse

from kith.terminal.arguments.options import add_cloud, add_engine, add_folder, add_json, add_offline
from kith.terminal.arguments.quantities import positive


def models(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)
    parser.add_argument("--names", action="store_true", help="names only, for the shell's completion")
    add_offline(parser)


def pull(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("name", metavar="REPO[:QUANT]", help="such as Qwen/Qwen3-8B-GGUF:Q4_K_M, or ollama/qwen3:8b")
    add("--force", action="store_true", help="even what this machine's memory cannot hold")
    add_offline(parser)


def recommend(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)


def prices(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)


def probe(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("model", nargs="?", metavar="MODEL", help="as after -m; the first found if left out")
    add_offline(parser)
    add_engine(parser)
    add_json(parser)


def bench(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("models", nargs="*", metavar="MODEL", help="as after -m; the first found if left out")
    add("--quick", action="store_true", help="in a minute: speed, and a little of the rest")
    add("--minutes", type=positive, metavar="N", help="for each model (3)")
    add("--no-tasks", dest="tasks", action="store_false", help="leave out the small tasks with tests")
    add("--compare", nargs=2, metavar=("A", "B"), help="two runs: a model, a session's id, a file of --json")
    add("--output", metavar="FILE", help="write speeds as llama-bench does: .json, .jsonl, .csv or .md")
    add("--import", dest="imported", metavar="FILE", help="foresee times by what llama-bench wrote of MODEL")
    add_cloud(parser, "measuring a model")
    add_offline(parser)
    add_engine(parser)
    add_json(parser)


def engine(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    what = "show what runs (the default), or end it"
    parser.add_argument("action", nargs="?", choices=("status", "stop"), default="status", help=what)


def coach(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)


def coach_run(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("--minutes", type=positive, metavar="N", help="how long to try ways out (60)")
    add("-m", "--model", metavar="NAME", help="whose ways to try, such as ollama/qwen3:8b")
    add_offline(parser)
    add_engine(parser)
    add_json(parser)


def coach_one(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("id", metavar="ID", help="of a way, as kith coach shows it")
