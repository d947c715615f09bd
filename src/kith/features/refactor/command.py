"""`kith refactor`: suggest refactorings, and make them by syntax tree or by a model behind locked tests."""

import argparse
import difflib
import json
import os
import sys
from collections.abc import Coroutine, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from kith.agent.asking.cast import open_cast
from kith.agent.attempt import Outcome, adopt_ready
from kith.agent.project import Project, Result
from kith.core.errors import EXIT_DONE, UsageError
from kith.core.event_loop import run_until_signal
from kith.core.events import Event, Notice
from kith.core.run import Answerer, Run, new_id, quiet_run
from kith.core.workspace import ExecLimits
from kith.features.refactor.by_model import Rules, is_executed, refactor_by_model, word_suggestion
from kith.features.refactor.by_syntax import FORMS, Wanted, make_refactoring, read_wanted
from kith.features.refactor.suggest import RefactoringSuggestion, pick, suggest
from kith.features.testgen.generate import TestgenRequest, generate_tests
from kith.memory.session import Listener
from kith.terminal.options import find_root, settings_flags
from kith.terminal.report import print_text
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
    with closing(voice):
        result = run_until_signal(work(answerer, [voice.hear]))
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


def _print_suggestions(suggestions: Sequence[RefactoringSuggestion], as_json: bool) -> None:
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


# --- the tasks -------------------------------------------------------------------------------


KIND = "refactor"
ACTIONS = tuple(FORMS)
DONE = "Done, without a model."


async def find_suggestions(project: Project, where: str = ".") -> tuple[RefactoringSuggestion, ...]:
    """Find what could be better in a file or folder, the worst first. Raises UsageError."""
    return await suggest(quiet_run(project.tree), where)


async def refactor(
    project: Project, words: Sequence[str], answerer: Answerer, listeners: Sequence[Listener] = ()
) -> Result:
    """Do what `rename PATH:NAME NEW` and its like say. Raises UsageError for words of another form."""
    return await _refactor(project, read_wanted(words), " ".join(words), answerer, listeners)


async def _refactor(
    project: Project, wanted: Wanted, words: str, answerer: Answerer, listeners: Sequence[Listener]
) -> Result:
    project.check_writable()

    async def do(run: Run) -> Outcome:
        made = await make_refactoring(run, wanted)
        for note in made.notes:
            run.emit(Notice(note))
        return await adopt_ready(run, made.changes, project.judges(run, words), DONE)

    return await project.perform(f"refactor {words}", KIND, do, answerer, listeners)


async def apply_suggestion(
    project: Project, where: str, number: int, answerer: Answerer, listeners: Sequence[Listener] = ()
) -> Result:
    """Apply one suggestion: by kith where it can, else by a model, behind tests that run the code.

    Where none do, tests are written first, and kept if the person says so. Raises UsageError.
    """
    project.check_writable()
    chosen = pick(await find_suggestions(project, where), number)
    if chosen.wanted:
        return await _refactor(project, chosen.wanted, f"{chosen.place}: {chosen.text}", answerer, listeners)
    if chosen.smell.kind == "function" and _is_held(project):
        untested = await _write_tests_first(project, chosen, answerer, listeners)
        if untested:
            return untested
    return await _by_model(project, chosen, answerer, listeners)


async def refactor_in_words(
    project: Project,
    words: str,
    answerer: Answerer,
    listeners: Sequence[Listener] = (),
    *,
    tests_locked: bool = True,
) -> Result:
    """Let a model refactor what a person says. Raises UsageError."""
    project.check_writable()
    return await _by_model(project, words, answerer, listeners, tests_locked)


def _is_held(project: Project) -> bool:
    """False when the person said that nothing is to be checked."""
    return project.settings.check != ("none",)


async def _by_model(
    project: Project,
    what: RefactoringSuggestion | str,
    answerer: Answerer,
    listeners: Sequence[Listener],
    tests_locked: bool = True,
) -> Result:
    id = new_id()

    async def do(run: Run) -> Outcome:
        words = what if isinstance(what, str) else await word_suggestion(run, what)
        async with open_cast(project, run, id) as cast:
            rules = Rules(_is_held(project), tests_locked)
            return await refactor_by_model(run, cast, words, project.judges(run), rules)

    title = what if isinstance(what, str) else f"{what.place}: {what.text}"
    return await project.perform(f"refactor {title}", KIND, do, answerer, listeners, id)


async def _write_tests_first(
    project: Project, chosen: RefactoringSuggestion, answerer: Answerer, listeners: Sequence[Listener]
) -> Result | None:
    """Tests for a function that none runs; how that ended when they were not kept, None when all is well."""
    limits = ExecLimits(seconds=project.settings.check_timeout)

    def tell(event: Event, path: tuple[str, ...] = ()) -> None:
        for listener in listeners:
            listener(event, path)

    run = Run(tell, answerer, project.tree)
    if not project.tree.confined or await is_executed(run, chosen, limits) is not False:
        return None
    smell = chosen.smell
    tell(Notice(f"No test runs {smell.name}; write tests of what it does now first."))
    told = await generate_tests(project, TestgenRequest(f"{smell.path}::{smell.name}"), answerer, listeners)
    return None if told.result and told.result.report["applied"] else told.result
