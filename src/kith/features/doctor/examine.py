"""The doctor's round: every examination, and in which order it is told."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kith.agent.checks import KnownCheck, known_checks
from kith.agent.models import places_of
from kith.features.doctor import folders, machine, servers
from kith.features.doctor.check import Check, Examination, Tell, blocking, run_all
from kith.features.doctor.deep import deep_examinations
from kith.settings import Settings

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

    visits = (
        *servers.server_examinations(settings, environ, ward),
        blocking("files", lambda tell: servers.check_files(settings, ward, tell)),
        blocking("memory", machine.check_memory),
        blocking("sandbox", lambda tell: machine.check_sandbox(root, settings, tell)),
        Examination("git", git),
        Examination("tests", tests, subject="The list of this project's files"),
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
