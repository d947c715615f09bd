"""`kith features`: what kith can do beside its main job, and what of it is switched on."""

import argparse
import difflib
import json
import sys
from collections.abc import Callable, Iterable
from typing import Final

from kith.core.errors import EXIT_DONE, UsageError
from kith.core.feature import Lazy
from kith.settings import find_folders
from kith.settings.features import KEY, features, features_off, known_features
from kith.settings.files import find_file
from kith.view.lines import wrapped

# They bring tomlkit and yaml, which only a change of the file needs.
_set: Final[Lazy[Callable[..., object]]] = Lazy("kith.settings.write:set_setting")
_unset: Final[Lazy[Callable[..., None]]] = Lazy("kith.settings.write:unset_setting")


def features_command(args: argparse.Namespace) -> int:
    """Every feature: what it is for, whether it is on, and which features it needs."""
    on = {each.name for each in features()}
    if args.json:
        rows = [
            {"name": each.name, "meaning": each.meaning, "on": each.name in on, "needs": list(each.needs)}
            for each in known_features()
        ]
        print(json.dumps(rows, indent=2))
        return EXIT_DONE
    off, width = features_off(), max((len(each.name) for each in known_features()), default=0)
    for each in known_features():
        lacking = [name for name in each.needs if name not in on]
        state = "on" if each.name in on else "off" if each.name in off else f"needs {', '.join(lacking)}"
        print(wrapped(f"{each.name:{width}} {state:4} {each.meaning}", sys.stdout))
    return EXIT_DONE


def on_command(args: argparse.Namespace) -> int:
    """Switch features on again, in the person's own configuration. Raises UsageError."""
    return _keep_off(features_off() - _checked(args.names))


def off_command(args: argparse.Namespace) -> int:
    """Switch features off, in the person's own configuration. Raises UsageError."""
    return _keep_off(features_off() | _checked(args.names))


def _checked(names: Iterable[str]) -> frozenset[str]:
    known = [each.name for each in known_features()]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known)}."
            raise UsageError(f"There is no feature {name!r}; {hint}")
    return frozenset(names)


def _keep_off(off: frozenset[str]) -> int:
    file = find_file(find_folders()[0])
    if off:
        _set.load()(file, KEY, sorted(off), project=False)
    else:
        _unset.load()(file, KEY, project=False)
    print(f"Off: {', '.join(sorted(off))}." if off else "Every feature is on.")
    return EXIT_DONE
