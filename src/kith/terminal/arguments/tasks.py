"""What the commands take that change a project: tasks, builds, reviews, refactorings, councils."""

import argparse

from kith.terminal.arguments.options import (
    FORMATS,
    add_cloud,
    add_engine,
    add_folder,
    add_json,
    add_offline,
    add_system,
    add_template,
    add_work,
    add_yes,
)
from kith.terminal.arguments.quantities import number, percent, positive, some_id
from kith.terminal.conversation.modes import MODES

_REFACTORINGS = (
    "nothing or a PATH: suggestions; rename PATH:NAME NEW, move PATH:NAME TARGET.py, "
    "extract PATH:FIRST-LAST NAME, inline PATH:NAME, remove PATH:NAME, organise-imports PATH; "
    "or what a model is to do, in words"
)


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


def build(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("task", nargs="*", metavar="REQUEST", help="what to build; text piped in is added")
    add_template(parser)
    add_yes(parser, "agree to the tasks, and apply without asking")
    add("--max-retries", type=number, metavar="N", help="tries of a task after its first (3)")
    add("--coverage", type=percent, metavar="PERCENT", help="lines that tests must run; 0: whatever it is")
    add("--no-refine", dest="refine", action="store_const", const=False, help="leave out the last touch")
    add("--commit", dest="auto_commit", action="store_const", const=True, help="commit what was applied")
    add("--step-seconds", type=positive, metavar="N", help="seconds that one step may take (1800)")
    add("--step-tokens", type=positive, metavar="N", help="tokens that one step may use")
    add("--output-format", choices=FORMATS, default="text", help="what goes to stdout (text)")
    add(
        "--resume",
        type=some_id,
        nargs="?",
        const="last",
        metavar="ID",
        help="go on with an unfinished build (the last one)",
    )
    parser.set_defaults(prompt=None, plan="no", read_only=None)
    add_work(parser, builds=True)


def testgen(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("target", nargs="?", metavar="TARGET", help="file, file::function or file::Class.method")
    add("--diff", action="store_true", help="what is not committed (as without a TARGET)")
    add("--out", metavar="FILE", help="the file of tests to write, or to add to")
    add("--score", action="store_true", help="write nothing, measure the present tests")
    add("--existing", action="store_true", help="count what the present tests notice already")
    add("--max-mutants", type=positive, metavar="N", help="faults to plant (60)")
    add("--time", type=positive, metavar="SECONDS", help="for trying them (300)")
    add_yes(parser)
    add_json(parser)
    add_work(parser)


def review(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    what = "a commit or a range such as main..HEAD (what is not committed)"
    parser.add_argument("revision", nargs="?", metavar="COMMIT", help=what)
    add = parser.add_argument
    add("--staged", action="store_true", help="what the next commit would hold")
    add("--branch", metavar="BASE", help="HEAD, since it left BASE")
    add("--patch", metavar="FILE", help="a diff, applied already or not; - reads it from stdin")
    add("-m", "--model", metavar="NAME", help="which model to ask, such as ollama/qwen3:8b")
    add("--no-model", action="store_true", help="linters and kith's own rules only")
    add("--second-look", action="store_true", help="ask the model twice about what it calls an error")
    add("--fail-on", choices=("error", "warning", "note", "never"), default="error",
        help="the severity from which on the exit code is 1 (error)")  # fmt: skip
    add("--max", type=positive, metavar="N", help="show the worst N findings")
    add("--apply", action="store_true", help="propose the suggestions as one change, checked and asked about")
    add_yes(parser)
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="as JSON")
    forms.add_argument("--sarif", action="store_true", help="as SARIF 2.1.0, for code hosts and editors")
    add_offline(parser)
    add_engine(parser)


def confer(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("question", nargs="*", metavar="QUESTION", help="what to decide, to answer or to do")
    add("--models", metavar="A,B", help="who confers, two or three, as after -m (confer.models)")
    add("--judge", metavar="NAME", help="who decides where nothing can be tested (confer.judge)")
    add("--apply", action="store_true", help="carry the plan out, tested and asked about")
    add_yes(parser)
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    add("--show", metavar="ID", help="show a council of a session as it was, and ask nobody")
    add_cloud(parser, "a council")
    add_offline(parser)
    add_json(parser)


def refactor(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("words", nargs="*", metavar="WORD", help=_REFACTORINGS)
    add("--apply", type=positive, metavar="N", help="mend suggestion N (of PATH)")
    add("--with-tests", action="store_true", help="what a model does in words may change tests, too")
    add_yes(parser)
    add_json(parser)
    add_work(parser)


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


def demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", metavar="NAME", help="run it live, with this model")
    parser.add_argument("--keep", action="store_true", help="keep the demo's folder to play with")
