"""Add the options of this feature's commands."""

import argparse

from kith.terminal.options import add_folder, add_json, some_id


def why(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("id", type=some_id, nargs="?", metavar="ID", help="of a session (the last one)")
    add_json(parser)
