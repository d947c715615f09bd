"""What the commands take that change a project: tasks, builds, reviews, refactorings, councils."""

import argparse

from kith.terminal.arguments.options import (
    FORMATS,
    add_folder,
    add_system,
    add_template,
    add_work,
    add_yes,
)
from kith.terminal.arguments.quantities import some_id
from kith.terminal.conversation.modes import MODES

_WAITING = "the session whose change waits, or its beginning (the newest change)"


def talk(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    again = parser.add_mutually_exclusive_group().add_argument
    last = "go on with the last conversation here"
    again("-c", "--continue", dest="resume", action="store_const", const="last", default="", help=last)
    pick = "go on with a conversation: the one whose id begins so, or one that you pick"
    again("-r", "--resume", dest="resume", type=some_id, nargs="?", const="pick", metavar="ID", help=pick)
    add = parser.add_argument
    add("--mode", choices=MODES, help="ask, plan (look only) or auto (one question, at the end) (ask)")
    add("--plain", action="store_true", help="lines alone, nothing that moves (for screen readers)")
    add_work(parser)
    add_system(parser)


def run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("task", nargs="*", metavar="TASK", help="what to do; text piped in is added")
    add("-p", "--prompt", metavar="TASK", help="the same as run TASK")
    add_template(parser)
    add_yes(parser)
    plan = parser.add_mutually_exclusive_group().add_argument
    plan("--plan", dest="plan", action="store_const", const="yes", default="no", help="plan first")
    plan("--show-plan", dest="plan", action="store_const", const="show", help="plan first, and ask")
    add("--review", action="store_const", const=True, help="ask the model what may go wrong with its change")
    add("--explain-prompt", action="store_true", help="show what each part of the prompt costs, ask nothing")
    add("--output-format", choices=FORMATS, default="text", help="what goes to stdout (text)")
    add("--resume", type=some_id, metavar="ID", help="go on with an unfinished session")
    add_work(parser)
    add_system(parser)


def diff(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("id", type=some_id, nargs="?", metavar="ID", help=_WAITING)
    parser.add_argument("--stat", action="store_true", help="only the files, with lines added and removed")


def apply(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("id", type=some_id, nargs="?", metavar="ID", help=_WAITING)
    add_yes(parser)
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    add("--output-format", choices=FORMATS, default="text", help="what goes to stdout (text)")


def undo(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument(
        "id", type=some_id, nargs="?", metavar="ID", help="the change or session to take back (the last one)"
    )
