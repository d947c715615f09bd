"""The doctor's round: every examination, and in which order it is told."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kith.agent.models import places_of
from kith.features.doctor import files, folders, machine, servers
from kith.features.doctor.check import Check, Examination, Tell, blocking, run_all
from kith.features.doctor.deep import deep_examinations
from kith.features.doctor.tests import look_for_checks


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
        blocking("files", lambda tell: files.check_files(settings, ward, tell)),
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
    return _grouped((files.check_choice(settings, ward), *found, *asked, configuration))


def _grouped(checks: Sequence[Check]) -> tuple[Check, ...]:
    """What was found out of one thing stands together, also what was asked later."""
    names = [check.name for check in checks]
    return tuple(sorted(checks, key=lambda check: names.index(check.name)))
