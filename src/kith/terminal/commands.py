"""The small commands, each a few lines around a function of the app."""

import argparse
import sys

from kith.agent.models import engines, list_all, list_names, recommend_models, stop_own_engines
from kith.core.errors import EXIT_DONE
from kith.core.loops import run_loop
from kith.core.sizes import size_text
from kith.memory.applied import short_id
from kith.memory.log import LOG_FILE, Log
from kith.settings import load_settings
from kith.terminal.completion import plain_names
from kith.terminal.folder import find_root
from kith.terminal.models import show_models, show_recommendations
from kith.view.lines import count
from kith.view.printing import printable


def undo_command(args: argparse.Namespace) -> int:
    """Take a change back and say which files were touched."""
    from kith.agent.project import Project

    undone = run_loop(Project.open(find_root(args.folder), {}).undo(args.id or ""))
    for file in undone.files:
        print(f"{printable(file.path)}  +{file.added} -{file.removed}")
    print(
        f"Took {short_id(undone.undoes)} back, {count(len(undone.files), 'file')}. "
        f"To have it again: kith undo {short_id(undone.change_id)}"
    )
    return 0


def models_command(args: argparse.Namespace) -> int:
    """Every model that can be asked: of servers here or configured, and on the disk."""
    settings = load_settings(find_root(args.folder), {"offline": args.offline})
    if args.names:
        print("".join(f"{name}\n" for name in plain_names(run_loop(list_names(settings)))), end="")
        return EXIT_DONE
    found = run_loop(list_all(settings, Log(settings.state / LOG_FILE)))
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


def demo_command(args: argparse.Namespace) -> int:
    """The whole path on a small project."""
    from kith.features.demo.command import run_demo

    return run_demo(args.model or "", args.keep)
