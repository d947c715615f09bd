"""The packages that a project says it needs, and the Python that it is for."""

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from kith.gates.toolchains import Read

_NAMES: Final = re.compile(
    r"(?:pyproject\.toml|setup\.py|setup\.cfg|Pipfile|tox\.ini|noxfile\.py|meta\.ya?ml|environment[\w.-]*\.ya?ml"
    r"|[\w.-]*requirements[\w.-]*\.(?:txt|in)|constraints[\w.-]*\.txt)"
)
_FOLDER: Final = re.compile(r"(?:^|/)requirements/[\w.-]+\.(?:txt|in)$")
_MOST: Final = 40
_REQUIREMENT: Final = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:[<>=!~(][^;]*)?$")
_AT_LEAST: Final = re.compile(r"(?:>=|~=|\^|==)\s*3\.(\d+)")


@dataclass(frozen=True, slots=True)
class Declared:
    """`words`: all that the manifests speak of, in lower case with `_`. `needed`: what every run of it needs.

    `least`: the 3.x from which on the project works; 0 when it does not say.
    """

    words: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()
    least: int = 0

    def names(self, module: str) -> bool:
        """Whether a manifest speaks of a module's package, as far as the names agree."""
        top = _plain(re.split(r"[.:]", module)[0])
        return any(each in self.words for each in (top, f"py{top}", f"python_{top}", f"{top}_python"))


def manifests(files: Collection[str]) -> tuple[str, ...]:
    """The files that say what a project needs, those at the top first."""
    found = [path for path in files if is_manifest(path)]
    return tuple(sorted(found, key=lambda path: (path.count("/"), path))[:_MOST])


def is_manifest(path: str) -> bool:
    return bool(_NAMES.fullmatch(path.rpartition("/")[2]) or _FOLDER.search(path))


def read_declared(files: Collection[str], read: Read) -> Declared:
    """What the manifests of a tree declare."""
    texts = {path: (read(path) or b"").decode("utf-8", "replace") for path in manifests(files)}
    words = frozenset(_plain(word) for text in texts.values() for word in re.findall(r"[\w.-]+", text))
    table = _toml(texts.get("pyproject.toml", ""))
    lines = [*_strings(_inner(table, "project").get("dependencies"))]
    if not {"pyproject.toml", "setup.cfg", "setup.py"} & texts.keys():  # else it is for developers
        lines += texts.get("requirements.txt", "").splitlines()
    needed = frozenset(found[1] for line in lines if (found := _REQUIREMENT.match(line.partition(" #")[0])))
    asked = _inner(table, "project").get("requires-python")
    poetry = _inner(table, "tool", "poetry", "dependencies").get("python")
    bounds = [int(found[1]) for each in (asked, poetry) if (found := _AT_LEAST.search(str(each or "")))]
    return Declared(words, needed, max(bounds, default=0))


def _plain(name: str) -> str:
    return re.sub(r"[-.]+", "_", name).lower()


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _inner(table: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        inner = table.get(name)
        table = inner if isinstance(inner, dict) else {}
    return table


def _strings(value: object) -> Iterator[str]:
    items: Iterable[object] = value if isinstance(value, list) else ()
    yield from (each for each in items if isinstance(each, str))
