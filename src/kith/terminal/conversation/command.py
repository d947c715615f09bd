"""`kith`: a conversation in a folder."""

import argparse
import os
import sys
from pathlib import Path

from kith.core.errors import UsageError
from kith.settings import find_folders, load_settings
from kith.terminal.arguments import settings_flags
from kith.terminal.conversation.app import ConversationApp
from kith.terminal.folder import find_root
from kith.terminal.streams import is_lively


def talk_command(args: argparse.Namespace) -> int:
    """A conversation in a folder. Raises UsageError where there is no terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError('A conversation needs a terminal; for one task: kith run "TASK".')
    plain = args.plain or not is_lively(sys.stdout) or _reads_aloud()
    root = find_root(args.folder)
    return ConversationApp(root, settings_flags(args), args.mode, args.resume, plain=plain).run()


def _reads_aloud() -> bool:
    """Whether the person uses a screen reader; all else that they chose is read after the first key."""
    if said := os.environ.get("KITH_SCREEN_READER"):
        return said.lower() in ("1", "true", "yes")
    for name in ("config.toml", "config.yaml"):
        try:
            text = (find_folders()[0] / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if "screen_reader" in text:
            return load_settings(Path.cwd(), {}).screen_reader
    return False
