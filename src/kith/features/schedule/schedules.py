"""Schedules as files in kith's folder for state; what ran for one is read from the log."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from kith.core.errors import KithError, UsageError
from kith.core.locks import hold_now
from kith.core.run import SHORT, new_id

FOLDER: Final = "schedules"
_SECRET: Final = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL", re.IGNORECASE)
_KEPT: Final = re.compile(
    r"KITH_\w+|PATH|LANG|LC_\w+|OLLAMA_HOST|OPENAI_BASE_URL|LLAMA_\w+|HTTPS?_PROXY|NO_PROXY"
)
TimerKind = Literal["systemd", "cron"]


class Scheduled(Struct, frozen=True):
    """The session runs a scheduled task: the id of its schedule."""

    schedule: str


class Schedule(Struct, frozen=True):
    """A task in a folder, and when it runs, in the person's words; `timer` is the program that starts it.

    `flags` are the options that override settings, `variables` those of the environment that it needs.
    """

    id: str
    when: str
    task: str
    root: str
    timer: TimerKind
    flags: dict[str, Any] = {}
    variables: dict[str, str] = {}

    @property
    def options(self) -> dict[str, Any]:
        """The flags as settings take them: a list of words is a tuple."""
        return {key: tuple(each) if isinstance(each, list) else each for key, each in self.flags.items()}


def useful_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that a timer would not have, secrets left out."""
    return {key: value for key, value in environ.items() if _KEPT.fullmatch(key) and not _SECRET.search(key)}


class Schedules:
    """The schedules of one person."""

    def __init__(self, state: Path) -> None:
        self._folder = state / FOLDER

    def all(self) -> list[Schedule]:
        """Every schedule, by its id; what cannot be read is left out."""
        found = list[Schedule]()
        for file in sorted(self._folder.glob("*.json")):
            with suppress(OSError, ValueError):
                found.append(msgspec.json.decode(file.read_bytes(), type=Schedule))
        return found

    def find(self, beginning: str) -> Schedule:
        """The schedule whose id begins so. Raises UsageError for none, and for several."""
        found = [each for each in self.all() if each.id.startswith(beginning)]
        if len(found) == 1:
            return found[0]
        several = ", ".join(each.id for each in found)
        if several:
            raise UsageError(f"Several schedules begin with {beginning!r}: {several}.")
        raise UsageError(f"There is no schedule {beginning!r}; kith schedule lists them.")

    def free_id(self) -> str:
        """An id that no schedule has."""
        taken = {each.id for each in self.all()}
        return next(id for id in iter(lambda: new_id()[:SHORT], "") if id not in taken)

    def save(self, schedule: Schedule) -> None:
        """Write a schedule. Raises KithError."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = self._file(schedule.id, ".new")
            file.write_text(json.dumps(msgspec.to_builtins(schedule), indent=2) + "\n")
            file.replace(self._file(schedule.id, ".json"))
        except OSError as error:
            raise KithError(f"The schedule cannot be saved in {self._folder}: {error.strerror}.") from error

    def remove(self, schedule: Schedule) -> None:
        """Delete a schedule, and what is kept with it."""
        for ending in (".json", ".fault", ".lock"):
            self._file(schedule.id, ending).unlink(missing_ok=True)

    # --- one run --------------------------------------------------------------------------------

    def hold(self, schedule: Schedule) -> Any:
        """The lock of a run; None while another run of the same schedule lasts."""
        return hold_now(self._file(schedule.id, ".lock"))

    def fault(self, schedule: Schedule) -> str:
        """Return why the last run could not begin a session, "" if it did."""
        with suppress(OSError, ValueError):
            return self._file(schedule.id, ".fault").read_text(encoding="utf-8").strip()
        return ""

    def keep_fault(self, schedule: Schedule, words: str) -> None:
        """Keep why a run could not begin; "" when it did."""
        file = self._file(schedule.id, ".fault")
        with suppress(OSError):
            if words:
                file.write_text(f"{words}\n", encoding="utf-8")
            else:
                file.unlink(missing_ok=True)

    def _file(self, id: str, ending: str) -> Path:
        return self._folder / f"{id}{ending}"
