"""`kith browse`: a page, or results, exactly as a model gets them."""

import argparse
import sys

from kith.agent.project import Project
from kith.core.errors import EXIT_DONE, EXIT_FAILED, UsageError
from kith.core.event_loop import run_until_signal
from kith.features.browse.tools import make_web
from kith.terminal.options import find_root
from kith.view.printing import printable


def browse_command(args: argparse.Namespace) -> int:
    """Show it. Raises UsageError offline, and for a search without an engine."""
    project = Project.open(find_root(args.folder), {"offline": args.offline})
    if project.settings.offline:
        raise UsageError("No page is fetched offline; leave --offline out, or set offline to false.")
    web = make_web(project)
    if args.search and not web.engine:
        raise UsageError("There is no search engine yet: kith config set browse.search http://host:8888")
    wanted = {"query": args.words} if args.search else {"url": args.words, "start": args.start}
    looked = web.judge(wanted)
    if looked.refusal:
        raise UsageError(looked.refusal)
    answer = run_until_signal(web.read(looked.args, web.characters))
    print(printable(answer.text), file=sys.stdout if answer.ok else sys.stderr)
    return EXIT_DONE if answer.ok else EXIT_FAILED
