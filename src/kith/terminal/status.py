"""`kith status`: what checks this folder, which changes wait, and how long work stands, once or on and on."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from kith.agent.checks import KnownCheck, known_checks
from kith.agent.kept_trial import has_killed, waiting_sessions
from kith.agent.project import Project
from kith.agent.waiting_changes import save_killed
from kith.core.codec import encode
from kith.core.errors import EXIT_DONE
from kith.core.event_loop import run_loop
from kith.core.feature import Feature, Lazy
from kith.core.run import short_session
from kith.memory.log import Log
from kith.settings.features import find_part, need_part
from kith.terminal.options import find_root
from kith.view.evidence import word_standing
from kith.view.lines import brief, count, wrapped
from kith.view.printing import printable

_EVERY_S = 0.5
_SHOWN = 5  # changes that wait


class Underway(Struct, frozen=True):
    """Work of a feature that takes long, such as a build: as plain data, and as text on one screen.

    `there` says whether there was any in a folder; `find` takes the beginning of a session's id, "" for the
    last one, and raises UsageError. Of what `show` says, "status" is "running" while it goes on.
    """

    there: Callable[[Project], bool]
    find: Callable[[Project, str], str]
    show: Callable[[Log, str], dict[str, Any]]
    text: Callable[[dict[str, Any]], str]


def _underway(feature: Feature) -> Lazy[Underway] | None:
    return feature.status


def status_command(args: argparse.Namespace) -> int:
    """The check of this folder, waiting changes, and long work: how far it is, and what runs now."""
    project = Project.open(find_root(args.folder), {})
    asked = "kith status ID" if args.id else "kith status --watch" if args.watch else ""
    work = need_part(_underway, asked) if asked else find_part(_underway)
    if work is None or not (asked or work.there(project)):
        _tell_folder(project, args.json)
        return EXIT_DONE
    id = work.find(project, args.id or "")
    if args.watch:
        return _watch(project, work, id, args.json)
    shown = _show(project, work, id)
    print(json.dumps(shown, indent=2) if args.json else wrapped(work.text(shown), sys.stdout))
    if not args.json:
        print()
        _tell_checks(_checks(project))
        _tell_waiting(project, _waiting(project, id))
    return EXIT_DONE


def _show(project: Project, work: Underway, id: str) -> dict[str, Any]:
    shown = work.show(project.log, id)
    return {**shown, "waiting": not _is_running(shown) and project.waiting_in(id) is not None}


def _tell_folder(project: Project, as_json: bool) -> None:
    """A folder without such work: how changes are checked, and which of them wait."""
    checks, waiting = _checks(project), _waiting(project)
    if as_json:
        print(
            json.dumps({"session": None, "now": None, "checks": encode(checks), "waiting": waiting}, indent=2)
        )
        return
    _tell_checks(checks)
    _tell_waiting(project, waiting)


def _checks(project: Project) -> tuple[KnownCheck, ...]:
    return run_loop(known_checks(project.root, project.settings))


def _tell_checks(checks: Sequence[KnownCheck]) -> None:
    for each in checks:
        stands = f"{word_standing(each.stands)} before any change" if each.stands else "not run yet"
        print(wrapped(f"Check: {each.command}  ({each.why})\n  {stands}", sys.stdout))
    if not checks:
        print("Check: none. kith found no tests in this folder; name one with --check CMD.")


def _waiting(project: Project, besides: str = "") -> list[str]:
    """The sessions of this folder whose change waits."""
    at_work = project.log.open_ids()
    if has_killed(project.settings.state, project.root, at_work):
        run_loop(save_killed(project))
    other = (besides, *at_work)
    found = waiting_sessions(project.settings.state, project.root)
    return [each for each in found if each not in other]


def _tell_waiting(project: Project, sessions: Sequence[str]) -> None:
    """The newest changes that wait, each with its task and what to do with it."""
    shown = sessions[:_SHOWN]
    titles = {each.id: each.title for each in project.log.sessions(None, 0, shown)}
    if shown:
        print(f"{count(len(sessions), 'change')} not applied:")
    for session in shown:
        id = short_session(session)
        head, tail = f"  {id}  ", f"  kith diff {id}, kith apply {id}"
        print(f"{head}{brief(titles.get(session, ''), len(head) + len(tail), 16)}{tail}")
    if more := len(sessions) - len(shown):
        print(f"  and {more} more: kith sessions")


def _watch(project: Project, work: Underway, id: str, as_json: bool) -> int:
    """Until nobody works on it any more: the screen anew, or a line of JSON for each change."""
    if as_json or not sys.stdout.isatty():
        return _tell_changes(project, work, id, as_json)
    from rich.live import Live
    from rich.text import Text

    with Live(auto_refresh=False, vertical_overflow="visible") as live:
        while True:
            shown = _show(project, work, id)
            live.update(Text(printable(work.text(shown)), no_wrap=False), refresh=True)
            if not _is_running(shown):
                return EXIT_DONE
            time.sleep(_EVERY_S)


def _is_running(shown: dict[str, Any]) -> bool:
    return bool(shown["status"] == "running")


def _tell_changes(project: Project, work: Underway, id: str, as_json: bool) -> int:
    told = ""
    while True:
        shown = _show(project, work, id)
        state = json.dumps(shown) if as_json else work.text(shown)
        if state != told:
            print(state, flush=True)
            told = state
        if not _is_running(shown):
            return EXIT_DONE
        time.sleep(_EVERY_S)
