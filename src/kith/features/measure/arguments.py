"""Add the options of this feature's commands."""

import argparse

from kith.terminal.options import add_cloud, add_engine, add_folder, add_json, add_offline, moment, positive


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


def probe(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("model", nargs="?", metavar="MODEL", help="as after -m; the first found if left out")
    add_offline(parser)
    add_engine(parser)
    add_json(parser)


def bench(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("models", nargs="*", metavar="MODEL", help="as after -m; the first found if left out")
    add("--quick", action="store_true", help="in a minute: speed, and a little of the rest")
    add("--minutes", type=positive, metavar="N", help="for each model (3)")
    add("--no-tasks", dest="tasks", action="store_false", help="leave out the small tasks with tests")
    add("--compare", nargs=2, metavar=("A", "B"), help="two runs: a model, a session's id, a file of --json")
    add("--output", metavar="FILE", help="write speeds as llama-bench does: .json, .jsonl, .csv or .md")
    add("--import", dest="imported", metavar="FILE", help="forecast from llama-bench results of MODEL")
    add_cloud(parser, "measuring a model")
    add_offline(parser)
    add_engine(parser)
    add_json(parser)
