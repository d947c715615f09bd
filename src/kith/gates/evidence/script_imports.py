"""Find where imports of JavaScript lead that name a package of the project or an alias of a folder."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from posixpath import basename, dirname, join, normpath
from typing import Any, Final

from msgspec import Struct

from kith.core.patterns import lazy_pattern
from kith.gates.toolchains.manifests import parse_object

PACKAGE: Final = "package.json"
# https://www.typescriptlang.org/tsconfig/#paths
TS_CONFIGS: Final = frozenset({"tsconfig.json", "jsconfig.json", "tsconfig.base.json", "tsconfig.app.json"})
_IMPORT: Final = lazy_pattern(
    r"""(?:\bfrom|\bimport|\brequire[ \t]*\(|\bimport[ \t]*\()[ \t]*(["'])([@~#$\w][^"'\n]{0,300})\1"""
)
_STRING_OR_COMMENT: Final = lazy_pattern(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)
_LAST_COMMA: Final = lazy_pattern(r",(\s*[}\]])")
# What bundlers and test runners are usually told in a script of their own.
_USUAL: Final = ("@/", "~/", "#/", "@@/", "~~/", "src/")
_SOURCES: Final = ("", "src/", "lib/")  # where a package keeps the sources of what it builds


class Aliases(Struct, frozen=True):
    """Other names of places: `packages` name -> folder, `paths` the beginning of a name -> that of a path.

    A place is relative to the top of the tree, "" for the top itself.
    """

    packages: Mapping[str, str] = {}
    paths: tuple[tuple[str, str], ...] = ()


def read_aliases(manifests: Mapping[str, str]) -> Aliases:
    """The aliases in the texts of package.json and tsconfig.json."""
    packages = dict[str, str]()
    paths = list[tuple[str, str]]()
    for path, text in manifests.items():
        if basename(path) == PACKAGE:
            told = parse_object(text)
            if isinstance(name := told.get("name"), str) and name:
                packages[name] = dirname(path)
            paths += _patterns(dirname(path), told.get("imports"))
        elif basename(path) in TS_CONFIGS:
            options = parse_object(_without_comments(text)).get("compilerOptions")
            options = options if isinstance(options, dict) else {}
            base = options.get("baseUrl")
            paths += _patterns(
                join(dirname(path), base if isinstance(base, str) else ""), options.get("paths")
            )
    return Aliases(packages, tuple(paths))


def find_names(text: str) -> Iterator[str]:
    """The names in the imports of a script that are no relative paths."""
    return (name for _, name in _IMPORT.findall(text))


def find_places(path: str, names: Iterable[str], aliases: Aliases) -> Iterator[str]:
    """The paths from the top, without endings, that a script's imports of packages and aliases may mean."""
    folder = dirname(path)
    for name in names:
        yield from (place for place in _places(folder, name, aliases) if not place.startswith("../"))


def _places(folder: str, name: str, aliases: Aliases) -> Iterator[str]:
    for alias, place in aliases.paths:
        if name.startswith(alias):
            yield normpath(place + name.removeprefix(alias))
    parts = name.split("/")
    scope = "/".join(parts[: 2 if name.startswith("@") else 1])
    if scope in aliases.packages:
        inside = "/".join([*parts[scope.count("/") + 1 :]])
        for sources in _SOURCES:
            yield normpath(join(aliases.packages[scope], sources, inside))
    for usual in _USUAL:
        if name.startswith(usual):
            for above in _folders_above(folder):
                yield from (normpath(join(above, each, name.removeprefix(usual))) for each in ("src", ""))


def _folders_above(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = dirname(folder)
    yield ""


def _patterns(base: str, told: Any) -> Iterator[tuple[str, str]]:
    """`"@lib/*": ["./src/lib/*"]` as the two beginnings."""
    for alias, places in told.items() if isinstance(told, dict) else ():
        for place in places if isinstance(places, Sequence) and not isinstance(places, str) else [places]:
            if isinstance(place, str):
                yield (
                    alias.partition("*")[0],
                    f"{normpath(join(base, place.partition('*')[0]))}/".removeprefix("./"),
                )


def _without_comments(text: str) -> str:
    """JSON as TypeScript's configuration has it, without comments and last commas."""
    return _LAST_COMMA.sub(r"\1", _STRING_OR_COMMENT.sub(lambda found: found[1] or "", text))
