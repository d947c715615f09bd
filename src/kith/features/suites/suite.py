"""A suite as a program: it lists tasks, prepares a folder for one, and grades what became of it.

`SUITE list --json` prints a JSON object a line, with `id`. `SUITE prepare ID DIR` makes a git repository and
prints a `Prepared`. `SUITE grade ID DIR` runs hidden tests on a copy and prints a `Grade`. All may say more.
"""

import os
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec import Struct, field

from kith.core.errors import KithError, UsageError
from kith.core.processes import Ended, run_program

_LIST_S: Final = 120.0
_PREPARE_S: Final = 600.0
_GRADE_S: Final = 3600.0

T = TypeVar("T")


class Prepared(Struct, frozen=True):
    """A task in its folder. `run_tests`: a command, or its words; None where no test is to be seen."""

    instruction: str
    env: dict[str, str] = field(default_factory=dict)
    run_tests: str | list[str] | None = None


class Grade(Struct, frozen=True):
    """The verdict of the hidden tests."""

    passed: bool
    score: float = 0.0
    reason: str = ""


class _Listed(Struct, frozen=True):
    id: str


class Suite:
    """A suite's program; what it prints is read with distrust, and its folders are its own."""

    def __init__(self, program: Path) -> None:
        if not program.is_file():
            raise UsageError(f"There is no suite {program}.")
        self.program = program.resolve()

    async def list_ids(self, only: Sequence[str], limit: int | None) -> list[str]:
        """The ids of the tasks, in the suite's order; with a limit, evenly spread. Raises KithError."""
        ended = await self._run("list", "--json", seconds=_LIST_S)
        lines = [line for line in ended.stdout.splitlines() if line.strip()]
        ids = [_read(line, _Listed, self.program.name).id for line in lines]
        if only:
            ids = [id for id in ids if any(fnmatchcase(id, each) for each in only)]
        if limit and limit < len(ids):
            ids = [ids[place * len(ids) // limit] for place in range(limit)]
        return ids

    async def prepare(self, id: str, folder: Path) -> Prepared:
        ended = await self._run("prepare", id, str(folder), seconds=_PREPARE_S)
        return _read(ended.stdout, Prepared, f"{self.program.name} prepare {id}")

    async def grade(self, id: str, folder: Path) -> Grade:
        """The exit code counts for nothing: a task that failed is a grade, too."""
        ended = await self._run("grade", id, str(folder), seconds=_GRADE_S, must=False)
        return _read(ended.stdout, Grade, f"{self.program.name} grade {id}")

    async def _run(self, *words: str, seconds: float, must: bool = True) -> Ended:
        command = [str(self.program), *words]
        if self.program.suffix == ".py":
            command = [sys.executable, *command]
        elif not os.access(self.program, os.X_OK):
            raise UsageError(f"{self.program} cannot be run; is it executable?")
        try:
            ended = await run_program(command, seconds=seconds)
        except TimeoutError:
            raise KithError(f"{self.program.name} {words[0]} took longer than {seconds:.0f} s.") from None
        except OSError as error:
            raise KithError(f"{self.program.name} cannot be run: {error.strerror}.") from error
        if must and ended.code:
            said = ended.stderr.decode(errors="replace").strip().splitlines()
            raise KithError(
                f"{' '.join([self.program.name, *words[:2]])}: {said[-1] if said else ended.code}"
            )
        return ended


def _read(text: bytes, kind: type[T], what: str) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError as error:
        raise KithError(f"{what} prints something else than was expected: {error}.") from error
