"""What the commands about settings take."""

import argparse

from kith.terminal.arguments.options import add_folder, add_json


def show(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    words = "take back what you agreed to for good here: ask again before a model in the cloud is asked"
    parser.add_argument("--ask-again", action="store_true", help=words)
    add_json(parser)


def get(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument(
        "key", metavar="KEY", help="such as tries or build.coverage; a table for all of its keys"
    )
    add_json(parser)


def set_(parser: argparse.ArgumentParser) -> None:
    _add_key(parser)
    parser.add_argument("value", metavar="VALUE", nargs="+", help="several make a list")


def unset(parser: argparse.ArgumentParser) -> None:
    _add_key(parser)


def _add_key(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    words = "in the project's file, .kith/config.toml, which may hold little, and counts once it is trusted"
    parser.add_argument("--project", action="store_true", help=words)
    parser.add_argument("key", metavar="KEY", help="such as tries, build.coverage or projects.~/work.cloud")
