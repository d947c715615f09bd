"""`kith run`: read the task, and let git look at the tree while most of kith is loaded."""

import argparse
import errno
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from kith.agent.start_state import look_ahead
from kith.core.errors import UsageError
from kith.core.feature import Lazy, quick_loading
from kith.terminal.options import find_root

# The words of a task, from the command line and from standard input.

SILENCE_S = 3.0  # an open pipe that brings nothing for so long is not waited for, when there is a task
_EXAMPLE = 'kith run "fix the failing test in utils.py"'
_fill_template: Final[Lazy[Callable[[str, Sequence[str], Path], str]]] = Lazy(
    "kith.agent.templates:fill_template"
)
_read_plan: Final[Lazy[Callable[[Path, str], str]]] = Lazy("kith.terminal.saved_plan:read_saved_plan")
_do_task: Final[Lazy[Callable[[argparse.Namespace, Path, str], int]]] = Lazy(
    "kith.terminal.one_task:do_task"
)  # takes a third of a second to load
TASK_LIMIT = 200_000  # bytes: far more than any local window holds


def read_task(args: argparse.Namespace, root: Path, example: str = _EXAMPLE) -> str:
    """The task's words, and what was piped in. Raises UsageError when there are none, or far too many."""
    words = " ".join(filter(None, [args.prompt, *args.task])).strip()
    from_plan = getattr(args, "from_plan", None)  # of `kith run` alone
    _refuse_contradictions(args, words)
    if args.resume:
        return ""
    if args.template:
        return _fill_template.load()(args.template, args.task, root)
    if from_plan:
        return _read_plan.load()(Path(from_plan), words)
    piped = "" if sys.stdin.isatty() else _read_piped(wait=not words)
    task = f"{words}\n\n{piped}".strip() if words and piped else words or piped
    if not task:
        raise UsageError(f"What should be done? For example: {example}.")
    return task


def _refuse_contradictions(args: argparse.Namespace, words: str) -> None:
    """Refuse options that exclude each other. Raises UsageError."""
    if args.resume is not None and (words or args.template or args.plan != "no"):
        raise UsageError("--resume goes on with a session's own task; leave the new task and --plan out.")
    if getattr(args, "from_plan", None) and (args.resume is not None or args.template):
        raise UsageError("--from-plan begins a task of its own; leave --resume and --template out.")
    if args.resume == "":
        raise UsageError("--resume needs a session's id; `kith sessions` lists them.")
    if args.read_only and (args.check or args.plan != "no"):
        raise UsageError("--read-only changes nothing, so there is nothing to plan or to check.")


def _read_piped(wait: bool) -> str:
    """Text on standard input; an open pipe that stays silent is given up on when there is a task already."""
    import select

    stream = sys.stdin.buffer
    if not wait and sys.platform != "win32":
        try:
            if not select.select([stream], [], [], SILENCE_S)[0]:
                print(
                    f"kith: Nothing came on standard input in {SILENCE_S:.0f} s; it is left out.",
                    file=sys.stderr,
                )
                return ""
        except (OSError, ValueError):
            return ""
    try:
        data = stream.read(TASK_LIMIT + 1)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        return ""  # under nohup it can only be written to
    if len(data) > TASK_LIMIT:
        raise UsageError(
            f"The text on standard input is over the limit of {TASK_LIMIT:,} bytes; "
            "put it into a file and name the file in the task."
        )
    if b"\0" in data:
        raise UsageError("Standard input holds binary data; a task is text.")
    return data.decode("utf-8", "replace").strip()


def run_command(args: argparse.Namespace) -> int:
    """Do one task and print its result on stdout; progress goes to stderr."""
    root = find_root(args.folder)
    task = read_task(args, root)
    look_ahead(root)
    with quick_loading():
        do_task = _do_task.load()
    return do_task(args, root, task)
