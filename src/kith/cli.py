"""The command line: words in, exit codes out."""

import argparse
import difflib
import errno
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import IO, Any, Final, NoReturn

from kith import __version__
from kith.core.errors import EXIT_FAILED, KithError, UsageError
from kith.core.feature import Feature, Lazy, quick_loading
from kith.settings import unknown_variables
from kith.settings.features import known_features, word_lack
from kith.terminal.command_table import TALK, commands, parts_of
from kith.terminal.options import FORMATS
from kith.terminal.streams import FULL, REFUSED, drop_output, lost_terminal, make_room, open_streams
from kith.view.printing import printable

# For few command lines: what they need is loaded then.
_wrapped: Final[Lazy[Callable[[str, IO[str]], str]]] = Lazy("kith.view.lines:wrapped")
_describe: Final[Lazy[Callable[[str], tuple[str, str]]]] = Lazy("kith.terminal.command_help:describe")
_print_failure: Final[Lazy[Callable[[KithError, str], None]]] = Lazy("kith.terminal.report:print_failure")
EXIT_HUNG_UP = 129  # the shell's numbers: 128 and the signal's
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


# Options of other tools, and what kith has instead.
_UNASKED: Final = "kith run --yes applies without asking, kith --mode auto asks once, about the change"
_MODES: Final = "kith --mode takes ask, plan or auto"
_PRINTS: Final = 'kith -p "TASK" prints the answer and exits'
_ELSEWHERE: Final = {
    "-y": _UNASKED,
    "--allow-all-tools": _UNASKED,
    "--auto-accept": _UNASKED,
    "--auto-approve": _UNASKED,
    "--dangerously-bypass-approvals-and-sandbox": _UNASKED,
    "--dangerously-skip-permissions": _UNASKED,
    "--full-auto": _UNASKED,
    "--trust-all-tools": _UNASKED,
    "--yes-always": _UNASKED,
    "--yolo": _UNASKED,
    "--approval-mode": _MODES,
    "--ask-for-approval": _MODES,
    "--permission-mode": _MODES,
    "--headless": _PRINTS,
    "--print": _PRINTS,
}

# What argparse says, and how kith says it. `-m/--model` is named by its long form.
_SAID = (
    (r"^argument (?:\S+/)?(\S+): invalid choice: (.+) \(choose from (.+)\)$", r"\1 takes one of \3, not \2"),
    (r"^argument (?:\S+/)?(\S+): not allowed with argument (?:\S+/)?(\S+)$", r"\1 and \2 exclude each other"),
    (r"^argument (?:\S+/)?(\S+): expected one argument$", r"\1 needs a value"),
    (r"^argument (?:\S+/)?(\S+): invalid (?:int|float) value: (.+)$", r"\1 takes a number, not \2"),
    (r"^argument (?:\S+/)?(\S+): ", r"\1: "),
)


class _Parser(argparse.ArgumentParser):
    """argparse, saying one sentence instead of its usage; its help is made when it is asked for."""

    name = ""

    def format_help(self) -> str:
        self.description, self.epilog = _describe.load()(self.name)
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        for said, words in _SAID:
            message = re.sub(said, words, message)
        end = "" if message.endswith("?") else "."
        raise UsageError(f"{message[:1].upper()}{message[1:]}{end} See `{self.prog} --help`.")


def main(argv: Sequence[str]) -> int:
    """Run a command; returns its exit code. An error that a person can fix is one sentence, no traceback."""
    open_streams()
    _anchor_programs()
    try:
        name, rest = _split(list(argv))
        args = _parse(_parser(name), rest)
        _tell_unknown_variables()
        code = _run(name, args)
        sys.stdout.flush()
        return code
    except KithError as error:
        _tell(error, _format_of(argv))
        return error.code
    except KeyboardInterrupt:
        _say("interrupted")
        # CPython ends itself by SIGINT, later, where a Ctrl-C that was caught came in the `exec` of a text
        # (a dataclass is made by one); the next `exec` prevents that (run_eval_code_obj in pythonrun.c).
        exec("")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        drop_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        if error.errno == errno.EIO and lost_terminal():
            drop_output(sys.stderr)
            return EXIT_HUNG_UP
        if error.errno in FULL:
            drop_output()
            _say(f"{error.filename or 'the output'}: {error.strerror}.")
        elif error.errno in REFUSED:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                make_room()
            _say(f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}.")
        else:
            raise
        return EXIT_FAILED
    except ImportError as error:  # the system's loader says so in words only
        if os.strerror(errno.EMFILE) not in str(error):
            raise
        make_room()
        _say(f"{error}.")
        return EXIT_FAILED


def _tell_unknown_variables() -> None:
    """Variables that are called like settings and are none."""
    if not any(name.startswith("KITH_") for name in os.environ):
        return
    unknown = unknown_variables()
    for name, near in unknown.items():
        if near:
            _say(f"{name} is no setting and is ignored; did you mean {near}?")
    if others := ", ".join(sorted(name for name, near in unknown.items() if not near)):
        _say(f"ignored, since no setting has that name: {others}. `kith config` lists them.")


def _anchor_programs() -> None:
    """A relative folder of PATH is the current one, anybody's repository: no program is taken from there."""
    named = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(filter(os.path.isabs, named)) or os.defpath


def _say(text: str) -> None:
    text = f"kith: {printable(text)}"
    with suppress(OSError, ImportError):  # what wraps it may be what cannot be loaded
        text = _wrapped.load()(text, sys.stderr)
    with suppress(OSError):  # the exit code remains
        print(text, file=sys.stderr, flush=True)


def _tell(error: KithError, format: str) -> None:
    """An error that ended a command: a sentence on stderr, and for `run` in its format on stdout."""
    _say(str(error))
    if format != "text":
        _print_failure.load()(error, format)


def _format_of(argv: Sequence[str]) -> str:
    """The output format that a command line asks for, however wrong the rest of it is."""
    words = list(argv[: argv.index("--")] if "--" in argv else argv)
    for word, following in pairwise([*words, ""]):
        value = following if word == "--output-format" else word.removeprefix("--output-format=")
        if word.startswith("--output-format") and value in FORMATS:
            return value
    return "text"


def _split(argv: list[str]) -> tuple[str, list[str]]:
    """The command's name and its arguments; `-p` means run, words that are no command a conversation."""
    before, rest = (argv[:2], argv[2:]) if argv[:1] == ["-C"] else ([], argv)
    if " ".join(rest[:2]) in commands():
        return " ".join(rest[:2]), before + rest[2:]
    if rest and rest[0] in commands():
        _refuse_unknown_part(rest)
        return rest[0], before + rest[1:]
    if any(word in ("-p", "--prompt") for word in rest):
        return "run", argv
    return "", argv


def _check_task(words: Sequence[str], typed: Sequence[str]) -> None:
    """Refuse a task whose first word was meant as a command. Raises UsageError."""
    if not words:
        return
    if words[0] in commands():
        raise UsageError(f"Options come after the command: kith {words[0]} {typed[0]} ...")
    _refuse_switched_off(words[0])
    alone = len(words) == 1 and " " not in words[0]
    if alone and (close := difflib.get_close_matches(words[0], commands(), 1, 0.75)):
        raise UsageError(f"There is no command {words[0]!r}; did you mean `kith {close[0]}`?")


def _refuse_switched_off(word: str) -> None:
    """Name the feature whose command this is, where it is off."""

    def part(feature: Feature) -> Lazy[Callable[[Any], int]] | None:
        return next((each.run for each in feature.commands if each.name.split()[0] == word), None)

    if any(map(part, known_features())):
        raise UsageError(word_lack(part, f"kith {word}"))


def _refuse_unknown_part(words: Sequence[str]) -> None:
    """`models pul` is no command: one that has parts was misspelt, unless it takes any words."""
    parts = parts_of(words[0])
    if not parts or not words[1:] or words[1].startswith("-"):
        return
    takes_any = commands()[words[0]].words.startswith(("[WORD", "[MODEL", "[WHEN"))
    close = difflib.get_close_matches(words[1], parts, 1, 0.8 if takes_any else 0.6)
    if takes_any and not close:
        return
    whole = ", ".join(f"{words[0]} {part}" for part in parts)
    hint = f"did you mean `kith {words[0]} {close[0]}`?" if close else f"there are: {whole}."
    raise UsageError(f"There is no command {' '.join(words[:2])!r}; {hint}")


def _refuse_whole(name: str) -> NoReturn:
    """A command that is nothing without one of its parts."""
    parts = ", ".join(parts_of(name))
    raise UsageError(f"kith {name} is followed by one of {parts}. See `kith {name} --help`.")


def _parser(name: str) -> _Parser:
    command = commands().get(name, TALK)
    prog = f"kith {name}".strip()
    usage = f"{prog} [OPTIONS] {command.words}".rstrip()
    parser = _Parser(
        prog=prog,
        usage=usage if name else f"{usage}\n       kith COMMAND --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.name = name
    if command.arguments:
        command.arguments.load()(parser)
    return parser


def _parse(parser: _Parser, words: Sequence[str]) -> argparse.Namespace:
    """Raises UsageError; an option that does not exist gets the name of the nearest, or of what kith has."""
    args, unknown = parser.parse_known_args(words)
    options = [word.partition("=")[0] for word in unknown if word.startswith("-")]
    if known := next((word for word in options if word in _ELSEWHERE), ""):
        raise UsageError(f"There is no {known}: {_ELSEWHERE[known]}.")
    if not options and isinstance(task := getattr(args, "task", None), list):
        task += unknown  # words behind an option
        unknown = []
    if not parser.name:
        _check_task(args.task, words)
    if unknown:
        word = unknown[0].partition("=")[0]
        close = difflib.get_close_matches(word, re.findall(r"--[\w-]+", parser.format_help()), 1)
        parser.error(f"there is no {word!r} here" + (f"; did you mean {close[0]}?" if close else ""))
    return args


def _run(name: str, args: argparse.Namespace) -> int:
    if name == "" and args.version:
        print(f"kith {__version__}")
        return 0
    command = commands().get(name, TALK)
    if command.run is None:
        _refuse_whole(name)
    with quick_loading():
        run = command.run.load()
    return run(args)
