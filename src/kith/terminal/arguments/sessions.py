"""What the commands take that are about sessions of the past: found, copied, named, forgotten."""

import argparse

from kith.terminal.arguments.options import add_folder, add_json
from kith.terminal.arguments.quantities import positive


def sessions(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    words = "only those in whose id, name, tasks or last words all of these stand"
    parser.add_argument("words", nargs="*", metavar="WORD", help=words)
    parser.add_argument("--all", action="store_true", help="of every folder, not only this one")
    parser.add_argument("-n", dest="most", type=positive, default=50, metavar="N", help="at most N (50)")
    add_json(parser)


def turns(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("id", metavar="ID", help="of the session, or its beginning")
    add_json(parser)


def fork(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("id", metavar="ID", help="of the session, or its beginning")
    number = "copy what was said before this turn (kith sessions turns ID); else everything"
    add("--before", type=positive, default=0, metavar="TURN", help=number)
    add("--files", action="store_true", help="with --before: take back what was applied since, too")


def rename(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("id", metavar="ID", help="of the session, or its beginning")
    parser.add_argument("title", nargs="+", metavar="NAME", help="what to call it from now on")


def delete(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("ids", nargs="+", metavar="ID", help="of a session, or its beginning")
    parser.add_argument("--yes", action="store_true", help="without a question")
