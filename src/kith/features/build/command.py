"""`kith build`, and a build on the screen of `kith status`."""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any, Final

from kith.agent.project import Project
from kith.core.event_loop import run_until_signal
from kith.core.run import new_id, short_session
from kith.features.build.builds import find_build, has_builds, resume_build, run_build, show_build
from kith.terminal.options import find_root, settings_flags
from kith.terminal.report import print_event, print_text, print_waiting, waiting_line
from kith.terminal.run import read_task
from kith.terminal.status import Underway
from kith.terminal.terminal import choose_voice
from kith.view.lines import count, wrapped

# A build as `kith status` shows it: tasks, attempts, gates, and what runs now.

_MARKS: Final = {"done": "✓", "active": "▸", "waiting": "·", "rolled back": "✗", "skipped": "-"}


def status_text(shown: dict[str, Any]) -> str:
    """A build on one screen."""
    interrupted = shown["status"] == "interrupted"
    hint = [f"  To go on: kith build --resume {short_session(shown['session'])}"] if interrupted else []
    hint += [f"  {waiting_line(shown['session'])}"] if shown.get("waiting") else []
    lines = [f"Build {short_session(shown['session'])}: {_state(shown)}", f"  {shown['request']}", *hint]
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


STATUS: Final = Underway(has_builds, find_build, show_build, status_text)


UNFINISHED = ("failed", "limit", "unavailable", "interrupted")


def build_command(args: argparse.Namespace) -> int:
    """Build what is asked for; progress goes to stderr, the result to stdout."""
    root = find_root(args.folder)
    request = read_task(args, root, 'kith build "add a --json option to list"')
    project = Project.open(root, settings_flags(args))
    format = args.output_format
    voice, answerer, asked = choose_voice(format == "text", args.yes)
    listeners = [voice.hear] if format != "stream-json" else [print_event]
    id = find_build(project, args.resume) if args.resume else new_id()
    work = (
        resume_build(project, id, answerer, listeners, agree=not args.yes)
        if args.resume
        else run_build(project, request, answerer, listeners, id=id, agree=not args.yes)
    )
    try:
        result = run_until_signal(work)
    except (SystemExit, KeyboardInterrupt):
        if format == "json":
            print(json.dumps(show_build(project.log, id), indent=2))
        elif format == "text":
            print_waiting(project.report(id))
        raise
    finally:
        voice.close()
    if format == "json":
        print(json.dumps(result.report, indent=2))
    elif format == "text":
        if result.report["build"]["tasks"]:
            print(wrapped(status_text(result.report["build"]), sys.stderr), file=sys.stderr)
        again = f"kith build --resume {short_session(id)}" if result.report["status"] in UNFINISHED else ""
        print_text(result.report, asked=asked, again=again)
    return result.code
