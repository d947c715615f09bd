"""The small commands: undo, sessions, models, config, demo."""

import argparse
import asyncio
import json
import sys
from datetime import datetime

from kith.app import App
from kith.faces.cli import find_root
from kith.faces.lines import count, printable
from kith.settings import describe_settings


def undo_command(args: argparse.Namespace) -> int:
    """Take a change back and say which files were touched."""
    undone = asyncio.run(App.open(find_root(args.folder), {}).undo(args.id))
    for file in undone.files:
        print(f"{printable(file.path)}  +{file.added} -{file.removed}")
    print(
        f"Took {undone.undoes} back, {count(len(undone.files), 'file')}. "
        f"To have it again: kith undo {undone.change_id}"
    )
    return 0


def sessions_command(args: argparse.Namespace) -> int:
    """One line a session, newest first."""
    app = App.open(find_root(args.folder), {})
    sessions = app.sessions(args.all)
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
        where = f"  {session.root}" if args.all else ""
        print(f"{session.id}  {when}  {session.status:11} {task}{where}")
    if not sessions:
        print(f"No sessions in {app.root} yet.", file=sys.stderr)
    return 0


def models_command(args: argparse.Namespace) -> int:
    """Every model that a server on this machine, or a configured one, offers."""
    app = App.open(find_root(args.folder), {})
    servers = asyncio.run(app.servers())
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
        return 0
    for name, url, card in rows:
        size = f"{card.size / 1e9:.1f} GB" if card.size else ""
        window = f"window {card.window:,}" if card.window else ""
        print(f"{printable(name):40} {size:>8}  {card.quantisation:8} {window:16} {url}".rstrip())
    if not rows:
        print(app.explain_no_model(), file=sys.stderr)
        return 5
    return 0


def config_command(args: argparse.Namespace) -> int:
    """Each setting, its value, and where it came from."""
    app = App.open(find_root(args.folder), {})
    rows = describe_settings(app.settings)
    width = max(len(key) for key, _, _ in rows)
    for key, value, origin in rows:
        print(f"{key:{width}}  {printable(value):24}  {origin}")
    print(f"\nyour configuration: {app.settings.config / 'config.toml'}")
    print(f"log and journals:   {app.settings.state}")
    return 0


def demo_command(args: argparse.Namespace) -> int:
    """The whole path on a small project."""
    from kith.faces.demo import run_demo

    return run_demo(args.model or "", args.keep)
