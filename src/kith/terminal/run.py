"""`kith run`: git looks at the tree while most of kith is loaded."""

import argparse

from kith.agent.beginning import look_ahead
from kith.core.loading import quick_loading
from kith.terminal.folder import find_root
from kith.terminal.task_input import read_task


def run_command(args: argparse.Namespace) -> int:
    """Do one task and print its result on stdout; progress goes to stderr."""
    root = find_root(args.folder)
    task = read_task(args, root)
    look_ahead(root)
    with quick_loading():
        from kith.terminal.one_task import do_task  # takes a third of a second to load

    return do_task(args, root, task)
