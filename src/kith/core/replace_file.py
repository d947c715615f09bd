"""Replace a file in one step by one that only this user can read."""

import os
import tempfile
from pathlib import Path


def put_private(path: Path, data: bytes) -> None:
    """Write a file for this user alone: a reader sees the former one or this one, whole."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
