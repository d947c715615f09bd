"""The value that all ecosystems share: the commands of a project, as data."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

Read = Callable[[str], bytes | None]
Runner = Literal["pytest", "unittest", "ctest", "cargo", "go", "node", "jest", "command"]

# Debian has no `python`, Windows no `python3`; an environment of the project's own has both.
PYTHON: Final = "python" if os.name == "nt" else "python3"
# CMake's, out of the sources, and everybody's reports. It ignores itself, so it is in nobody's change.
BUILD_FOLDER: Final = ".kith-build"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """How a project is built and tested: shell lines for the top folder of its tree.

    `why` names what in the project spoke for it. `run` starts the tests of a tree that is built. `runner`
    says who runs them, so how they are made to leave a report and to run only some of them; a "command" has
    an exit code and nothing else. `coverage`: the options of its coverage tool, "" where none is known.
    """

    name: str
    language: str
    why: str
    run: str
    runner: Runner = "command"
    configure: str = ""
    build: str = ""
    coverage: str = ""

    @property
    def compiles(self) -> bool:
        """Whether its tests are built first, so that a tree in which that was done before saves time."""
        return bool(self.configure or self.build) or self.runner in ("ctest", "cargo", "go")

    @property
    def test(self) -> str:
        """The whole command, from the sources to an exit code."""
        return " && ".join(line for line in (self.configure, self.build, self.run) if line)
