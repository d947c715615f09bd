"""The names that tests may count on before they exist: the project's own, and those of the task."""

import re
from collections.abc import Collection

from msgspec import Struct

_WORD = re.compile(r"[A-Za-z_][\w./-]*\w|[A-Za-z_]")


class KnownNames(Struct, frozen=True):
    """`files`: the project's. `parts`: the folders and stems of its modules. `promised`: the task's words."""

    files: frozenset[str]
    parts: frozenset[str]
    promised: frozenset[str]

    def is_own_module(self, module: str) -> bool:
        """True if a dotted module belongs to the project, or is one that the task asks for."""
        parts = module.split(".")
        return parts[0] in self.parts or not self.promised.isdisjoint(parts)

    def is_promised_file(self, path: str) -> bool:
        """True if the task names a file, with its folder or without, by its whole name or its stem."""
        name = path.rpartition("/")[2]
        return not self.promised.isdisjoint({path, name, name.partition(".")[0]})

    def is_there(self, path: str) -> bool:
        return any(each == path or each.endswith(f"/{path}") for each in self.files)


def names_of(known: Collection[str], promised: Collection[str]) -> KnownNames:
    """`known` are files or dotted modules, `promised` names or whole sentences."""
    words = frozenset(
        word for text in promised for found in _WORD.findall(text) for word in _spellings(found)
    )
    parts = frozenset(part for path in known for part in re.split(r"[./]", _module(path)))
    return KnownNames(frozenset(known), parts - {""}, words)


def _module(path: str) -> str:
    """A Python file without its suffix, another file's folder, and a dotted module as it is."""
    if path.endswith((".py", ".pyi")):
        return path.rpartition(".")[0]
    return path.rpartition("/")[0] if "/" in path else path


def _spellings(word: str) -> set[str]:
    """`src/pkg/stack.py` is also `stack.py`, `stack` and `pkg`."""
    name = word.rpartition("/")[2]
    return {word, name, *re.split(r"[./]", word)}
