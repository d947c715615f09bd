"""Declare the arguments of this feature's commands."""

import argparse

from kith.terminal.options import add_folder


def scan(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("path", nargs="?", metavar="PATH", help="only this folder or file (the whole project)")
    add("--lint", action="store_true", help="run linters and type checkers for as long as they need")
    add("--no-lint", action="store_true", help="run no linters (else up to 20 s, on up to 2,000 files)")
    add("--svg", metavar="FILE", help="write a picture: folders by size, coloured by where the work is")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--md", action="store_true", help="as Markdown")
    forms.add_argument("--json", action="store_true", help="as JSON")


def init(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("--yes", "--write", action="store_true", help="write it without a question")
