"""Whether commands can be confined on this machine: tried once for all tests of a process."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from kith.trees.sandbox import Abilities, look


@cache
def find_abilities() -> Abilities:
    """What a sandbox can do in a temporary folder, as each test has one."""
    with TemporaryDirectory(prefix="kith-probe-") as folder:
        root = Path(folder, "root")
        root.mkdir()
        return look(root, Path(folder, "state"))
