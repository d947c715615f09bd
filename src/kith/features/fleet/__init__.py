"""The fleet: many tasks on many machines, over a PostgreSQL database."""

import argparse

from kith.core.feature import Command, Feature, Lazy, lazy_in
from kith.terminal.options import add_json, number, positive

_here = lazy_in(__name__)


def _command(name: str, meaning: str, words: str = "", *, first: bool = False) -> Command:
    short = name.rpartition(" ")[2]
    place = f"{__name__}:{short}_arguments"
    run = _here(f"entry:{short}")
    return Command(name, meaning, Lazy(place), run, words, group="Serve" if first else "More")


FEATURE = Feature(
    "fleet",
    "many tasks on many machines, over PostgreSQL",
    needs=("forges",),
    settings=_here("settings:FleetSettings"),
    extends={"web": _here("web_part:PART"), "suites": _here("suites:do_in_fleet")},
    commands=(
        Command("fleet", "Run many tasks on many machines", group="Serve"),
        _command("fleet up", "Start a database and a worker here"),
        _command("fleet init", "Make the fleet's tables in a database", "[DSN]"),
        _command("fleet worker", "Work on the fleet's tasks"),
        _command("fleet submit", "Submit a batch of tasks", "[FILE | TASK]"),
        _command("fleet status", "Show batches and workers", "[BATCH]"),
        _command("fleet watch", "Follow a batch to its end", "BATCH"),
        _command("fleet results", "Show the report of a batch", "BATCH"),
        _command("fleet cancel", "Cancel tasks of a batch", "BATCH [KEY ...]"),
        _command("fleet retry", "Try tasks of a batch again", "BATCH [KEY ...]"),
        _command("fleet publish", "Try again to publish changes", "BATCH [KEY ...]"),
    ),
)


# The options of its commands.


def _usd(text: str) -> float:
    """Dollars, more than none."""
    try:
        usd = float(text)
    except ValueError:
        usd = 0.0
    if not 0 < usd < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} must be more than 0")
    return usd


def _add_dsn(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dsn", metavar="DSN", default="", help="the fleet's database (KITH_FLEET_DSN, or as init kept it)"
    )


def _add_worker(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--slots", type=positive, metavar="N", default=1, help="tasks at the same time (1)")
    add("--models", metavar="NAMES", default="", help="models to offer, with commas (all that are found)")
    add("--grace", type=number, metavar="N", default=10, help="seconds for tasks to end after SIGTERM (10)")


def up_arguments(parser: argparse.ArgumentParser) -> None:
    _add_worker(parser)


def init_arguments(parser: argparse.ArgumentParser) -> None:
    words = "postgresql://USER@HOST/DATABASE, or key=value words (KITH_FLEET_DSN)"
    parser.add_argument("dsn", nargs="?", metavar="DSN", default="", help=words)


def worker_arguments(parser: argparse.ArgumentParser) -> None:
    _add_worker(parser)
    add = parser.add_argument
    add("--name", metavar="NAME", default="", help="a name for people (host and process)")
    add("--publish", action="store_true", help="push branches, with the credentials of this machine's git")
    add("--publish-only", action="store_true", help="push branches, and take no task")
    _add_dsn(parser)


def submit_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("what", nargs="*", metavar="FILE | TASK", help="tasks, a JSON object a line; with --repos: the task")
    add("--repos", metavar="FILE", help="a file with a repository a line: the task is done in each")
    add("--command", choices=("run", "build", "review", "bench"), default="run", help="with --repos (run)")
    add("-m", "--model", metavar="NAME", default="", help="for tasks that name none")
    add("--name", metavar="NAME", default="", help="a name for the batch")
    add("--batch", metavar="ID", default="", help="add to a batch; keys that it has are left out")
    add("--submitter", metavar="NAME", default="", help="whose share of the fleet it takes (your user name)")
    add("--max-usd", type=_usd, metavar="N", help="dollars that the batch may cost")
    add("--publish", metavar="REPOSITORY", default="", help="push a branch for each change there")
    _add_dsn(parser)
    add_json(parser)


def status_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", nargs="?", metavar="BATCH", default="", help="one batch, task by task")
    _add_dsn(parser)
    add_json(parser)


def watch_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH", help="as submit and status show it")
    _add_dsn(parser)


def results_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("batch", metavar="BATCH", help="as submit and status show it")
    add("--format", choices=("text", "json", "csv", "md"), default="text", help="for stdout (text)")
    add("--save", metavar="DIR", help="write patches, receipts and logs there")
    _add_dsn(parser)


def cancel_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("batch", metavar="BATCH", help="as submit and status show it")
    parser.add_argument("keys", nargs="*", metavar="KEY", help="only these tasks (all)")
    _add_dsn(parser)


def publish_arguments(parser: argparse.ArgumentParser) -> None:
    cancel_arguments(parser)


def retry_arguments(parser: argparse.ArgumentParser) -> None:
    cancel_arguments(parser)
    parser.add_argument("--max-usd", type=_usd, metavar="N", help="a new budget for the batch")
