"""`kith edits apply`: turn a model's reply on standard input into a diff, or an error for the model."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from kith.agent.outside_edits import Given, read_edits, shown, warnings_for, write_edits
from kith.agent.project import Project
from kith.core.errors import EXIT_DONE, EXIT_FAILED, EXIT_REJECTED, TreeError, UsageError
from kith.core.event_loop import run_loop
from kith.edits import EditError, NothingToChange
from kith.memory.applied import short_id
from kith.terminal.options import find_root
from kith.view.lines import count
from kith.view.printing import printable

_LONGEST = 16_000_000  # bytes of a reply


def apply_command(args: argparse.Namespace) -> int:
    """Print the diff that a reply amounts to, and with --write make it; or print the letter, and exit 1."""
    text = _read_reply()
    root = find_root(args.root)
    project = Project.open(root, {"sandbox": "off", "allow_file": args.allow_file})  # no command is run
    folder = _folder_in(root, Path(args.root).resolve())
    given = Given(text, args.finish_reason, args.format, args.path.removeprefix("./"), folder)
    try:
        changes = run_loop(read_edits(project, given))
    except NothingToChange as nothing:
        print(nothing, file=sys.stderr)
        return EXIT_DONE
    except (EditError, TreeError) as error:
        _print(f"{error}\n")
        return EXIT_FAILED
    _print("".join(shown(changes, folder)))
    if args.write:
        if not _may_write(warnings_for(project, changes)):
            return EXIT_REJECTED
        applied = run_loop(write_edits(project, changes, "edits apply"))
        sys.stdout.flush()
        taken = f"Undo: kith undo {short_id(applied.change_id)}"
        print(f"Applied {count(len(changes), 'file')}.  {taken}", file=sys.stderr)
    return EXIT_DONE


def _may_write(warnings: Mapping[str, str]) -> bool:
    """Name the files that run by themselves; whoever is there to be asked has to agree to them."""
    for path, who in warnings.items():
        print(f"Careful with {printable(path)}: {who}.", file=sys.stderr)
    if not warnings or not sys.stderr.isatty():
        return True
    try:
        with Path("/dev/tty").open() as terminal:  # standard input is the reply
            print("Apply it all the same? [y/n] ", end="", file=sys.stderr, flush=True)
            return terminal.readline().strip().lower() in ("y", "yes")
    except OSError:
        return True


def _read_reply() -> str:
    if sys.stdin.isatty():
        raise UsageError("The reply is read from standard input: kith edits apply < reply.txt")
    data = sys.stdin.buffer.read(_LONGEST + 1)
    if len(data) > _LONGEST:
        raise UsageError(f"The reply is over the limit of {_LONGEST:,} bytes.")
    return data.decode("utf-8", "surrogateescape")


def _folder_in(root: Path, folder: Path) -> str:
    """A folder of the project as the beginning of its files' paths."""
    return "" if folder == root else f"{folder.relative_to(root).as_posix()}/"


def _print(text: str) -> None:
    """Byte for byte into a file or a pipe, where a diff has to apply; made visible on a terminal."""
    sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
