"""The command line: words in, exit codes out."""

import argparse
import difflib
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn

from kith.core.errors import EXIT_FAILED, KithError, UsageError
from kith.core.loading import quick_loading
from kith.terminal.arguments import FORMATS, config, edits, models, reports, servers, sessions, tasks
from kith.terminal.streams import FULL, drop_output, open_streams

EXIT_INTERRUPTED = 130  # the shell's numbers: 128 and the signal's
EXIT_BROKEN_PIPE = 141


@dataclass(frozen=True, slots=True)
class Command:
    """One command: what it does, what it takes, and where its function is (loaded when it is called).

    `words` are its arguments beside the options, as its usage shows them.
    """

    meaning: str
    arguments: Callable[[argparse.ArgumentParser], None]
    place: str  # module of kith.terminal and function
    words: str = ""


TALK = Command("", tasks.talk, "conversation.command:talk_command")
COMMANDS = {
    "run": Command(
        "do one task: a tested diff comes out, you say yes", tasks.run, "run:run_command", "[TASK ...]"
    ),
    "build": Command(
        "from a request to tested code: roles propose, tests decide",
        tasks.build,
        "build:build_command",
        "[REQUEST ...]",
    ),
    "status": Command(
        "show the check, waiting changes, and how a build stands",
        reports.status,
        "status:status_command",
        "[ID]",
    ),
    "profile": Command(
        "what was measured: speed, success and cost of models", reports.profile, "profile:profile_command"
    ),
    "coach": Command("show how each model is asked, and what was tried", models.coach, "coach:coach_command"),
    "coach run": Command(
        "try other ways to ask a local model, on recorded tasks", models.coach_run, "coach:run_command"
    ),
    "coach undo": Command(
        "give a way up: the one before holds again", models.coach_one, "coach:undo_command", "ID"
    ),
    "coach adopt": Command(
        "adopt a way at once that live work tries", models.coach_one, "coach:adopt_command", "ID"
    ),
    "templates": Command("list common tasks to fill in", reports.templates, "templates:templates_command"),
    "review": Command(
        "say what is wrong with a change, and what could stand there",
        tasks.review,
        "review:review_command",
        "[COMMIT]",
    ),
    "test": Command(
        "write tests that notice planted faults", tasks.testgen, "testgen:testgen_command", "[TARGET]"
    ),
    "confer": Command(
        "let several models confer; tools check what they claim",
        tasks.confer,
        "confer:confer_command",
        "[QUESTION ...]",
    ),
    "refactor": Command(
        "say what smells, or mend it: rename, move, extract ...",
        tasks.refactor,
        "refactor:refactor_command",
        "[PATH | ACTION ... | WORDS]",
    ),
    "scan": Command(
        "say what this codebase is, without a model", reports.scan, "scan:scan_command", "[PATH]"
    ),
    "init": Command("write AGENTS.md, notes for agents, from a scan", reports.init, "init:init_command"),
    "serve": Command(
        "show and steer sessions from a browser, or over HTTP",
        servers.serve,
        "serve.command:serve_command",
        "[PROJECT ...]",
    ),
    "client": Command("work with the sessions of a server of kith's", servers.parts, "cli:parts_command"),
    "client run": Command(
        "do a task through a server of kith's", servers.client_run, "client.command:run_command", "TASK ..."
    ),
    "client sessions": Command("list a server's sessions", servers.client, "client.command:sessions_command"),
    "client watch": Command(
        "follow a session to its end", servers.client_one, "client.command:watch_command", "ID"
    ),
    "client answer": Command(
        "answer what a session asks",
        servers.client_answer,
        "client.command:answer_command",
        "ID yes|no|CHOICE [WORDS]",
    ),
    "client stop": Command("stop a session", servers.client_one, "client.command:stop_command", "ID"),
    "client get": Command(
        "print what the API says", servers.client_get, "client.command:get_command", "PATH"
    ),
    "runtime": Command(
        "serve one model to other machines, in kith's roles",
        servers.runtime,
        "runtime.command:runtime_command",
    ),
    "why": Command("say why these models were asked", reports.why, "why:why_command", "[ID]"),
    "mcp": Command(
        "offer trials, reviews and applying to other agents (MCP)", servers.mcp, "mcp.command:mcp_command"
    ),
    "mcp list": Command(
        "list servers of tools for models, and what they cost",
        servers.mcp_list,
        "tool_servers:list_command",
    ),
    "mcp test": Command(
        "try these servers: every tool, what it takes and costs",
        servers.mcp_test,
        "tool_servers:test_command",
        "[NAME ...]",
    ),
    "acp": Command(
        "work in an editor: Zed, JetBrains, Neovim, Emacs (ACP)", servers.acp, "acp.command:acp_command"
    ),
    "edits": Command("apply edits that any model wrote", servers.parts, "cli:parts_command"),
    "edits apply": Command(
        "print the diff of a reply on standard input, or write it", edits.apply, "edits:apply_command"
    ),
    "diff": Command("show a change that was not applied", tasks.diff, "waiting:diff_command", "[ID]"),
    "apply": Command(
        "check a change that was not applied, and apply it", tasks.apply, "waiting:apply_command", "[ID]"
    ),
    "undo": Command("take an applied change back", tasks.undo, "commands:undo_command", "[ID]"),
    "sessions": Command(
        "list what was done, newest first", sessions.sessions, "sessions:sessions_command", "[WORD ...]"
    ),
    "sessions turns": Command("list what was said in one", sessions.turns, "sessions:turns_command", "ID"),
    "sessions fork": Command(
        "copy a conversation, up to a turn of it", sessions.fork, "sessions:fork_command", "ID"
    ),
    "sessions rename": Command("give one a name", sessions.rename, "sessions:rename_command", "ID NAME"),
    "sessions delete": Command("forget some for good", sessions.delete, "sessions:delete_command", "ID ..."),
    "export": Command("write a session to one file", reports.export, "export:export_command", "[ID]"),
    "models": Command("list the models that can be asked", models.models, "commands:models_command"),
    "models pull": Command("download a model", models.pull, "pull:pull_command", "REPO[:QUANT]"),
    "models recommend": Command(
        "say what fits this machine, and how to get it", models.recommend, "commands:recommend_command"
    ),
    "models prices": Command("show what models in the cloud cost", models.prices, "prices:prices_command"),
    "models probe": Command("measure what a model can do", models.probe, "probe:probe_command", "[MODEL]"),
    "bench": Command(
        "measure models here: speed, tools, edits, small tasks",
        models.bench,
        "bench:bench_command",
        "[MODEL ...]",
    ),
    "engine": Command(
        "show or stop kith's own engine", models.engine, "commands:engine_command", "[status|stop]"
    ),
    "doctor": Command("check servers, sandbox and folders", reports.doctor, "doctor:doctor_command"),
    "config": Command("show every setting and where it came from", config.show, "config:config_command"),
    "config get": Command("print the value of a setting", config.get, "config:get_command", "KEY"),
    "config set": Command(
        "write a setting into your configuration", config.set_, "config:set_command", "KEY VALUE ..."
    ),
    "config unset": Command(
        "take a setting out of your configuration", config.unset, "config:unset_command", "KEY"
    ),
    "trust": Command(
        "show what a folder brings along for kith, and let it count", reports.trust, "trust:trust_command"
    ),
    "permits": Command(
        "list commands that you allowed for good, and forget them",
        reports.permits,
        "permits:permits_command",
    ),
    "completion": Command(
        "print a script that completes names in your shell",
        reports.completion,
        "completion:completion_command",
        "bash|zsh|fish",
    ),
    "demo": Command(
        "see the whole path on a small project, no model needed", tasks.demo, "commands:demo_command"
    ),
}
ABOUT = """\
A local-first coding agent: it works in a trial of your tree, tests the change,
and asks you once. Without a command it opens a conversation in this folder."""
EXIT_CODES = """\
exit codes: 0 done, 1 failed, 2 usage, 3 rejected, 4 limit reached, 5 no model,
6 held back, 74 applied but not recorded, 75 try again later, 130 interrupted,
143 terminated"""


# What argparse says, and how kith says it. `-m/--model` is named by its long form.
_SAID = (
    (r"^argument (?:\S+/)?(\S+): invalid choice: (.+) \(choose from (.+)\)$", r"\1 takes one of \3, not \2"),
    (r"^argument (?:\S+/)?(\S+): not allowed with argument (?:\S+/)?(\S+)$", r"\1 and \2 exclude each other"),
    (r"^argument (?:\S+/)?(\S+): expected one argument$", r"\1 needs a value"),
    (r"^argument (?:\S+/)?(\S+): invalid (?:int|float) value: (.+)$", r"\1 takes a number, not \2"),
    (r"^argument (?:\S+/)?(\S+): ", r"\1: "),
)


class _Parser(argparse.ArgumentParser):
    """argparse, saying one sentence instead of its usage."""

    def error(self, message: str) -> NoReturn:
        for said, words in _SAID:
            message = re.sub(said, words, message)
        end = "" if message.endswith("?") else "."
        raise UsageError(f"{message[:1].upper()}{message[1:]}{end} See `{self.prog} --help`.")


def main(argv: Sequence[str]) -> int:
    """Run a command; returns its exit code. Whatever a person can mend is one sentence, never a traceback."""
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


def _tell_unknown_variables() -> None:
    """Variables that are called like settings and are none."""
    if not any(name.startswith("KITH_") for name in os.environ):
        return
    from kith.settings import unknown_variables

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
    from kith.view.lines import wrapped
    from kith.view.printing import printable

    with suppress(OSError):  # the exit code remains
        print(wrapped(f"kith: {printable(text)}", sys.stderr), file=sys.stderr, flush=True)


def _tell(error: KithError, format: str) -> None:
    """An error that ended a command: a sentence on stderr, and for `run` in its format on stdout."""
    _say(str(error))
    if format != "text":
        from kith.terminal.report import print_failure

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
    if " ".join(rest[:2]) in COMMANDS:
        return " ".join(rest[:2]), before + rest[2:]
    if rest and rest[0] in COMMANDS:
        _refuse_unknown_part(rest)
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


def _refuse_unknown_part(words: Sequence[str]) -> None:
    """`models pul` is no command: one that has parts was misspelt, unless it takes any words."""
    parts = _parts(words[0])
    if not parts or not words[1:] or words[1].startswith("-"):
        return
    takes_any = COMMANDS[words[0]].words.startswith("[WORD")
    close = difflib.get_close_matches(words[1], parts, 1, 0.8 if takes_any else 0.6)
    if takes_any and not close:
        return
    whole = ", ".join(f"{words[0]} {part}" for part in parts)
    hint = f"did you mean `kith {words[0]} {close[0]}`?" if close else f"there are: {whole}."
    raise UsageError(f"There is no command {' '.join(words[:2])!r}; {hint}")


def parts_command(args: argparse.Namespace) -> int:
    """A command that is nothing without one of its parts. Raises UsageError."""
    parts = ", ".join(_parts(args.whole))
    raise UsageError(f"kith {args.whole} is followed by one of {parts}. See `kith {args.whole} --help`.")


def _parts(name: str) -> list[str]:
    """The words that may follow a command's name, each to make another command."""
    return [each.removeprefix(f"{name} ") for each in COMMANDS if name and each.startswith(f"{name} ")]


def _list_commands(names: Iterable[str]) -> str:
    return "commands:\n" + "\n".join(f"  {name:17} {COMMANDS[name].meaning}" for name in names)


def _parser(name: str) -> argparse.ArgumentParser:
    command = COMMANDS.get(name, TALK)
    prog = f"kith {name}".strip()
    parts = [f"{name} {part}" for part in _parts(name)]
    meaning = f"{command.meaning[:1].upper()}{command.meaning[1:].rstrip(' .')}."
    usage = f"{prog} [OPTIONS] {command.words}" if name else "kith [OPTIONS]\n       kith COMMAND --help"
    parser = _Parser(
        prog=prog,
        usage=usage.rstrip(),
        description=meaning if name else f"{ABOUT}\n\n{_list_commands(COMMANDS)}",
        epilog=EXIT_CODES
        if name in ("", "run", "build", "apply")
        else _list_commands(parts)
        if parts
        else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.arguments(parser)
    return parser


def _parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Raises UsageError; an option that does not exist gets the name of the nearest."""
    args, unknown = parser.parse_known_args(words)
    if unknown:
        word = unknown[0].partition("=")[0]
        close = difflib.get_close_matches(word, re.findall(r"--[\w-]+", parser.format_help()), 1)
        parser.error(f"there is no {word!r} here" + (f"; did you mean {close[0]}?" if close else ""))
    return args


def _run(name: str, args: argparse.Namespace) -> int:
    if name == "" and args.version:
        from kith import __version__

        print(f"kith {__version__}")
        return 0
    module, _, function = COMMANDS.get(name, TALK).place.partition(":")
    with quick_loading():
        loaded = importlib.import_module(f"kith.terminal.{module}")
    run: Callable[[argparse.Namespace], int] = getattr(loaded, function)
    return run(args)
