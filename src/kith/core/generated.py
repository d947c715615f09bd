"""Folders that programs generate, by their names and what lies beside them."""

from collections.abc import Callable, Mapping
from typing import Final

ALWAYS_GENERATED: Final = (
    *("node_modules", ".venv", "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache"),
    *(".gradle", ".next", ".nuxt", "htmlcov"),
)
# Each folder, and the files beside one of which it counts as generated; none: it always does.
GENERATED: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(ALWAYS_GENERATED, ()),
    "venv": ("venv/pyvenv.cfg",),
    "env": ("env/pyvenv.cfg",),
    "target": ("Cargo.toml", "pom.xml", "build.sbt"),
    "dist": ("package.json", "pyproject.toml", "setup.py"),
    "build": ("build.gradle", "build.gradle.kts", "CMakeLists.txt", "package.json", "setup.py"),
}


def is_generated(path: str, exists: Callable[[str], bool]) -> bool:
    """True for a path in a generated folder; `exists` answers for the files beside the folder."""
    above = ""
    for part in path.split("/")[:-1]:
        beside = GENERATED.get(part)
        if beside is not None and (not beside or any(exists(above + name) for name in beside)):
            return True
        above += f"{part}/"
    return False
