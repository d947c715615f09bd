"""Arguments of the commands about edits."""

import argparse

from kith.edits import FORMS


def apply(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--root", metavar="DIR", default=".", help="the folder of the files in the reply (.)")
    add("--format", choices=FORMS, default="auto", help="the form of the edits (auto: as they are found)")
    add("--path", metavar="FILE", default="", help="the file it is about, where the reply names none")
    add(
        "--finish-reason",
        metavar="R",
        default="",
        help="why the reply ended, as the server said: stop, length ...",
    )
    add("--write", action="store_true", help="change the files, too; kith undo reverts it")
    add(
        "--allow-file",
        action="append",
        metavar="PATH",
        help="with --write: a file that runs by itself (CI, hooks, settings of editors) and may change",
    )
