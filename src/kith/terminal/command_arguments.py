"""Arguments of each command of the main job: one function for each command."""

import argparse

from kith.settings.features import all_parts
from kith.terminal.conversation.modes import MODES
from kith.terminal.options import (
    FORMATS,
    add_folder,
    add_json,
    add_offline,
    add_system,
    add_template,
    add_work,
    add_yes,
    place,
    positive,
    some_id,
)

# What the commands about settings take.


def config_show(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    words = "forget what you agreed to for good here: ask again before a model in the cloud is asked"
    parser.add_argument("--ask-again", action="store_true", help=words)
    add_json(parser)


def config_get(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument(
        "key", metavar="KEY", help="such as tries or build.coverage; a table for all of its keys"
    )
    add_json(parser)


def config_set(parser: argparse.ArgumentParser) -> None:
    _add_key(parser)
    parser.add_argument("value", metavar="VALUE", nargs="+", help="several make a list")


def config_unset(parser: argparse.ArgumentParser) -> None:
    _add_key(parser)


def _add_key(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    words = "in the project's file, .kith/config.toml, which may hold little, and counts once it is trusted"
    parser.add_argument("--project", action="store_true", help=words)
    parser.add_argument("key", metavar="KEY", help="such as tries, build.coverage or projects.~/work.cloud")


# What the commands take that find, measure and coach models.


def models(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)
    parser.add_argument("--names", action="store_true", help="names only, for the shell's completion")
    add_offline(parser)


def recommend(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)


def prices(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)


# What the commands take that report: what was done and measured, what is there, what is set.


def status(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("id", type=some_id, nargs="?", metavar="ID", help="which build (the last one)")
    parser.add_argument("--watch", action="store_true", help="stay, and show what changes")
    add_json(parser)


def templates(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add_json(parser)


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
    ways.add_argument("--forget", action="store_true", help="forget what you said of this folder")
    ways.add_argument("--list", action="store_true", help="every folder of which you said something")


def completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell to print a script for")


def features(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def switch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", metavar="NAME", help="as kith features shows it")


# What the commands take that are about sessions of the past: found, copied, named, forgotten.


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
    add("--files", action="store_true", help="with --before: undo what was applied since, too")


def rename(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("id", metavar="ID", help="of the session, or its beginning")
    parser.add_argument("title", nargs="+", metavar="NAME", help="what to call it from now on")


def delete(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("ids", nargs="+", metavar="ID", help="of a session, or its beginning")
    parser.add_argument("--yes", action="store_true", help="without a question")


_WAITING = "the session whose change waits, or its beginning (the newest change)"


def talk(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", nargs="*", metavar="TASK", help="begin the conversation with this task")
    printed = "do one task, print the answer and exit (kith run)"
    parser.add_argument("-p", "--prompt", metavar="TASK", help=printed)
    parser.add_argument("--yes", action="store_true", help="with -p: apply without asking")
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    again = parser.add_mutually_exclusive_group().add_argument
    last = "continue the last conversation here"
    again("-c", "--continue", dest="resume", action="store_const", const="last", default="", help=last)
    pick = "continue the conversation whose id begins so, or pick one"
    again("-r", "--resume", dest="resume", type=some_id, nargs="?", const="pick", metavar="ID", help=pick)
    add = parser.add_argument
    add("--mode", choices=MODES, help="ask, plan (read-only) or auto (one question at the end); default: ask")
    add("--plain", action="store_true", help="plain lines, no animation (for screen readers)")
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
    add("--from-plan", metavar="FILE", help="do the task that kith plan --save has saved, with its files")
    add("--review", action="store_const", const=True, help="ask the model what may go wrong with its change")
    add("--explain-prompt", action="store_true", help="show what each part of the prompt costs, ask nothing")
    add("--output-format", choices=FORMATS, default="text", help="what goes to stdout (text)")
    schema = "a JSON Schema that the final answer has to follow; stdout gets that value alone"
    add("--output-schema", type=place, metavar="FILE", help=schema)
    add("--resume", type=some_id, metavar="ID", help="continue an unfinished session")
    add("--image", action="append", default=[], metavar="FILE", help="show the model this picture")
    for add_more in all_parts(lambda feature: feature.task_options):
        add_more(parser)
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
        "id", type=some_id, nargs="?", metavar="ID", help="the change or session to undo (the last one)"
    )
    parser.add_argument("--yes", action="store_true", help="if it was committed: revert that without asking")
