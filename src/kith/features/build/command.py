"""`kith build`: from a request to tested code, as text, JSON or a stream of events."""

import argparse
import json
import sys

from kith.agent.project import Project
from kith.core.run import new_id
from kith.features.build.builds import find_build, resume_build, run_build, show_build
from kith.features.build.status import status_text
from kith.terminal.arguments import settings_flags
from kith.terminal.folder import find_root
from kith.terminal.report import print_event, print_text, print_waiting
from kith.terminal.signals import run_until_signal
from kith.terminal.task_input import read_task
from kith.terminal.terminal import choose_voice
from kith.view.lines import wrapped

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
        again = f"kith build --resume {id}" if result.report["status"] in UNFINISHED else ""
        print_text(result.report, asked=asked, again=again)
    return result.code
