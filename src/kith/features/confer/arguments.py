"""Add the options of this feature's commands."""

import argparse

from kith.terminal.options import add_cloud, add_folder, add_json, add_offline, add_yes


def confer(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("question", nargs="*", metavar="QUESTION", help="what to decide, to answer or to do")
    add("--models", metavar="A,B", help="two or three models, as after -m (confer.models)")
    add("--judge", metavar="NAME", help="the judge where nothing can be tested (confer.judge)")
    add("--apply", action="store_true", help="carry the plan out, tested and asked about")
    add_yes(parser)
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    add("--show", metavar="ID", help="show an earlier council of a session, ask nobody")
    add_cloud(parser, "a council")
    add_offline(parser)
    add_json(parser)
