"""The small commands: undo, sessions, models, config, demo."""

import argparse
import asyncio
import json
import sys
from datetime import datetime

from kith.app import LOG_FILE, App, explain_no_model, find_models
from kith.core.errors import EXIT_DONE, EXIT_NO_MODEL
from kith.faces.folder import find_root
from kith.faces.lines import count, printable
from kith.memory.applied import short_id
from kith.memory.log import Log
from kith.settings import describe_settings, load_settings


def undo_command(args: argparse.Namespace) -> int:
    """Take a change back and say which files were touched."""
    undone = asyncio.run(App.open(find_root(args.folder), {}).undo(args.id))
    for file in undone.files:
        print(f"{printable(file.path)}  +{file.added} -{file.removed}")
    print(
        f"Took {short_id(undone.undoes)} back, {count(len(undone.files), 'file')}. "
        f"To have it again: kith undo {short_id(undone.change_id)}"
    )
    return 0


def sessions_command(args: argparse.Namespace) -> int:
    """One line a session, newest first."""
    root = find_root(args.folder)
    sessions = Log(load_settings(root, {}).state / LOG_FILE).sessions(None if args.all else root)
    if args.json:
        rows = [
            {"id": s.id, "task": s.task, "root": s.root, "model": s.model, "at": s.at, "status": s.status}
            for s in sessions
        ]
        print(json.dumps(rows, indent=2))
        return 0
    for session in sessions:
        when = datetime.fromtimestamp(session.at).strftime("%Y-%m-%d %H:%M")
        task = printable(session.task.split("\n")[0])[:60]
        where = f"  {printable(session.root)}" if args.all else ""
        print(f"{session.id}  {when}  {session.status:11} {task}{where}")
    if not sessions:
        print(f"No sessions {'anywhere' if args.all else f'in {printable(str(root))}'} yet.", file=sys.stderr)
    return 0


def models_command(args: argparse.Namespace) -> int:
    """Every model that a server on this machine, or a configured one, offers."""
    settings = load_settings(find_root(args.folder), {})
    servers = asyncio.run(find_models(settings))
    rows = [(f"{server.kind}/{card.name}", server.url, card) for server in servers for card in server.models]
    if args.json:
        print(
            json.dumps(
                [
                    {"name": name, "url": url, "size": card.size, "window": card.window}
                    for name, url, card in rows
                ],
                indent=2,
            )
        )
        return EXIT_DONE if rows else EXIT_NO_MODEL
    for name, url, card in rows:
        size = f"{card.size / 1e9:.1f} GB" if card.size else ""
        window = f"window {card.window:,}" if card.window else ""
        print(f"{printable(name):40} {size:>8}  {card.quantisation:8} {window:16} {url}".rstrip())
    if not rows:
        print(explain_no_model(settings, servers), file=sys.stderr)
    return EXIT_DONE if rows else EXIT_NO_MODEL


def config_command(args: argparse.Namespace) -> int:
    """Each setting, its value, and where it came from."""
    settings = load_settings(find_root(args.folder), {})
    rows = describe_settings(settings)
    width = max(len(key) for key, _, _ in rows)
    for key, value, origin in rows:
        print(f"{key:{width}}  {printable(value):24}  {origin}")
    print(f"\nyour configuration: {settings.config / 'config.toml'}")
    print(f"log and journals:   {settings.state}")
    return 0


def demo_command(args: argparse.Namespace) -> int:
    """The whole path on a small project."""
    from kith.faces.demo import run_demo

    return run_demo(args.model or "", args.keep)
