"""`kith engine`: what runs of kith's own engines, or an end to it."""

import argparse
import sys

from kith.core.errors import EXIT_DONE
from kith.core.numbers import size_text
from kith.features.engine.listing import running_engines, stop_engines
from kith.settings import load_settings
from kith.terminal.folder import find_root
from kith.view.lines import count
from kith.view.printing import printable


def engine_command(args: argparse.Namespace) -> int:
    """kith's own engines: what runs, or an end to it."""
    settings = load_settings(find_root(args.folder), {})
    running = running_engines(settings.state)
    if not running:
        print("No engine of kith's runs.", file=sys.stderr)
    elif args.action == "stop":
        print(f"Stopped {count(stop_engines(settings.state), 'engine')}.")
    else:
        for engine in running:
            use = "in use" if engine.used else "idle"
            memory = size_text(engine.memory) if engine.memory else ""
            how = f"{engine.state}, {use}  window {engine.window:,}  {memory}".rstrip()
            print(f"file/{printable(engine.name)}  {how}")
    return EXIT_DONE
