"""Add the options of this feature's commands."""

import argparse

from kith.terminal.options import add_folder, add_json, add_offline, add_work, positive


def mcp(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--patience", type=positive, metavar="N", default=300, help="seconds to wait for an answer (300)")
    add("--no-forms", action="store_true", help="never ask in a form of the agent's program")
    add_work(parser)


def mcp_list(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_offline(parser)
    add_json(parser)


def mcp_test(parser: argparse.ArgumentParser) -> None:
    mcp_list(parser)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which servers (all)")
