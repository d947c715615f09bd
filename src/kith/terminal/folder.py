"""Which project is meant by a folder."""

import os
from pathlib import Path

from kith.core.errors import UsageError


def find_root(folder: str) -> Path:
    """The project's folder: the enclosing git repository's top, else the folder itself."""
    path = Path(folder)
    try:
        if not path.is_dir():
            what = f"{folder!r} is not a folder." if path.exists() else f"There is no folder {folder!r}."
            raise UsageError(what)
        path = path.resolve()
        os.listdir(path)  # noqa: PTH208 -- only asks whether it may be read
        return _find_top(path)
    except OSError as error:
        raise UsageError(f"The folder {folder!r} cannot be used: {error.strerror}.") from error


def _find_top(path: Path) -> Path:
    home = Path(os.environ.get("HOME", ""))
    for parent in (path, *path.parents):
        # A home folder kept in git is not the project that the person stands in.
        if (parent / ".git").exists() and (parent != home or parent == path):
            return parent
        if parent.name != ".git" and all((parent / name).exists() for name in ("HEAD", "objects", "refs")):
            raise UsageError(f"{parent} is a bare git repository, without files to work on; clone it first.")
    return path
