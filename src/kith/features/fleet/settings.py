"""The settings of a fleet, and how its database is found."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from kith.core.errors import TreeError, UsageError

Kind = Literal["none", "github", "gitlab", "gitea"]

DSN: Final = "KITH_FLEET_DSN"
_REPORT_S: Final = 5.0
_NOTE: Final = "fleet.dsn"  # in kith's state, which no sandbox shows


class Limits(Struct, frozen=True):
    """Attempts at a run, and seconds until a silent worker counts as dead; the same for all workers."""

    attempts: int = 5
    silence_s: float = 30.0

    @property
    def report_s(self) -> float:
        """Seconds between two reports of a run in which nothing happens: a cut is noticed early enough."""
        return min(_REPORT_S, self.silence_s / 4)


class FleetSettings(Struct, frozen=True):
    """The settings of workers, which all workers of one fleet should share.

    `servers`: how many tasks a model server has at once, for all workers together.
    """

    folder: str = ""  # clones and states of runs; /var/tmp/kith-fleet-UID
    store: str = ""  # artefacts and checkpoints: a path that all workers share, or s3://BUCKET/PREFIX
    attempts: Annotated[int, Meta(ge=1)] = 5  # until a run is set aside
    silence_seconds: Annotated[float, Meta(ge=1)] = 30.0  # until a silent worker counts as dead
    checkpoint_turns: Annotated[int, Meta(ge=0)] = 5  # replies between two checkpoints; 0: none
    checkpoint_mb: Annotated[int, Meta(ge=1)] = 512  # larger states are not kept
    free_mb: Annotated[int, Meta(ge=0)] = 1024  # with less on the disk a worker takes no task
    keep_days: Annotated[int, Meta(ge=0)] = 0  # for batches that have ended, until they go; 0: for ever
    listen: bool = True  # False: look for tasks again and again, as behind PgBouncer in transaction mode
    pull_requests: Kind = "none"  # drafts on "github", "gitlab" or "gitea", with a token in KITH_FLEET_TOKEN
    forge_url: str = ""  # where that is; github.com and gitlab.com need none
    servers: tuple[str, ...] = ()  # such as "http://box:8080=4", or an endpoint's name: "box=4"

    @property
    def counted(self) -> dict[str, int]:
        """The servers whose slots are counted. Raises UsageError for what is no such pair."""
        counted = dict[str, int]()
        for each in self.servers:
            server, _, slots = each.rpartition("=")
            if not server or not slots.isdigit() or not int(slots):
                raise UsageError(f'`fleet.servers` has {each!r}; it should look like "http://box:8080=4".')
            counted[server] = int(slots)
        return counted

    @property
    def limits(self) -> Limits:
        return Limits(self.attempts, self.silence_seconds)


def fleet_folder(settings: FleetSettings) -> Path:
    """The folder of this machine's runs: the same path on every machine, so that a run can move.

    Raises TreeError where it is somebody else's.
    """
    folder = Path(settings.folder or f"/var/tmp/kith-fleet-{os.getuid()}")
    if not folder.is_absolute():
        raise UsageError(f"`fleet.folder` is an absolute path, not {settings.folder!r}.")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.lstat()
    except OSError as error:
        raise TreeError(f"{folder} cannot be made: {error.strerror}.") from error
    if found.st_uid != os.getuid() or folder.is_symlink():
        raise TreeError(f"{folder} belongs to somebody else.")
    folder.chmod(0o700)
    return folder


def find_dsn(given: str, state: Path, environ: Mapping[str, str] = os.environ) -> str:
    """The database's address: as given, from KITH_FLEET_DSN, or as `kith fleet init` kept it."""
    if found := given or environ.get(DSN, ""):
        return found
    try:
        return (state / _NOTE).read_text(encoding="utf-8").strip()
    except OSError:
        raise UsageError(
            f"No fleet is known here: `kith fleet up` starts one, {DSN} names one's database."
        ) from None


def keep_dsn(dsn: str, state: Path) -> None:
    """Keep the database's address for later commands, readable by its owner alone."""
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    note = state / _NOTE
    note.touch(mode=0o600)
    note.chmod(0o600)
    note.write_text(f"{dsn}\n", encoding="utf-8")


def without_dsn(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment for what a worker starts: it leads to no database, store or forge of the fleet."""
    return {
        name: value for name, value in environ.items() if not name.startswith(("KITH_FLEET_", "PG", "AWS_"))
    }
