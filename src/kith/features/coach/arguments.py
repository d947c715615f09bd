"""Add the options of this feature's commands."""

import argparse

from kith.terminal.options import add_engine, add_folder, add_json, add_offline, positive


def coach(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)


def coach_run(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("--minutes", type=positive, metavar="N", help="how long to test strategies (60)")
    add("-m", "--model", metavar="NAME", help="the model to tune, such as ollama/qwen3:8b")
    add_offline(parser)
    add_engine(parser)
    add_json(parser)


def coach_one(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("id", metavar="ID", help="of a strategy, as kith coach shows it")
