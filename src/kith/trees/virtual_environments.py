"""Find the virtual environment of a project outside its tree: the active one, or one that a tool keeps."""

import os
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

VENVS = (".venv", "venv", "env")


def find_environment(root: Path) -> Path | None:
    """The active environment, else the newest of those that Poetry, Pipenv or Hatch made for this folder.

    Their folders have a digest of the project's path in their names, so no project can name another's. One
    whose interpreter is gone is left out.
    """
    active = Path(os.environ.get("VIRTUAL_ENV") or os.devnull)
    if _is_environment(active):
        return active
    kept = (path for path in _kept(root) if _is_environment(path) and os.access(path / "bin/python", os.X_OK))
    return max(kept, key=lambda path: path.stat().st_mtime, default=None)


def _kept(root: Path) -> Iterator[Path]:
    key = _key_of(root)
    # https://python-poetry.org/docs/configuration/#virtualenvspath
    caches = Path(os.environ.get("POETRY_CACHE_DIR") or _base("XDG_CACHE_HOME", ".cache") / "pypoetry")
    yield from Path(os.environ.get("POETRY_VIRTUALENVS_PATH") or caches / "virtualenvs").glob(f"*-{key}-py*")
    # https://pipenv.pypa.io/en/latest/virtualenv.html
    data = _base("XDG_DATA_HOME", ".local/share")
    short = urlsafe_b64encode(sha256(os.fsencode(root / "Pipfile")).digest()[:6]).decode()
    yield from Path(os.environ.get("WORKON_HOME") or data / "virtualenvs").glob(f"*-{short}")
    # https://hatch.pypa.io/latest/plugins/environment/virtual/#location
    yield from (data / "hatch/env/virtual").glob(f"*/{key}/*")


def _key_of(root: Path) -> str:
    return urlsafe_b64encode(sha256(os.fsencode(os.path.realpath(root))).digest()).decode()[:8]


def _base(variable: str, usual: str) -> Path:
    return Path(os.environ.get(variable) or os.path.expanduser(f"~/{usual}"))  # noqa: PTH111  (as in environment.py)


def _is_environment(path: Path) -> bool:
    return os.access(path / "pyvenv.cfg", os.R_OK)
