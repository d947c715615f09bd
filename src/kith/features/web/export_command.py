"""`kith export`: a session as one file, to keep or to send."""

import argparse
import json
import sys
from functools import partial
from pathlib import Path

from kith.core.errors import EXIT_DONE, UsageError
from kith.core.event_loop import run_loop
from kith.memory.live import LiveReader, Seen
from kith.memory.log import LOG_FILE, Log
from kith.memory.queries import roots_of
from kith.settings import load_settings
from kith.settings.features import check_extra
from kith.terminal.options import find_root
from kith.terminal.streams import write_output

FORMATS = ("html", "md", "json")


def export_command(args: argparse.Namespace) -> int:
    """Write the session to a file, or to stdout."""
    root = find_root(args.folder)
    log = Log(load_settings(root, {}).state / LOG_FILE)
    session = find_session(log, root, args.id or "last")
    told = _without_secrets(log, session, root, write_session(log, session, _format(args)))
    if args.output in (None, "-"):
        sys.stdout.write(told)
        return EXIT_DONE
    path = Path(args.output)
    write_output(path, told)
    print(f"Wrote {path}.", file=sys.stderr)
    return EXIT_DONE


def write_session(log: Log, session: str, format: str) -> str:
    """All that the log has of a session as "html", "md" or "json". Raises UsageError."""
    if format != "json":
        check_extra("web", f"kith export --format {format}")
    from kith.features.web.html.export import export_data, export_markdown, export_page
    from kith.features.web.part import draw_panels

    seen = read_session(log, session)
    if format == "json":
        return json.dumps(export_data(session, seen), indent=2) + "\n"
    if format == "html":
        return export_page(session, seen, partial(draw_panels, log, session))
    return export_markdown(session, seen)


def _without_secrets(log: Log, session: str, here: Path, told: str) -> str:
    """Remove the project's secrets, which a model may have read, from an export."""
    from kith.agent.asking.hidden import keep_secrets
    from kith.agent.project import Project

    places = [Path(root) for root in roots_of(log, session)]
    root = next((place for place in places if place.is_dir()), here)
    return run_loop(keep_secrets(Project.open(root, {}), told))


def read_session(log: Log, session: str) -> list[Seen]:
    """Every stored event of a session."""
    watch = LiveReader(log, session)
    found: list[Seen] = []
    while seen := watch.look():
        found += (each for each in seen if each.stored)
    return found


def find_session(log: Log, root: Path, wanted: str) -> str:
    """The session whose id begins so; "last": the newest one of this folder. Raises UsageError."""
    if wanted != "last":
        return log.find(wanted)
    for session in log.sessions(root, 1):
        return session.id
    raise UsageError(f"There was no session in {root} yet; a task begins with: kith run.")


def _format(args: argparse.Namespace) -> str:
    """As it was asked for, else as the file's name ends."""
    end = Path(args.output or "").suffix.removeprefix(".")
    return str(args.format or (end if end in FORMATS else FORMATS[0]))
