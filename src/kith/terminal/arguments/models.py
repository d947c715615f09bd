"""What the commands take that find, measure and coach models."""

import argparse

from kith.terminal.arguments.options import add_folder, add_json, add_offline


def models(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)
    parser.add_argument("--names", action="store_true", help="names only, for the shell's completion")
    add_offline(parser)


def recommend(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)


def prices(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)
