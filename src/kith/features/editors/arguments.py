"""Add the options of this feature's commands."""

import argparse

from kith.terminal.options import add_cloud, add_engine, add_offline


def acp(parser: argparse.ArgumentParser) -> None:
    """The editor says in which folder."""
    add = parser.add_argument
    add("-m", "--model", metavar="NAME", help="which model to ask, such as ollama/qwen3:8b; or route")
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    add("--read-only", action="store_const", const=True, help="look and answer, change nothing")
    add_offline(parser)
    add_cloud(parser.add_argument_group("which models"), "one task")
    add_engine(parser)
