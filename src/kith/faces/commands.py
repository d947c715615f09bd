"""The small commands, each a few lines around a function of the app."""

import argparse
import asyncio
import json
import sys
from datetime import datetime
from pathlib import Path

from kith.app.models import (
    engines,
    list_all,
    list_names,
    recommend_models,
    stop_own_engines,
)
from kith.core.errors import EXIT_DONE
from kith.core.sizes import size_text
from kith.faces.completion import plain_names
from kith.faces.folder import find_root
from kith.faces.lines import brief, count, from_home, printable, wrapped
from kith.faces.models import show_models, show_recommendations
from kith.memory.applied import short_id
from kith.memory.consents import Consent, agreed
from kith.memory.log import LOG_FILE, Log
from kith.settings import Settings, describe_settings, load_settings


def undo_command(args: argparse.Namespace) -> int:
    """Take a change back and say which files were touched."""
    from kith.app.project import Project

    undone = asyncio.run(Project.open(find_root(args.folder), {}).undo(args.id))
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
        where = f"  {printable(session.root)}" if args.all else ""
        head = f"{session.id}  {when}  {session.status:11} "
        print(f"{head}{brief(session.task, len(head) + len(where))}{where}")
    if not sessions:
        print(f"No sessions {'anywhere' if args.all else f'in {printable(str(root))}'} yet.", file=sys.stderr)
    return 0


def models_command(args: argparse.Namespace) -> int:
    """Every model that can be asked: of servers here or configured, and on the disk."""
    settings = load_settings(find_root(args.folder), {"offline": args.offline})
    if args.names:
        print("".join(f"{name}\n" for name in plain_names(asyncio.run(list_names(settings)))), end="")
        return EXIT_DONE
    found = asyncio.run(list_all(settings, Log(settings.state / LOG_FILE)))
    return show_models(found.rows, args.json, found.notes)


def recommend_command(args: argparse.Namespace) -> int:
    """What is worth having on this machine, and how to get it."""
    return show_recommendations(recommend_models(), args.json)


def engine_command(args: argparse.Namespace) -> int:
    """kith's own engines: what runs, or an end to it."""
    settings = load_settings(find_root(args.folder), {})
    running = engines(settings)
    if not running:
        print("No engine of kith's runs.", file=sys.stderr)
    elif args.action == "stop":
        print(f"Stopped {count(stop_own_engines(settings), 'engine')}.")
    else:
        for engine in running:
            use = "in use" if engine.used else "idle"
            memory = size_text(engine.memory) if engine.memory else ""
            how = f"{engine.state}, {use}  window {engine.window:,}  {memory}".rstrip()
            print(f"file/{printable(engine.name)}  {how}")
    return EXIT_DONE


def config_command(args: argparse.Namespace) -> int:
    """Each setting, its value, and where it came from."""
    root = find_root(args.folder)
    settings = load_settings(root, {})
    if args.ask_again:
        return _ask_again(settings, root)
    rows = describe_settings(settings)
    width = max(len(key) for key, _, _ in rows)
    for key, value, origin in rows:
        row = f"{key:{width}}  {printable(value):24}  {from_home(origin)}"
        print(wrapped(row, sys.stdout, indent=" " * (width + 2)))
    print("\n- is left to kith, the model or the server")
    print(f"\nyour configuration: {settings.config / 'config.toml'}")
    print(f"log and journals:   {settings.state}")
    print(f"prices of models:   {_prices(settings)}")
    log = settings.state / LOG_FILE
    for consent in agreed(Log(log), root) if log.is_file() else ():
        said = f"agreed to for good: {_consent(consent)} (--ask-again takes it back)"
        print(wrapped(said, sys.stdout, indent=" " * 20))
    return 0


def _ask_again(settings: Settings, root: Path) -> int:
    """Forget what was agreed to for good here."""
    from kith.app.asking.terms import ask_again

    held = ask_again(Log(settings.state / LOG_FILE), root)
    for consent in held:
        print(f"You are asked again before {printable(_consent(consent))}.")
    if not held:
        print("Nothing was agreed to for good here.", file=sys.stderr)
    return EXIT_DONE


def _consent(consent: Consent) -> str:
    return f"{consent.model} at {consent.server} is asked ({consent.group})"


def _prices(settings: Settings) -> str:
    """Where the table of prices comes from."""
    from kith.app.prices import OWN_FILE, prices_of

    own = settings.config / OWN_FILE
    return f"kith's own, of {prices_of(settings).seen}" + (f", and {own}" if own.is_file() else "")


def demo_command(args: argparse.Namespace) -> int:
    """The whole path on a small project."""
    from kith.faces.demo import run_demo

    return run_demo(args.model or "", args.keep)
