"""Where configuration, state and cache of kith live."""

import os
from collections.abc import Mapping
from pathlib import Path

from kith.core.errors import UsageError


def find_folders(environ: Mapping[str, str] = os.environ) -> tuple[Path, Path, Path]:
    """Where configuration, state and cache live (XDG on Linux). Raises UsageError without a home."""
    import platformdirs

    try:
        if environ.get("HOME") == "":
            raise RuntimeError("an empty HOME would mean the root folder")
        dirs = platformdirs.PlatformDirs("kith", appauthor=False)
        return dirs.user_config_path, dirs.user_state_path, dirs.user_cache_path
    except RuntimeError as error:  # neither HOME nor the password database knows one
        raise UsageError(
            "There is no home folder to keep the log in; set HOME to an absolute path."
        ) from error
