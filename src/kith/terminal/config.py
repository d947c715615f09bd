"""`kith config`: what holds and where it came from; and settings read, set and unset, one at a time."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from kith.core.errors import EXIT_DONE, EXIT_FAILED, KithError, UsageError
from kith.core.feature import Lazy
from kith.core.values import Consent
from kith.memory.log import LOG_FILE, Log
from kith.memory.permits import agreed
from kith.models.prices import OWN_FILE, load_prices
from kith.settings import Settings, describe_settings, find_folders, load_settings
from kith.settings.brought import find_brought
from kith.settings.check import tables, unknown_key
from kith.settings.files import find_file
from kith.terminal.options import find_root
from kith.view.lines import from_home, wrapped
from kith.view.printing import printable

Row = tuple[str, str, str]
UNSET = "-"
_forget_consents: Final[Lazy[Callable[[Log, Path], tuple[Consent, ...]]]] = Lazy(
    "kith.agent.asking.terms:ask_again"
)
# They bring tomlkit and yaml, which only a change of the file needs.
_set: Final[Lazy[Callable[..., object]]] = Lazy("kith.settings.write:set_setting")
_unset: Final[Lazy[Callable[..., None]]] = Lazy("kith.settings.write:unset_setting")


def config_command(args: argparse.Namespace) -> int:
    """Each setting, its value, and where it came from."""
    root = find_root(args.folder)
    settings = load_settings(root, {})
    if args.ask_again:
        return _ask_again(settings, root)
    rows = describe_settings(settings)
    if args.json:
        return _print_json(rows)
    width = max(len(key) for key, _, _ in rows)
    for key, value, origin in rows:
        row = f"{key:{width}}  {printable(value):24}  {from_home(origin)}"
        print(wrapped(row, sys.stdout, indent=" " * (width + 2)))
    print("\n- means: kith, the model or the server decides")
    print(f"\nyour configuration: {_file_of(root, project=False)}")
    print(f"log and journals:   {settings.state}")
    print(f"prices of models:   {_prices(settings)}")
    log = settings.state / LOG_FILE
    for consent in agreed(Log(log), root) if log.is_file() else ():
        said = f"agreed to for good: {_consent(consent)} (--ask-again takes it back)"
        print(wrapped(said, sys.stdout, indent=" " * 20))
    return EXIT_DONE


def get_command(args: argparse.Namespace) -> int:
    """The value of a key, alone on its line; all of a table's, with their names."""
    rows = describe_settings(load_settings(find_root(args.folder), {}))
    found = find_rows(rows, args.key)
    if args.json:
        return _print_json(found)
    for key, value, _ in found:
        if key == args.key and value != UNSET:
            print(printable(value))
        elif key != args.key:
            print(f"{key}  {printable(value)}")
    if all(value == UNSET for _, value, _ in found):
        print(f"{args.key} is not set.", file=sys.stderr)
        return EXIT_FAILED
    return EXIT_DONE


def find_rows(rows: Sequence[Row], key: str) -> list[Row]:
    """The row of a key, or those of a table. Raises UsageError naming the nearest."""
    found = [row for row in rows if row[0] == key or row[0].startswith(f"{key}.")]
    if not found:
        words = unknown_key(key, sorted({row[0] for row in rows} | {*tables()}))
        raise UsageError(words)
    return found


def set_command(args: argparse.Namespace) -> int:
    """Set a key in the person's file, or in the project's."""
    root = find_root(args.folder)
    file = _file_of(root, project=args.project)
    value = _set.load()(file, args.key, args.value, project=args.project)
    print(f"{args.key} = {json.dumps(value, ensure_ascii=False)}  {from_home(str(file))}")
    _tell_what_holds(root, args.key, file, project=args.project)
    return EXIT_DONE


def unset_command(args: argparse.Namespace) -> int:
    """Take a key out of the person's file, or of the project's."""
    root = find_root(args.folder)
    file = _file_of(root, project=args.project)
    _unset.load()(file, args.key, project=args.project)
    print(f"{args.key} is no longer set in {from_home(str(file))}.")
    _tell_what_holds(root, args.key, file, project=args.project)
    return EXIT_DONE


def _file_of(root: Path, *, project: bool) -> Path:
    """The file that is read, or the one to begin. Raises UsageError."""
    if not project:
        return find_file(find_folders()[0])
    brought = find_brought(root)
    if brought.standing == "unfit":
        raise UsageError(brought.fault)
    return root / brought.config


def _tell_what_holds(root: Path, key: str, file: Path, *, project: bool) -> None:
    """Whatever stands in the way of what was just written; other mistakes are said when they matter."""
    with suppress(KithError):
        settings = load_settings(root, {})
        if project and settings.brought.standing not in ("trusted", ""):
            _say("It counts once you trust it: kith trust.")
            return
        for name, value, origin in describe_settings(settings):
            if name == key and origin not in ("default", str(file)):
                _say(f"Here it is {printable(value)} all the same: {from_home(origin)} says so.")


def _say(text: str) -> None:
    print(wrapped(text, sys.stderr), file=sys.stderr)


def _print_json(rows: Sequence[Row]) -> int:
    print(
        json.dumps([{"key": key, "value": value, "origin": origin} for key, value, origin in rows], indent=2)
    )
    return EXIT_DONE


def _ask_again(settings: Settings, root: Path) -> int:
    """Forget what was agreed to for good here."""
    held = _forget_consents.load()(Log(settings.state / LOG_FILE), root)
    for consent in held:
        print(f"You are asked again before {printable(_consent(consent))}.")
    if not held:
        print("Nothing was agreed to for good here.", file=sys.stderr)
    return EXIT_DONE


def _consent(consent: Consent) -> str:
    return f"{consent.model} at {consent.server} is asked ({consent.group})"


def _prices(settings: Settings) -> str:
    """The source of the table of prices."""
    own = settings.config / OWN_FILE
    return f"kith's own, of {load_prices(settings.config).seen}" + (f", and {own}" if own.is_file() else "")
