"""The features that are installed: those that come with kith, those of other packages, and which are on."""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final, TypeVar

from kith.core.codec import add_kinds
from kith.core.errors import UsageError
from kith.core.feature import Feature, Lazy
from kith.settings.files import find_file, find_folders, parse, read_text

KEY: Final = "features_off"
_VARIABLE: Final = "KITH_FEATURES_OFF"
ENTRY_POINTS: Final = "kith.features"
_PACKAGE: Final = "kith.features"

T = TypeVar("T")
Part = Callable[[Feature], Lazy[T] | None]  # which part of a feature is asked for


@cache
def known_features() -> tuple[Feature, ...]:
    """Every feature that is installed: kith's own by name, then those of other packages."""
    own = [import_module(f"{_PACKAGE}.{name}").FEATURE for name in _own_names()]
    return (*own, *_others())


@cache
def features() -> tuple[Feature, ...]:
    """The features that are on: installed, not switched off, and with all that they need."""
    on = tuple(switched_on(known_features(), features_off()))
    add_kinds(kind.load() for each in on for kind in each.events)
    return on


def parts_for(name: str) -> tuple[Any, ...]:
    """Load the extensions that enabled features add to the feature `name`."""
    return tuple(each.extends[name].load() for each in features() if name in each.extends)


def all_parts(part: Part[T]) -> Iterator[T]:
    """This part of each feature that is on and has it, loaded."""
    return (found.load() for each in features() if (found := part(each)))


def find_part(part: Part[T]) -> T | None:
    """This part of the first feature that is on and has it, loaded; None where none has."""
    return next(all_parts(part), None)


def need_part(part: Part[T], asked: str) -> T:
    """The same, for what the person `asked`. Raises UsageError where the feature is off or not installed."""
    if (found := find_part(part)) is not None:
        return found
    raise UsageError(word_lack(part, asked))


def word_lack(part: Part[T], asked: str) -> str:
    """Name the feature that `asked` needs: one that is off, or one that is not installed."""
    names = [each.name for each in known_features() if part(each)]
    lacking = f"the feature {names[0]}, which is off" if names else "a feature that is not installed"
    return f"{asked} needs {lacking}; see kith features."


def switched_on(known: Iterable[Feature], off: Collection[str]) -> Iterable[Feature]:
    """The known features without those that are off, and those that need one which is not there."""
    there = {each.name: each for each in known if each.name not in off}
    while lacking := [each.name for each in there.values() if not there.keys() >= {*each.needs}]:
        for name in lacking:
            del there[name]
    return there.values()


def _others() -> list[Feature]:
    """The features of other packages: looked for in their files first, for `importlib.metadata` is slow."""
    if not any(ENTRY_POINTS in file.read_text("utf-8", "replace") for file in _entry_point_files()):
        return []
    from importlib import metadata

    return [found.load() for found in metadata.entry_points(group=ENTRY_POINTS)]


def _entry_point_files() -> Iterator[Path]:
    for folder in sys.path:
        yield from Path(folder).glob("*.dist-info/entry_points.txt")


def _own_names() -> list[str]:
    spec = find_spec(_PACKAGE)
    return sorted(each.name for each in iter_modules(spec.submodule_search_locations if spec else ()))


def features_off(environ: Mapping[str, str] = os.environ) -> frozenset[str]:
    """The names of the features that are off; a mistake in the file is told by the command that reads it."""
    if _VARIABLE in environ:
        return _names(environ[_VARIABLE])
    try:
        file = find_file(find_folders(environ)[0])
        text = read_text(file)
        return _names(parse(file, text)[0].get(KEY, ())) if KEY in text else frozenset()
    except UsageError:
        return frozenset()


def _names(value: object) -> frozenset[str]:
    words = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    return frozenset(word.strip() for word in words if isinstance(word, str))


# What some commands need beside kith's own packages, and how a person gets it.

_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "web": ("fastapi", "nh3", "prometheus_client", "uvicorn"),
    "acp": ("acp",),
    "browse": ("html_to_markdown", "protego"),
    "mcp": ("mcp",),
    "fleet": ("procrastinate", "psycopg"),
    "traces": ("opentelemetry.sdk", "opentelemetry.exporter"),
}


def check_extra(extra: str, command: str) -> None:
    """Raises UsageError where the packages that a command needs are not installed."""
    if not all(map(_is_installed, _MODULES[extra])):
        raise UsageError(
            f"{command} needs more: pip install 'kith-agent[{extra}]', "
            f"or in a checkout of kith: python3 -m uv tool install '.[{extra}]'"
        )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even its package
        return False
