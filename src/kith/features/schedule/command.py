"""`kith schedule`: make, list, run and remove tasks at fixed times."""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import asdict

from kith.agent.kept_trial import waiting_sessions
from kith.agent.project import Project, Result
from kith.agent.tasks import Task, run_in
from kith.core.codec import decode_event
from kith.core.errors import EXIT_DONE, BusyError, KithError, UsageError
from kith.core.event_loop import run_until_signal
from kith.core.events import Event
from kith.core.locks import let_go
from kith.core.run import short_session
from kith.features.schedule.schedules import Schedule, Scheduled, Schedules, useful_variables
from kith.features.schedule.timers import Timer, find_timer, needs_linger, timer_of
from kith.features.schedule.when import When, read_when
from kith.memory.log import LOG_FILE, Log
from kith.memory.receipt import describe_run
from kith.settings.files import find_folders
from kith.terminal.options import find_root, settings_flags
from kith.terminal.report import print_receipt, waiting_line
from kith.terminal.sessions import date_of
from kith.terminal.terminal import PlainVoice
from kith.view.lines import brief, count, first_line, wrapped
from kith.view.printing import printable

_EXAMPLE: Final = 'kith schedule "every night" "update the changelog"'
_MOST: Final = 500  # sessions that are searched for the last run of a schedule
_INDENT: Final = " " * 8


class LastRun(Struct, frozen=True):
    """The newest run of a schedule: its session, when it began, and its end."""

    session: str
    at: float
    status: str
    text: str
    files: int = 0
    waits: bool = False


# --- make one -----------------------------------------------------------------------------------


def schedule_command(args: argparse.Namespace) -> int:
    """List the schedules, or make one."""
    schedules = _schedules()
    if args.words in ([], ["list"]):
        return _list(schedules, args.json)
    when, task = args.words[0], " ".join(args.words[1:]).strip()
    times = read_when(when)
    if not task:
        raise UsageError(f"What should be done then? For example: {_EXAMPLE}.")
    project = Project.open(find_root(args.folder), settings_flags(args))  # finds what is wrong with it now
    timer = find_timer()
    timer.check(times)
    flags = {key: value for key, value in settings_flags(args).items() if value is not None}
    variables = useful_variables(os.environ)
    own = Schedule(schedules.free_id(), when, task, str(project.root), timer.kind, flags, variables)
    schedules.save(own)
    try:
        timer.add(own.id, times)
    except KithError:
        schedules.remove(own)
        raise
    _tell_made(own, times, timer)
    return EXIT_DONE


def _tell_made(own: Schedule, times: When, timer: Timer) -> None:
    upcoming = _next(times)
    print(f"{own.id}  {printable(own.when)}{f', next {upcoming}' if upcoming else ''}")
    by = "a systemd user timer" if timer.kind == "systemd" else "your crontab"
    words = f"Started by {by}. Its changes wait for you: kith schedule, kith sessions."
    if timer.kind == "systemd" and needs_linger():
        words += " It runs only while you are logged in; loginctl enable-linger changes that."
    _tell(words)


def _next(times: When) -> str:
    """The next time in words, "" where only systemd knows it."""
    upcoming = times.after(datetime.now())
    return upcoming.strftime("%a %Y-%m-%d %H:%M") if upcoming else ""


def _schedules() -> Schedules:
    _, state, _ = find_folders()
    return Schedules(state)


# --- list them ----------------------------------------------------------------------------------


def _list(schedules: Schedules, as_json: bool) -> int:
    every = schedules.all()
    runs = find_last_runs({each.id for each in every})
    if as_json:
        rows = [_row(each, runs.get(each.id), schedules) for each in every]
        print(json.dumps(rows, indent=2))
        return EXIT_DONE
    for each in every:
        for line in _lines(each, runs.get(each.id), schedules.fault(each)):
            print(line)
    if not every:
        print(f"No schedules yet. For example:\n  {_EXAMPLE}", file=sys.stderr)
    return EXIT_DONE


def find_last_runs(ids: set[str]) -> dict[str, LastRun]:
    """The newest run of each schedule, from the log."""
    _, state, _ = find_folders()
    if not ids or not (state / LOG_FILE).exists():
        return {}
    log, found = Log(state / LOG_FILE), dict[str, LastRun]()
    waiting, working = set(waiting_sessions(state)), set(log.open_ids())
    for session in reversed(log.having(Scheduled.__name__)[-_MOST:]):
        _, at, _, kind, body = log.rows(session, 0, 1)[0]
        event = decode_event(kind, body)
        if not isinstance(event, Scheduled) or event.schedule in found or event.schedule not in ids:
            continue
        report = describe_run(session, log.past(session))
        status = "running" if session in working else report["status"]
        waits = session in waiting and session not in working
        run = LastRun(session, at, status, report["text"], len(report["changes"]), waits)
        found[event.schedule] = run
        if len(found) == len(ids):
            break
    return found


def _row(schedule: Schedule, last: LastRun | None, schedules: Schedules) -> dict[str, Any]:
    """A schedule as JSON."""
    told = {key: getattr(schedule, key) for key in ("id", "when", "task", "root", "timer")}
    upcoming = read_when(schedule.when).after(datetime.now())
    return {
        **told,
        "installed": timer_of(schedule.timer).has(schedule.id),
        "next": upcoming.isoformat() if upcoming else None,
        "last": asdict(last) if last else None,
        "fault": schedules.fault(schedule) or None,
    }


def _lines(schedule: Schedule, last: LastRun | None, fault: str) -> Iterator[str]:
    """A schedule for a person: its times, its task, and its last run."""
    upcoming = _next(read_when(schedule.when))
    when = f"{printable(schedule.when)}{f', next {upcoming}' if upcoming else ''}"
    yield f"{schedule.id}  {when}"
    yield f"{_INDENT}{brief(f'{_short_root(schedule.root)}: {first_line(schedule.task)}', len(_INDENT))}"
    if not timer_of(schedule.timer).has(schedule.id):
        yield f"{_INDENT}its timer is gone; kith schedule remove {schedule.id}, and make it again"
    if fault:
        yield f"{_INDENT}did not start: {brief(fault, len(_INDENT) + 15)}"
    if last:
        head = f"{_INDENT}{date_of(last.at)}  {short_session(last.session)}  "
        yield head + _end(last, len(head))
    elif not fault:
        yield f"{_INDENT}has not run yet"


def _end(last: LastRun, beside: int) -> str:
    if last.waits:
        files = f"{count(last.files, 'file')} changed" if last.files else "a change"
        return f"{files}, waits: kith diff {short_session(last.session)}"
    words = f"{last.status}: {first_line(last.text)}" if last.text else last.status
    return brief(words, beside)


def _short_root(root: str) -> str:
    home = os.environ.get("HOME", "")
    return f"~{root.removeprefix(home)}" if home and root.startswith(f"{home}/") else root


# --- remove and run -------------------------------------------------------------------------------


def remove_command(args: argparse.Namespace) -> int:
    """Remove a schedule and its timer; what ran for it stays."""
    schedules = _schedules()
    own = schedules.find(args.id)
    timer_of(own.timer).remove(own.id)
    schedules.remove(own)
    print(f"Removed {own.id}. Its sessions and waiting changes stay: kith sessions")
    return EXIT_DONE


def run_command(args: argparse.Namespace) -> int:
    """Run a schedule's task now, as its timer does: nobody is asked, and nothing is applied."""
    schedules = _schedules()
    own = schedules.find(args.id)
    lock = schedules.hold(own)
    if lock is None:
        raise BusyError(f"Schedule {own.id} still runs.")
    try:
        os.environ.update(own.variables)
        result = _run(own)
        schedules.keep_fault(own, "")
    except KithError as error:
        schedules.keep_fault(own, str(error))
        raise
    finally:
        let_go(lock)
    report = result.report
    if report["waiting"]:
        _tell(waiting_line(report["session"]))
    elif report["text"]:
        print(wrapped(report["text"], sys.stdout))
    print_receipt(report)
    return EXIT_DONE if report["waiting"] else result.code


def _run(own: Schedule) -> Result:
    root = Path(own.root)
    if not root.is_dir():
        raise UsageError(f"The folder of schedule {own.id} is gone: {own.root}")
    project = Project.open(root, own.options)
    voice = PlainVoice()
    with project.session() as session:
        session.listeners.append(voice.hear)
        session.emit(cast(Event, Scheduled(own.id)))
        return run_until_signal(run_in(project, session, Task(own.task), voice.answer))


def _tell(words: str) -> None:
    print(wrapped(printable(words), sys.stderr), file=sys.stderr, flush=True)
