"""What the commands take that report: what was done and measured, what is there, what is set."""

import argparse

from kith.terminal.arguments.options import add_folder, add_json, add_offline
from kith.terminal.arguments.quantities import moment, some_id


def status(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("id", type=some_id, nargs="?", metavar="ID", help="which build (the last one)")
    parser.add_argument("--watch", action="store_true", help="stay, and show what changes")
    add_json(parser)


def profile(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("--all", action="store_true", help="of every folder, not only this one")
    add("--model", metavar="NAME", help="only this model, or those with this in their names; in detail")
    add("--kind", metavar="KIND", help="only one kind of work, such as edit-small, or one purpose of calls")
    add("--since", type=moment, metavar="WHEN", help="only since then: 30d, 12h, 4w, or 2026-11-01")
    add("--rows", choices=("calls", "tasks", "verdicts"), help="with --csv or --json: rows, not sums (calls)")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="as JSON")
    forms.add_argument("--csv", metavar="FILE", help="the rows behind it as CSV; - for stdout")
    forms.add_argument("--html", metavar="FILE", help="as one page of HTML; - for stdout")


def templates(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)


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


def why(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("id", type=some_id, nargs="?", metavar="ID", help="of a session (the last one)")
    add_json(parser)


def export(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("id", type=some_id, nargs="?", metavar="ID", help="of a session (the last one)")
    add("--format", choices=("html", "md", "json"), help="a page without scripts, Markdown, or JSON (html)")
    add("-o", "--output", metavar="FILE", help="write it there, not to stdout")


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


def doctor(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    rounds = parser.add_mutually_exclusive_group()
    rounds.add_argument("--deep", action="store_true", help="also what takes a call to each model")
    words = "only this: try to get out of the sandbox that commands run in, in every known way"
    rounds.add_argument("--sandbox", action="store_true", help=words)
    add_offline(parser)
    add_json(parser)


def completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="whose script to print")
