"""The store of a fleet's settings: a folder, or a bucket of S3."""

from pathlib import Path

from kith.core.errors import UsageError
from kith.features.fleet.artefacts import FolderStore, Store
from kith.features.fleet.s3_store import open_bucket


def open_store(place: str) -> Store:
    """The store at an absolute path or `s3://BUCKET/PREFIX`. Raises UsageError for other words."""
    if place.startswith("s3://"):
        return open_bucket(place)
    if not Path(place).is_absolute():
        raise UsageError(f"`fleet.store` is an absolute path or s3://BUCKET/PREFIX, not {place!r}.")
    return FolderStore(Path(place))
