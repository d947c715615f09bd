"""A model that lies on this machine's disk; a feature finds and runs those."""

from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.models.traits import Header

FILES: Final = "file"  # the prefix of models on the disk: `kith -m file/NAME`


class Stored(Struct, frozen=True):
    """A model on the disk: `path` is its file, or the first of several; `size` is in bytes, of all of them.

    `name` is unique; `kith -m file/NAME` takes it. `fault` says why it cannot be run.
    """

    name: str
    path: Path
    size: int
    source: str
    header: Header
    quantisation: str = ""
    parts: int = 1
    fault: str = ""
