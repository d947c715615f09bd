"""What a linter is to kith: a command for some paths, and how to read what it prints."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, Literal

from kith.core.values import Finding

Kind = Literal["lint", "types"]

# No tool reports such names in a way that could be read back.
_UNSPEAKABLE: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Linter:
    """A tool that finds faults without running the code.

    `command` makes a shell command for the given paths (arguments, already quoted); `parse` reads its output,
    which nobody has to trust, and gives paths as the tool named them. `suffixes`: the files it understands.
    `why` says what spoke for it. `needs`: a file without which it cannot work. `whole`: it checks what its
    configuration names, whatever paths it is given. `obeys`: it may run code that the project's files name.
    """

    name: str
    kind: Kind
    why: str
    command: Callable[[str], str]
    parse: Callable[[str], tuple[Finding, ...]]
    suffixes: frozenset[str]
    needs: str = ""
    whole: bool = False
    obeys: bool = False

    def understands(self, path: str) -> bool:
        return PurePosixPath(path).suffix in self.suffixes and not _UNSPEAKABLE.search(path)


def as_arguments(paths: Sequence[str]) -> str:
    """Paths for a command line: quoted, and none begins with a dash or an `@`, which tools would obey."""
    return " ".join(shlex.quote(f"./{path}") for path in paths)


def as_line(value: Any) -> int:
    """A line number out of somebody's JSON, 1 where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1


def as_text(value: Any, otherwise: str = "") -> str:
    return value if isinstance(value, str) else otherwise
