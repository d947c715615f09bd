"""`kith`: a conversation in a folder."""

import argparse
import sys
from pathlib import Path
from typing import Any

from kith.core.errors import UsageError
from kith.faces.arguments import settings_flags
from kith.faces.folder import find_root


def talk_command(args: argparse.Namespace) -> int:
    """A conversation in a folder. Raises UsageError where there is no terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError('A conversation needs a terminal; for one task: kith run "TASK".')
    return converse_with_person(find_root(args.folder), settings_flags(args))


def converse_with_person(root: Path, flags: dict[str, Any]) -> int:
    """Until the person leaves; returns 0 then."""
    from kith.faces.conversation.desk import Desk
    from kith.faces.conversation.modes import Beginning

    return Desk(root, flags, Beginning()).run()
