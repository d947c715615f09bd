"""`kith demo`: plan, trial, tests, diff, question, apply, receipt and undo, on a small project of its own."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from importlib import resources
from pathlib import Path

from kith.agent.project import Project
from kith.agent.tasks import Task, run_task
from kith.core.event_loop import run_loop, run_until_signal
from kith.core.values import Answer, Question
from kith.memory.applied import short_id
from kith.terminal.report import print_text
from kith.terminal.terminal import PlainVoice, TerminalVoice
from kith.view.wording import question_text

TASK = "fix the failing test in test_stats.py"


def demo_command(args: argparse.Namespace) -> int:
    """The whole path on a small project."""
    return run_demo(args.model or "", args.keep)


def run_demo(model: str, keep: bool) -> int:
    """Run the demo, live with a model or with the recorded conversation; returns the task's exit code."""
    folder = Path(tempfile.mkdtemp(prefix="kith-demo-")).resolve()
    project = folder / "project"
    try:
        make_project(project)
        if not keep:
            os.environ["XDG_STATE_HOME"] = str(folder / "state")  # leaves no trace in the person's own log
        print(f"A small project with a failing test: {project}")
        if not model:
            model = f"replay/{resources.files('kith.features.demo') / 'conversation.json'}"
            print("No model is asked: its replies were recorded, its tokens are estimated. The rest is real.")
        print(f'\n$ kith run --show-plan "{TASK}"', flush=True)
        return _show(project, model, keep)
    finally:
        if keep:
            print(f"\nThe project is kept: cd {project}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _show(project: Path, model: str, keep: bool) -> int:
    app = Project.open(project, {"model": model})
    interactive = sys.stdin.isatty() and sys.stderr.isatty()
    voice = TerminalVoice() if sys.stderr.isatty() else PlainVoice()
    answerer = voice.answer if interactive else _agree
    with closing(voice):
        result = run_until_signal(run_task(app, Task(TASK, plan="show"), answerer, [voice.hear]))
    print_text(result.report, asked=True)
    if result.report["applied"] and not keep:
        print("\n$ kith undo")
        undone = run_loop(app.undo())
        print(f"Undid {short_id(undone.undoes)}; stats.py is as it was.")
    return result.code


async def _agree(question: Question) -> Answer:
    """Nobody can be asked: say yes, visibly, to this project of kith's own."""
    from rich.console import Console

    from kith.terminal.console_screen import ConsoleScreen
    from kith.terminal.show_change import show_changes

    if question.kind == "change":
        show_changes(ConsoleScreen(Console(stderr=True, highlight=False)), question.changes)
    answer = "all" if question.kind == "change" else "yes"
    print(f"{question_text(question)} (not a terminal: {answer})", file=sys.stderr)
    return Answer(answer)


def make_project(project: Path) -> None:
    """The demo's project: a module with a bug, its test, and a git repository where git is installed."""
    project.mkdir(parents=True)
    for name in ("stats.py", "test_stats.py"):
        source = resources.files("kith.features.demo") / f"{name}.txt"
        (project / name).write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    if shutil.which("git"):
        identity = ["-c", "user.name=kith demo", "-c", "user.email=demo@kith.invalid"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "A median that is wrong"]):
            subprocess.run(["git", *identity, *command], cwd=project, check=True)
