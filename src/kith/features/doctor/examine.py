"""The doctor's round: every examination, and in which order it is told."""

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kith.agent.checks import KnownCheck, known_checks
from kith.agent.linters import find_linters, lint_clues
from kith.agent.models import places_of
from kith.core.errors import KithError, ModelError
from kith.core.events import Event
from kith.core.model import Model, Prompt, Tool
from kith.core.run import Run
from kith.core.values import Sampling, ServerKind, ToolResult, say
from kith.features.doctor import folders, machine, servers
from kith.features.doctor.check import Check, Examination, Tell, blocking, closed, run_all
from kith.features.doctor.servers import Ward, bare, endpoint_of, title
from kith.models.discovery.cards import Card, cards
from kith.models.discovery.servers import Place, Places, Server, full_name
from kith.models.providers.ollama import Ollama
from kith.models.providers.openai_like import OpenAILike
from kith.settings import Settings
from kith.trees.bulk_read import read_files
from kith.trees.environment import environment_of, find_surroundings
from kith.trees.listing import list_files

# What only a question to the model shows: a real tool call, and what becomes of too long a prompt.


LIMIT_S: Final = 60.0
_LARGEST: Final = 65_536  # tokens: a longer prompt takes too long to send


async def _never(args: Mapping[str, Any], run: Run) -> ToolResult:
    raise AssertionError("the doctor runs no tool")


_PATHS: Final = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
_READ: Final = Tool("read", "Show a file.", _PATHS, "read", _never)


def deep_examinations(ward: Ward, *, deep: bool) -> Sequence[Examination]:
    """One for each server's first model; without `deep` a line that says what was not tested."""
    with_models = {place: server for place, server in ward.servers.items() if server.models}

    async def say_so(tell: Tell) -> None:
        text = (
            "Not tested, since models would have to be loaded: a real tool call, a prompt that is too long."
        )
        tell(Check("deep", "green", text, "kith doctor --deep"))

    if not deep:
        return [Examination("deep", say_so)] if with_models else []
    return [_asking(place, server, ward.places) for place, server in with_models.items()]


def _asking(place: Place, server: Server, places: Places) -> Examination:
    async def look(tell: Tell) -> None:
        card = server.models[0]  # one that is loaded comes first
        model = _open(server.kind, card, place)
        try:
            tell(await _try_call(model, card, place, full_name(server, card.name, places)))
            tell(await _try_overflow(model, server, card, place))
        except KithError as error:
            tell(Check(title(place), "red", closed(str(error)), "kith models"))

    return Examination(title(place), look, LIMIT_S, place.url, "try again when that server has nothing to do")


def _open(kind: ServerKind, card: Card, place: Place) -> Model:
    """The model with its running window: another one would make Ollama reload it."""
    if kind == "ollama":
        return Ollama(card.name, endpoint_of(place), card.window or None)
    return OpenAILike(card.name, endpoint_of(place), kind)


async def _try_call(model: Model, card: Card, place: Place, name: str) -> Check:
    """Test if a required tool is called; `name` is the model's for `kith -m`. Raises ModelError."""
    prompt = _prompt("Read the file notes.txt with your tool.", (_READ,), 256)
    calls = (await model(prompt, _ignore)).message.calls
    if calls and calls[0].name == _READ.name and not calls[0].fault:
        return Check(title(place), "green", f"{bare(card.name)} called a tool.")
    text = f"{bare(card.name)} called no tool, though it was asked to."
    return Check(title(place), "yellow", text, f"kith models probe {shlex.quote(name)}")


async def _try_overflow(model: Model, server: Server, card: Card, place: Place) -> Check:
    """Test if a prompt a quarter larger than the window is refused before it is read."""
    listed = await cards(server.kind, endpoint_of(place))
    window = next((each.window for each in listed if each.name == card.name), 0)
    if not 0 < window <= _LARGEST:
        text = (
            "the window is not known" if not window else f"a window of {window:,} tokens is too large for it"
        )
        return Check(title(place), "green", f"Whether too long a prompt is refused is not tested: {text}.")
    try:
        await model(_prompt("hello " * (window * 5 // 4), (), 1), _ignore)
    except ModelError as error:
        if error.overflow:
            return Check(title(place), "green", f"{bare(card.name)} refuses a prompt that is too long.")
        raise
    text = (
        f"{bare(card.name)} answered a prompt larger than its window: the server cuts, and does not say so."
    )
    return Check(
        title(place), "yellow", text, "kith stops such a turn; update the server, or enlarge its window"
    )


def _prompt(words: str, tools: tuple[Tool, ...], limit: int) -> Prompt:
    sampling = Sampling(temperature=0.0, max_tokens=limit)
    return Prompt("You are a careful programmer.", (say(words),), tools, "probe", sampling=sampling)


def _ignore(event: Event) -> None:
    """Nobody watches."""


# The doctor's round: every examination, and in which order it is told.


# Which command checks this project's changes, and how the untouched tree stood with it.

NAME = "tests"


async def look_for_checks(root: Path, settings: Settings) -> tuple[Check, ...]:
    """One line for each check, or that there is none."""
    if settings.check == ("none",):
        return (Check(NAME, "green", "Nothing is checked here (check = none)."),)
    known = await known_checks(root, settings)
    if not known:
        text = "kith found no tests in this folder; changes will be unproven."
        return (Check(NAME, "yellow", text, "kith run --check CMD, or `check` in the configuration"),)
    return tuple(_check(each) for each in known)


def _check(known: KnownCheck) -> Check:
    stands = known.stands
    if stands is None:
        return Check(NAME, "green", f"Changes are checked with `{known.command}` ({known.why}).")
    failed = f", {stands.failed:,} fail without any change" if stands.failed else ""
    text = (
        f"Changes are checked with `{known.command}`: {stands.passed:,} pass{failed}, {stands.seconds:.0f} s."
    )
    return Check(NAME, "green", text)


# Which linters and type checkers look at this project's changes.


async def look_for_linters(root: Path, settings: Settings) -> Check:
    """One line: those that are there, those that are missing, and whether types are checked."""
    if settings.lint == "off":
        return Check("linters", "green", "No linter looks at changes (lint = off).")
    files = await list_files(root)
    linters = find_linters(files, read_files(root, lint_clues(files)).get)
    folders = (environment_of(root, find_surroundings(root), {})["PATH"], str(root / "node_modules" / ".bin"))
    path = os.pathsep.join(folders)
    there = [each for each in linters if shutil.which(each.program or each.name, path=path)]
    missing = ", ".join(each.name for each in linters if each not in there)
    parts = [
        f"Changes are linted by {', '.join(each.name for each in there)}."
        if there
        else "No linter is there.",
        f"Not installed: {missing}." if missing else "",
        ""
        if any(each.kind == "types" for each in there)
        else "No type checker is there, so types are not checked.",
    ]
    return Check("linters", "green", " ".join(filter(None, parts)))


async def examine(
    root: Path, flags: Mapping[str, Any], environ: Mapping[str, str] = os.environ, *, deep: bool = False
) -> tuple[Check, ...]:
    """Look at everything, all at once, in less than five seconds.

    `deep` also asks the models themselves, which may load one and take minutes. Raises UsageError where there
    is no home folder.
    """
    settings, configuration = folders.check_configuration(root, flags, environ)
    ward = servers.Ward(places=places_of(settings))

    terminal = sys.__stdout__ or sys.stdout  # whoever shows a status meanwhile stands before sys.stdout

    async def git(tell: Tell) -> None:
        await machine.check_git(root, tell)

    async def tests(tell: Tell) -> None:
        for check in await look_for_checks(root, settings):
            tell(check)

    async def linters(tell: Tell) -> None:
        tell(await look_for_linters(root, settings))

    visits = (
        *servers.server_examinations(settings, environ, ward),
        blocking("files", lambda tell: servers.check_files(settings, ward, tell)),
        blocking("memory", machine.check_memory),
        blocking("sandbox", lambda tell: machine.check_sandbox(root, settings, tell)),
        Examination("git", git),
        Examination("tests", tests, subject="The list of this project's files"),
        Examination("linters", linters, subject="The list of this project's files"),
        blocking("search", machine.check_search),
        blocking("disk", lambda tell: folders.check_disk(settings, tell)),
        blocking("log", lambda tell: folders.check_log(settings, tell)),
        blocking("terminal", lambda tell: machine.check_terminal(terminal, environ, tell)),
        blocking("proxy", lambda tell: machine.check_proxies(environ, tell)),
        blocking("start", machine.check_start),
    )
    found = await run_all(visits)
    asked = await run_all(deep_examinations(ward, deep=deep))
    return _grouped((servers.check_choice(settings, ward), *found, *asked, configuration))


def _grouped(checks: Sequence[Check]) -> tuple[Check, ...]:
    """Group the results by subject, including later ones."""
    names = [check.name for check in checks]
    return tuple(sorted(checks, key=lambda check: names.index(check.name)))
