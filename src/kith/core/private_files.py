"""Write files that only this user can read."""

import os
from pathlib import Path


def put_private(path: Path, data: bytes) -> None:
    """Write a file for this user alone, in one step: a reader sees the former one or this one."""
    new = path.with_suffix(f".{os.getpid()}.new")
    new.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
