"""What the commands take that report: what was done and measured, what is there, what is set."""

import argparse

from kith.terminal.arguments.options import add_folder, add_json
from kith.terminal.arguments.quantities import some_id


def status(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("id", type=some_id, nargs="?", metavar="ID", help="which build (the last one)")
    parser.add_argument("--watch", action="store_true", help="stay, and show what changes")
    add_json(parser)


def templates(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)


def permits(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    ways = parser.add_mutually_exclusive_group()
    number = "ask again about these, or about all"
    ways.add_argument("--forget", nargs="*", type=int, metavar="NUMBER", help=number)
    ways.add_argument(
        "--explain", metavar="COMMAND", help="say whether a command would be asked about, and why"
    )


def trust(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--yes", action="store_true", help="trust it as it is, without a question")
    ways.add_argument("--show", action="store_true", help="only show it")
    ways.add_argument("--forget", action="store_true", help="take back what you said of this folder")
    ways.add_argument("--list", action="store_true", help="every folder of which you said something")


def completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="whose script to print")


def features(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def switch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help="as kith features shows it")
