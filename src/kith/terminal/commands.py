"""The small commands, each a few lines around a function of the app."""

import argparse

from kith.agent.models import list_all, list_names, recommend_models
from kith.core.errors import EXIT_DONE
from kith.core.loops import run_loop
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
