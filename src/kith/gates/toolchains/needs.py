"""What a Python project says of its own modules: which it has, which its build makes, what it requires."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from kith.gates.toolchains.toolchain import Read, read_text

_MANIFESTS: Final = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini")
_LISTS: Final = re.compile(r"(?:requirements/)?[\w.-]*(?:requirements|test|dev)[\w.-]*\.(?:txt|in)")
_LISTS_READ: Final = 6
_REQUIREMENT: Final = re.compile(
    r"^\s*(?:[\w-]+\s*=\s*\[?\s*)?[\"']?([A-Za-z][\w.-]*)(?:\[[\w, -]*\])?\s*(?:[<>=!~;@][^\n]*)?"
    r"[\"']?\s*[,\]]*\s*$"
)
_WRITTEN: Final = re.compile(r"(?:version[-_]file|write_to|module-name)\s*=\s*[\"\']?([\w./]+)")
_COMPILED: Final = (".pyx", ".c", ".cc", ".cpp", ".rs")


@dataclass(frozen=True, slots=True)
class Needs:
    """The project's top modules, the modules that only its build makes, the distributions it names."""

    own: tuple[str, ...]
    generated: tuple[str, ...]
    requires: tuple[str, ...]


def needs_clues(files: Collection[str]) -> tuple[str, ...]:
    """The lists of requirements beside the manifests."""
    return tuple(sorted(path for path in files if _LISTS.fullmatch(path))[:_LISTS_READ])


def find_needs(files: Collection[str], read: Read, folders: tuple[str, ...]) -> Needs:
    """`folders` are those below the top from which packages are imported."""
    manifests = [path for path in _MANIFESTS if path in files]
    texts = [read_text(read, path) for path in (*manifests, *needs_clues(files))]
    compiled = {path for path in files if path.endswith(_COMPILED) and _is_module(path, files)}
    written = {path for text in texts for path in _WRITTEN.findall(text) if path not in files}
    modules = {_module(path, folders) for path in files if path.endswith(".py")}
    lines = [part for text in texts for line in text.splitlines() for part in line.split(",")]
    required = {found[1] for line in lines if (found := _REQUIREMENT.match(line))}
    return Needs(
        tuple(sorted({module.split(".")[0] for module in modules})),
        tuple(sorted(_module(path, folders) for path in compiled | written)),
        tuple(sorted({normal_name(name) for name in required})),
    )


def normal_name(name: str) -> str:
    """As the package index compares names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_module(path: str, files: Collection[str]) -> bool:
    return "/" not in path or f"{path.rpartition('/')[0]}/__init__.py" in files


def _module(path: str, folders: tuple[str, ...]) -> str:
    """The dotted name under which a file is imported."""
    inside = next(
        (path.removeprefix(f"{folder}/") for folder in folders if path.startswith(f"{folder}/")), path
    )
    return re.sub(r"(?:/__init__)?\.(?:pyx|c|cc|cpp|rs|py)$", "", inside).replace("/", ".")
