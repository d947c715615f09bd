"""`kith diff`, `kith apply` and `kith undo`: a change shown, applied after all, and undone."""

import argparse
import json
import os
import pydoc
import shutil
import sys
from collections.abc import Sequence

from kith.agent.project import Project
from kith.agent.waiting_changes import NothingWaits, apply_waiting, find_waiting
from kith.core.errors import EXIT_DONE
from kith.core.event_loop import run_loop, run_until_signal
from kith.core.values import FileChange
from kith.edits import summarise
from kith.memory.applied import short_id
from kith.terminal.options import find_root, settings_flags
from kith.terminal.rendering.diffs import changes_lines
from kith.terminal.rendering.look import Look
from kith.terminal.report import print_event, print_text
from kith.terminal.reverting import offer_revert
from kith.terminal.terminal import choose_voice
from kith.view.lines import count
from kith.view.printing import on_one_line
from kith.view.wording import word_size


def diff_command(args: argparse.Namespace) -> int:
    """Print a change that waits as a unified diff; on a terminal in colour, and in a pager."""
    project = Project.open(find_root(args.folder), {})
    try:
        waiting = run_loop(find_waiting(project, args.id or ""))
    except NothingWaits as nothing:
        print(f"kith: {nothing}", file=sys.stderr)
        return EXIT_DONE
    files = summarise(project.tree.waiting_change(waiting.name))
    if args.stat:
        _print_stat(files)
    elif sys.stdout.isatty():
        _page(files)
    else:
        sys.stdout.write("".join(file.diff for file in files))
    return EXIT_DONE


def apply_command(args: argparse.Namespace) -> int:
    """Judge a change that waits on the files as they are now, ask, and apply it."""
    project, format = Project.open(find_root(args.folder), settings_flags(args)), args.output_format
    waiting = run_loop(find_waiting(project, args.id or ""))
    voice, answerer, asked = choose_voice(format == "text", args.yes)
    listeners = [voice.hear] if format != "stream-json" else [print_event]
    try:
        result = run_until_signal(apply_waiting(project, waiting, answerer, listeners, yes=args.yes))
    finally:
        voice.close()
    if format == "json":
        print(json.dumps(result.report, indent=2))
    elif format == "text":
        print_text(result.report, asked=asked)
    return result.code


def undo_command(args: argparse.Namespace) -> int:
    """Take a change back and say which files were touched."""
    project = Project.open(find_root(args.folder), {})
    undone = run_loop(project.undo(args.id or ""))
    for file in undone.files:
        print(f"{on_one_line(file.path)}  +{file.added} -{file.removed}")
    print(
        f"Undid {short_id(undone.undoes)}, {count(len(undone.files), 'file')}. "
        f"Redo: kith undo {short_id(undone.change_id)}"
    )

    async def agree(question: str) -> bool:
        if args.yes or not sys.stdin.isatty():
            return bool(args.yes)
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")

    if told := run_loop(offer_revert(project, undone, agree)):
        print(told)
    return EXIT_DONE


def _print_stat(files: Sequence[FileChange]) -> None:
    for file in files:
        print(f"{on_one_line(file.path)}  +{file.added} -{file.removed}")
    print(word_size(files))


def _page(files: Sequence[FileChange]) -> None:
    look = Look.choose()
    os.environ.setdefault("LESS", "FRX")  # colours, and no pager for what fits, as git asks for them
    pydoc.pager(look.paint(changes_lines(files, shutil.get_terminal_size().columns, look.glyphs)))
