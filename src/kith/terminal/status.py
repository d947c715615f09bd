"""`kith status`: what checks this folder, which changes wait, and how its build stands, once or on and on."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from kith.agent.checks import KnownCheck, known_checks
from kith.agent.project import Project
from kith.agent.waiting_list import waiting_sessions
from kith.core.codec import encode
from kith.core.errors import EXIT_DONE
from kith.core.loops import run_loop
from kith.features.build.builds import find_build, has_builds, show_build
from kith.terminal.folder import find_root
from kith.terminal.report import waiting_line
from kith.view.evidence import word_standing
from kith.view.lines import brief, count, wrapped
from kith.view.printing import printable

_EVERY_S = 0.5
_SHOWN = 5  # changes that wait
_SHORT = 6  # characters of an id that people type
_MARKS = {"done": "✓", "active": "▸", "waiting": "·", "rolled back": "✗", "skipped": "-"}


def status_command(args: argparse.Namespace) -> int:
    """The check of this folder, waiting changes, and a build: tasks, attempts, gates, what runs now."""
    project = Project.open(find_root(args.folder), {})
    if not (args.id or args.watch or has_builds(project)):
        _tell_folder(project, args.json)
        return EXIT_DONE
    id = find_build(project, args.id or "")
    if args.watch:
        return _watch(project, id, args.json)
    _print(_show(project, id), args.json)
    if not args.json:
        print()
        _tell_checks(_checks(project))
        _tell_waiting(project, _waiting(project, id))
    return EXIT_DONE


def _show(project: Project, id: str) -> dict[str, Any]:
    shown = show_build(project.log, id)
    return {**shown, "waiting": not _is_running(shown) and project.waiting_in(id) is not None}


def _tell_folder(project: Project, as_json: bool) -> None:
    """A folder in which nothing was built: how changes are checked, and which of them wait."""
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
    other = (besides, *project.log.open_ids())
    found = waiting_sessions(project.settings.state, project.root)
    return [each for each in found if each not in other]


def _tell_waiting(project: Project, sessions: Sequence[str]) -> None:
    """The newest changes that wait, each with its task and what to do with it."""
    shown = sessions[:_SHOWN]
    titles = {each.id: each.title for each in project.log.sessions(None, 0, shown)}
    if shown:
        print(f"{count(len(sessions), 'change')} not applied:")
    for session in shown:
        id = session[:_SHORT]
        head, tail = f"  {id}  ", f"  kith diff {id}, kith apply {id}"
        print(f"{head}{brief(titles.get(session, ''), len(head) + len(tail), 16)}{tail}")
    if more := len(sessions) - len(shown):
        print(f"  and {more} more: kith sessions")


def _print(shown: dict[str, Any], as_json: bool) -> None:
    print(json.dumps(shown, indent=2) if as_json else wrapped(status_text(shown), sys.stdout))


def _watch(project: Project, id: str, as_json: bool) -> int:
    """Until nobody works on it any more: the screen anew, or a line of JSON for each change."""
    if as_json or not sys.stdout.isatty():
        return _tell_changes(project, id, as_json)
    from rich.live import Live
    from rich.text import Text

    with Live(auto_refresh=False, vertical_overflow="visible") as live:
        while True:
            shown = _show(project, id)
            live.update(Text(printable(status_text(shown)), no_wrap=False), refresh=True)
            if not _is_running(shown):
                return EXIT_DONE
            time.sleep(_EVERY_S)


def _is_running(shown: dict[str, Any]) -> bool:
    return bool(shown["status"] == "running")


def _tell_changes(project: Project, id: str, as_json: bool) -> int:
    told = ""
    while True:
        shown = _show(project, id)
        state = json.dumps(shown) if as_json else status_text(shown)
        if state != told:
            print(state, flush=True)
            told = state
        if not _is_running(shown):
            return EXIT_DONE
        time.sleep(_EVERY_S)


def status_text(shown: dict[str, Any]) -> str:
    """A build on one screen."""
    interrupted = shown["status"] == "interrupted"
    hint = [f"  To go on: kith build --resume {shown['session']}"] if interrupted else []
    hint += [f"  {waiting_line(shown['session'])}"] if shown.get("waiting") else []
    lines = [f"Build {shown['session']}: {_state(shown)}", f"  {shown['request']}", *hint]
    if shown["tasks"]:
        lines += ["", *(line for task in shown["tasks"] for line in _task_lines(task))]
    if shown["final"]:
        lines += ["", f"  the whole: {_gates(shown['final'])}"]
    lines += ["", *_metrics(shown)]
    return "\n".join(lines).rstrip()


def _state(shown: dict[str, Any]) -> str:
    now = shown["now"]
    if now:
        task = f" of task {now['task']}" if now["task"] else ""
        attempt = f", try {now['attempt']}" if now["attempt"] > 1 else ""
        doing = f", {now['doing']}" if now["doing"] else ""
        return f"{now['step']}{task}{attempt}, {now['seconds']:.0f} s{doing}"
    if shown["status"] == "interrupted":
        return f"interrupted before {shown['step']}"
    return str(shown["status"])


def _task_lines(task: dict[str, Any]) -> list[str]:
    attempts, tokens = task["attempts"], task["tokens"]
    tries = f"  {attempts} {'try' if attempts == 1 else 'tries'}" if attempts else ""
    spent = f"  {task['seconds']:.0f} s  {tokens['input'] + tokens['output']:,} tokens" if attempts else ""
    lines = [f"  {_MARKS.get(task['state'], '·')} {task['id']}. {task['title']}{tries}{spent}"]
    lines += [f"      {task['state']}: {task['why']}"] if task["why"] else []
    lines += [f"      {_gates(task['gates'])}"] if task["gates"] else []
    return lines


def _gates(gates: Sequence[dict[str, Any]]) -> str:
    return ", ".join(f"{gate['gate']} {_verdict(gate)}" for gate in gates)


def _verdict(gate: dict[str, Any]) -> str:
    figures, word = gate["figures"], "passed" if gate["ok"] else "failed"
    if gate["skipped"]:
        return "not checked"
    if gate["gate"] != "tests" or "tests" not in figures:
        return word
    return f"{word} ({figures['tests'] - figures.get('failed', 0):.0f} of {figures['tests']:.0f})"


def _metrics(shown: dict[str, Any]) -> list[str]:
    metrics = shown["metrics"]
    testing = metrics["seconds_in_tests"]
    lines = [f"  {shown['seconds']:.0f} s, of these {testing:.0f} s in the project's own build and tests"]
    if metrics["coverage_after"] is not None:
        before = metrics["coverage_before"]
        was = f"{before:.1f}% -> " if before is not None else ""
        lines.append(f"  coverage {was}{metrics['coverage_after']:.1f}%")
    for name, role in metrics["roles"].items():
        judged, tokens = role["good"] + role["bad"], role["tokens"]
        good = f", {role['good']} of {judged} good" if judged else ""
        used = tokens["input"] + tokens["output"]
        if used or judged:
            lines.append(f"  {name}: {count(role['steps'], 'step')}{good}, {used:,} tokens")
    return lines
