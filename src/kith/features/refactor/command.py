"""`kith refactor`: what could be better, and doing it: by syntax tree, or by a model behind locked tests."""

import argparse
import difflib
import json
import os
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from kith.agent.project import Project, Result
from kith.core.errors import EXIT_DONE, UsageError
from kith.core.run import Answerer
from kith.features.refactor.refactorings import (
    ACTIONS,
    Suggestion,
    apply_suggestion,
    find_suggestions,
    refactor,
    refactor_in_words,
)
from kith.memory.session import Listener
from kith.terminal.folder import find_root
from kith.terminal.options import settings_flags
from kith.terminal.report import print_text
from kith.terminal.signals import run_until_signal
from kith.terminal.terminal import choose_voice
from kith.view.lines import count, wrapped
from kith.view.printing import printable

_SHOWN = 20


def refactor_command(args: argparse.Namespace) -> int:
    """List suggestions, or change something; progress goes to stderr, the result to stdout."""
    root = find_root(args.folder)
    project = Project.open(root, settings_flags(args))
    words: list[str] = args.words
    action = words[0] if words and words[0] in ACTIONS else ""
    where = "" if action else _place(args.folder, words, root)
    if args.apply is None and (where or not words):
        _print_suggestions(run_until_signal(find_suggestions(project, where or ".")), args.json)
        return EXIT_DONE
    if args.apply is not None and words and not where:
        raise UsageError("--apply takes a suggestion's number and at most a PATH; leave the other words out.")

    def work(answerer: Answerer, listeners: Sequence[Listener]) -> Coroutine[Any, Any, Result]:
        if args.apply is not None:
            return apply_suggestion(project, where or ".", args.apply, answerer, listeners)
        if action:
            return refactor(project, _from_root(args.folder, words, root), answerer, listeners)
        said, locked = " ".join(words), not args.with_tests
        return refactor_in_words(project, said, answerer, listeners, tests_locked=locked)

    voice, answerer, asked = choose_voice(not args.json, args.yes)
    try:
        result = run_until_signal(work(answerer, [voice.hear]))
    finally:
        voice.close()
    if args.json:
        print(json.dumps(result.report, indent=2))
    else:
        print_text(result.report, asked=asked)
    return result.code


def _place(folder: str, words: Sequence[str], root: Path) -> str:
    """The file or folder that one word names, from the project's top; "" for words that say what to do.

    Raises UsageError for one word that names nothing, and for the name of a refactoring that is misspelt.
    """
    close = difflib.get_close_matches(words[0], ACTIONS, 1) if len(words) > 1 else []
    if close and (":" in words[1] or (Path(folder) / words[1]).exists()):
        raise UsageError(f"There is no refactoring {words[0]!r}; did you mean {close[0]}?")
    if len(words) != 1 or " " in words[0]:
        return ""
    path = Path(folder).resolve() / words[0]
    if not path.exists():
        raise UsageError(
            f"There is no file or folder {words[0]}; a refactoring is one of {', '.join(ACTIONS)}."
        )
    return _relative(folder, words[0], root)


def _from_root(folder: str, words: Sequence[str], root: Path) -> list[str]:
    """The words of an action with its paths as they are from the project's top."""
    kind, *given = words
    if not given:
        return [kind]
    path, colon, rest = given[0].partition(":")
    given[0] = _relative(folder, path, root) + colon + rest
    if kind == "move" and len(given) == 2:
        given[1] = _relative(folder, given[1], root)
    return [kind, *given]


def _relative(folder: str, path: str, root: Path) -> str:
    """A path as typed, from the project's top folder. Raises UsageError for one outside."""
    full = os.path.normpath(Path(folder).resolve() / path)
    found = os.path.relpath(full, root.resolve()).replace(os.sep, "/")
    if found.split("/")[0] == "..":
        raise UsageError(f"{path} is not in the project {root}.")
    return found


def _print_suggestions(suggestions: Sequence[Suggestion], as_json: bool) -> None:
    if as_json:
        print(json.dumps([each.describe(number) for number, each in enumerate(suggestions, 1)], indent=2))
        return
    if not suggestions:
        print("Nothing stands out.")
        return
    for number, each in enumerate(suggestions[:_SHOWN], 1):
        line = printable(f"{number:3}  {each.place}  {each.text}")
        print(wrapped(line, sys.stdout, indent="     "))
        print(printable(f"     {each.command(number)}{'' if each.wanted else '   (by the model)'}"))
    left = len(suggestions) - _SHOWN
    if left > 0:
        print(f"{count(left, 'more suggestion')}: --json shows all.")
