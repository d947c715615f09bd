"""kith's own folders and files: configuration, state, cache, the log."""

import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kith.core.errors import KithError, NewerError, UsageError
from kith.core.numbers import size_text
from kith.features.doctor.check import Check, Level, Tell, closed
from kith.memory.log import LOG_FILE, Log
from kith.memory.queries import find_damage
from kith.settings import Settings, find_folders, load_settings
from kith.settings.files import NAMES

PLENTY: Final = 1 << 30  # bytes free
TOO_LITTLE: Final = 100 << 20
_LARGEST_CHECKED: Final = 256 << 20  # bytes of log: more takes longer than a person waits


def check_configuration(
    root: Path, flags: Mapping[str, Any], environ: Mapping[str, str]
) -> tuple[Settings, Check]:
    """The settings as they are, and what is wrong with them: then the defaults, in the person's own folders.

    Raises UsageError where not even the folders can be told.
    """
    config, state, cache = find_folders(environ)
    files = tuple(folder / name for folder in (config, root / ".kith") for name in NAMES)
    try:
        settings = load_settings(root, flags, environ)
    except UsageError as error:
        return Settings(state=state, cache=cache, config=config), Check(
            "configuration", "red", closed(str(error)), _mend(str(error), files)
        )
    there = [str(file) for file in files if file.exists()]
    read = f"{' and '.join(there)} can be read." if there else f"None yet; it would be {files[0]}."
    return settings, Check("configuration", "green", read)


def _mend(error: str, files: tuple[Path, ...]) -> str:
    for file in files:
        if error.startswith(str(file)):
            return f"edit {file}"
    found = [word.rstrip(":") for word in error.split() if word.startswith("KITH_")]
    return f"unset {found[0]}" if found else "kith config"


def check_disk(settings: Settings, tell: Tell) -> None:
    """Check that the folders for state, cache and trials are writable and have room."""
    places = {
        "state": settings.state,
        "cache": settings.cache,
        "temporary files": Path(tempfile.gettempdir()),
    }
    free: dict[str, int] = {}
    for title, folder in places.items():
        fault, fix = _fault(folder)
        if fault:
            tell(Check("disk", "red", f"The folder for {title} cannot be used: {fault}.", fix))
        else:
            free[title] = shutil.disk_usage(_nearest(folder)).free
    _tell_room(free, places, tell)


def _tell_room(free: Mapping[str, int], places: Mapping[str, Path], tell: Tell) -> None:
    short = [title for title, size in free.items() if size < PLENTY]
    for title in short:
        level: Level = "red" if free[title] < TOO_LITTLE else "yellow"
        text = f"The disk with the folder for {title} has only {size_text(free[title])} left."
        tell(Check("disk", level, text, f"du -sh {_quoted(places[title])}"))
    if free and not short:
        tell(
            Check("disk", "green", f"{size_text(min(free.values()))} or more are free for {', '.join(free)}.")
        )


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(each for each in (folder, *folder.absolute().parents) if each.exists())


def _fault(folder: Path) -> tuple[str, str]:
    """Return the reason why a folder cannot be written, and the fix."""
    there = _nearest(folder)
    if not there.is_dir():
        return f"{there} is a file", f"mv {_quoted(there)} {_quoted(there, '.old')}"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"{there} may not be written", f'sudo chown -R "$USER" {_quoted(there)}'
    return "", ""


def _quoted(path: Path, ending: str = "") -> str:
    """A path for a shell."""
    return shlex.quote(f"{path}{ending}")


def check_log(settings: Settings, tell: Tell) -> None:
    """Check that the log opens and is undamaged."""
    path = settings.state / LOG_FILE
    if not settings.state.is_dir() or not path.exists():
        tell(Check("log", "green", f"None yet; it will be {path}."))
        return
    size = path.stat().st_size
    if size <= _LARGEST_CHECKED and (fault := _damage(path)):  # who opens it mends it, and this only looks
        text = f"{closed(fault)} kith copies what it can read to a new one, and keeps this one."
        tell(Check("log", "red", text, "kith sessions"))
        return
    try:
        Log(path).close()
    except NewerError as error:
        tell(Check("log", "red", closed(str(error)), "uv tool upgrade kith-agent"))
        return
    except KithError as error:
        tell(Check("log", "red", closed(str(error)), f"mv {_quoted(path)} {_quoted(path, '.damaged')}"))
        return
    how = "can be opened" if size > _LARGEST_CHECKED else "is whole"
    tell(Check("log", "green", f"The log {how}, {size_text(size)}."))


def _damage(path: Path) -> str:
    found = find_damage(path)
    return f"The log {path} is damaged: {found}" if found else ""
