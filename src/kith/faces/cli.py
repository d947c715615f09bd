"""The command line: words in, exit codes out."""

import argparse
import difflib
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, NoReturn

from kith.core.errors import EXIT_FAILED, KithError, UsageError
from kith.faces.folder import find_root
from kith.faces.streams import FULL, drop_output, open_streams

EXIT_INTERRUPTED = 130  # the shell's numbers: 128 and the signal's
EXIT_BROKEN_PIPE = 141
FORMATS = ("text", "json", "stream-json")
SILENCE_S = 3.0  # an open pipe that brings nothing for so long is not waited for, when there is a task
TASK_LIMIT = 200_000  # bytes: far more than any local window holds
COMMANDS = {
    "run": "do one task: a tested diff comes out, you say yes",
    "undo": "take an applied change back",
    "sessions": "list what was done, newest first",
    "models": "list the models that can be asked",
    "config": "show every setting and where it came from",
    "demo": "see the whole path on a small project, no model needed",
}
EXIT_CODES = """\
exit codes: 0 done, 1 failed, 2 usage, 3 rejected, 4 limit reached, 5 no model,
75 try again later, 130 interrupted, 143 terminated"""


class _Parser(argparse.ArgumentParser):
    """argparse, saying one sentence instead of its usage."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}. See `{self.prog} --help`.")


def main(argv: Sequence[str]) -> int:
    """Run a command; returns its exit code. Whatever a person can mend is one sentence, never a traceback."""
    open_streams()
    try:
        name, rest = _split(list(argv))
        code = _run(name, _parse(_parser(name), rest))
        sys.stdout.flush()
        return code
    except KithError as error:
        _tell(error, _format_of(argv))
        return error.code
    except KeyboardInterrupt:
        _say("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        drop_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        if error.errno not in FULL:
            raise
        drop_output()
        _say(f"{error.filename or 'the output'}: {error.strerror}.")
        return EXIT_FAILED


def _say(text: str) -> None:
    from kith.faces.lines import printable

    with suppress(OSError):  # the exit code remains
        print(f"kith: {printable(text)}", file=sys.stderr, flush=True)


def _tell(error: KithError, format: str) -> None:
    """An error that ended a command: a sentence on stderr, and for `run` in its format on stdout."""
    _say(str(error))
    if format != "text":
        from kith.faces.run import print_failure

        print_failure(error, format)


def _format_of(argv: Sequence[str]) -> str:
    """The output format that a command line asks for, however wrong the rest of it is."""
    words = list(argv[: argv.index("--")] if "--" in argv else argv)
    for word, following in pairwise([*words, ""]):
        value = following if word == "--output-format" else word.removeprefix("--output-format=")
        if word.startswith("--output-format") and value in FORMATS:
            return value
    return "text"


def _split(argv: list[str]) -> tuple[str, list[str]]:
    """The command's name and its arguments; `-p` means run, no command at all means a conversation."""
    before, rest = (argv[:2], argv[2:]) if argv[:1] == ["-C"] else ([], argv)
    if rest and rest[0] in COMMANDS:
        return rest[0], before + rest[1:]
    if any(word in ("-p", "--prompt") for word in rest):
        return "run", argv
    if rest and not rest[0].startswith("-"):
        close = difflib.get_close_matches(rest[0], COMMANDS, 1)
        hint = f"did you mean `kith {close[0]}`?" if close else f'for a task: kith run "{rest[0]} ..."'
        raise UsageError(f"There is no command {rest[0]!r}; {hint}")
    command = next((word for word in rest if word in COMMANDS), "")
    if command:
        raise UsageError(f"Options come after the command: kith {command} {rest[0]} ...")
    return "", argv


def _parser(name: str) -> argparse.ArgumentParser:
    description = COMMANDS.get(name) or (
        "A local-first coding agent: it works in a trial of your tree, tests the change, and asks you once. "
        "Without a command it opens a conversation in this folder."
    )
    listing = "".join(f"  {key:10} {text}\n" for key, text in COMMANDS.items())
    parser = _Parser(
        prog=f"kith {name}".strip(),
        description=description,
        epilog=EXIT_CODES if name else f"commands:\n{listing}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if name == "":
        parser.add_argument("-V", "--version", action="store_true", help="print the version")
    _ARGUMENTS[name](parser)
    return parser


def _parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Raises UsageError; an option that does not exist gets the name of the nearest."""
    args, unknown = parser.parse_known_args(words)
    if unknown:
        word = unknown[0].partition("=")[0]
        close = difflib.get_close_matches(word, re.findall(r"--[\w-]+", parser.format_help()), 1)
        parser.error(f"there is no {word!r} here" + (f"; did you mean {close[0]}?" if close else ""))
    return args


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-C", dest="folder", metavar="DIR", default=".", help="work in DIR")


def _work(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    add = parser.add_argument
    add("-m", "--model", metavar="PROVIDER/MODEL", help="which model to ask, such as ollama/qwen3:8b")
    add("--check", action="append", metavar="CMD", help="a command that must succeed; `none` for no check")
    add("--tries", type=_positive, metavar="N", help="attempts that a failing check may send back (3)")
    add("--max-steps", type=_positive, metavar="N", help="model calls in one attempt (50)")
    add("--offline", action="store_const", const=True, help="ask no endpoint beyond this machine")
    add("--read-only", action="store_const", const=True, help="look and answer, change nothing")


def _run_arguments(parser: argparse.ArgumentParser) -> None:
    _work(parser)
    add = parser.add_argument
    add("task", nargs="*", metavar="TASK", help="what to do; text piped in is added")
    add("-p", "--prompt", metavar="TASK", help="the same as run TASK")
    add("--yes", action="store_true", help="apply without asking")
    plan = parser.add_mutually_exclusive_group()
    plan.add_argument(
        "--plan", dest="plan", action="store_const", const="yes", default="no", help="plan first"
    )
    plan.add_argument(
        "--show-plan", dest="plan", action="store_const", const="show", help="plan first, and ask"
    )
    add("--output-format", choices=FORMATS, default="text", help="what goes to stdout: %(choices)s")
    add("--resume", metavar="ID", help="go on with an unfinished session")


def _undo_arguments(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="the change or session to take back (the last one)"
    )


def _sessions_arguments(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    parser.add_argument("--all", action="store_true", help="of every folder, not only this one")
    parser.add_argument("--json", action="store_true", help="as JSON")


def _models_arguments(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")


def _demo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", metavar="PROVIDER/MODEL", help="run it live, with this model")
    parser.add_argument("--keep", action="store_true", help="keep the demo's folder to play with")


_ARGUMENTS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "": _work,
    "run": _run_arguments,
    "undo": _undo_arguments,
    "sessions": _sessions_arguments,
    "models": _models_arguments,
    "config": _common,
    "demo": _demo_arguments,
}


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def _run(name: str, args: argparse.Namespace) -> int:
    if name == "":
        if args.version:
            from kith import __version__

            print(f"kith {__version__}")
            return 0
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError('A conversation needs a terminal; for one task: kith run "TASK".')
        from kith.faces.repl import converse_with_person

        return converse_with_person(find_root(args.folder), settings_flags(args))
    if name == "run":
        from kith.faces.run import run_command

        return run_command(find_root(args.folder), args, read_task(args), settings_flags(args))
    from kith.faces import commands

    command: Callable[[argparse.Namespace], int] = getattr(commands, f"{name}_command")
    return command(args)


def settings_flags(args: argparse.Namespace) -> dict[str, Any]:
    """The flags that override settings, under the settings' names."""
    checks = getattr(args, "check", None)
    return {
        "model": getattr(args, "model", None),
        "check": None if checks is None else tuple(checks),
        "tries": getattr(args, "tries", None),
        "max_steps": getattr(args, "max_steps", None),
        "offline": getattr(args, "offline", None),
        "read_only": getattr(args, "read_only", None),
    }


def read_task(args: argparse.Namespace) -> str:
    """The task's words, and what was piped in. Raises UsageError when there are none, or far too many."""
    words = " ".join(filter(None, [args.prompt, *args.task])).strip()
    _refuse_contradictions(args, words)
    if args.resume:
        return ""
    piped = "" if sys.stdin.isatty() else _read_piped(wait=not words)
    task = f"{words}\n\n{piped}".strip() if words and piped else words or piped
    if not task:
        raise UsageError('What should be done? For example: kith run "fix the failing test in utils.py".')
    return task


def _refuse_contradictions(args: argparse.Namespace, words: str) -> None:
    """What cannot be meant together is said, before one half of it is silently left out."""
    if args.resume is not None and (words or args.plan != "no"):
        raise UsageError("--resume goes on with a session's own task; leave the new task and --plan out.")
    if args.resume == "":
        raise UsageError("--resume needs a session's id; `kith sessions` lists them.")
    if args.read_only and (args.check or args.plan != "no"):
        raise UsageError("--read-only changes nothing, so there is nothing to plan or to check.")


def _read_piped(wait: bool) -> str:
    """Text on standard input; an open pipe that stays silent is given up on when there is a task already."""
    import select

    stream = sys.stdin.buffer
    if not wait and sys.platform != "win32":
        try:
            if not select.select([stream], [], [], SILENCE_S)[0]:
                print(
                    f"kith: Nothing came on standard input in {SILENCE_S:.0f} s; it is left out.",
                    file=sys.stderr,
                )
                return ""
        except (OSError, ValueError):
            return ""
    data = stream.read(TASK_LIMIT + 1)
    if len(data) > TASK_LIMIT:
        raise UsageError(
            f"The text on standard input is over the limit of {TASK_LIMIT:,} bytes; "
            "put it into a file and name the file in the task."
        )
    if b"\0" in data:
        raise UsageError("Standard input holds binary data; a task is text.")
    return data.decode("utf-8", "replace").strip()
