"""The value that all ecosystems share: the commands of a project, as data."""

import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

Read = Callable[[str], bytes | None]
Runner = Literal[
    "pytest", "unittest", "ctest", "program", "cargo", "go", "node", "jest", "vitest", "mocha", "command"
]

# Debian has no `python`, Windows no `python3`; an environment of the project's own has both.
PYTHON: Final = "python" if os.name == "nt" else "python3"
# CMake's, out of the sources, and everybody's reports. It ignores itself, so it is in nobody's change.
BUILD_FOLDER: Final = ".kith-build"
_COMPOUND: Final = re.compile(r"[;&|<>$`()\n]")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """How a project is built and tested: shell lines for the top folder of its tree.

    `why` names what in the project spoke for it. `run` starts the tests of a tree that is built; where it
    ends with `targets`, these words say what is tested and give way when some tests are chosen. `runner`
    says who runs them, so how they are made to leave a report and to run only some of them: a "program" is
    one test program of C or C++, a "command" has an exit code and nothing else for sure. `env` are variables
    for all of its lines; a relative path in one is relative to the top. `coverage`: the options of its
    coverage tool, "" where none is known. For what is missing: `own` are the project's
    top modules, `generated` those that exist only after its own build, `requires` the distributions that its
    manifests name, `absent` its submodules that were not fetched (folder, address).
    """

    name: str
    language: str
    why: str
    run: str
    runner: Runner = "command"
    configure: str = ""
    build: str = ""
    coverage: str = ""
    env: tuple[tuple[str, str], ...] = ()
    targets: str = ""
    own: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    absent: tuple[tuple[str, str], ...] = ()

    @property
    def compiles(self) -> bool:
        """Whether its tests are built first, so that a tree in which that was done before saves time."""
        return bool(self.configure or self.build) or self.runner in ("ctest", "cargo", "go")

    @property
    def test(self) -> str:
        """The whole command, from the sources to an exit code."""
        line = " && ".join(line for line in (self.configure, self.build, self.run) if line)
        return with_env(line, self.env)


def with_env(line: str, env: tuple[tuple[str, str], ...]) -> str:
    """`line` with variables, as a person would type it."""
    pairs = " ".join(f"{name}={shlex.quote(value)}" for name, value in env)
    if not pairs:
        return line
    return f"export {pairs}; {line}" if _COMPOUND.search(line) else f"{pairs} {line}"


def read_text(read: Read, path: str) -> str:
    """A file as text, "" for one that is not there."""
    return (read(path) or b"").decode("utf-8", "replace")
