"""Programs that start a command at fixed times: systemd's user manager, and cron."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from kith.core.errors import KithError, UsageError
from kith.core.event_loop import run_loop
from kith.core.processes import Ended, run_program
from kith.features.schedule.schedules import TimerKind
from kith.features.schedule.when import EXAMPLES, When

_SECONDS: Final = 20.0
# Where kith finds its own files; a timer may not have these.
_PLACES: Final = ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "PYTHONPATH")


class Timer(Protocol):
    """Starts `kith schedule run ID` at fixed times, until it is removed."""

    @property
    def kind(self) -> TimerKind: ...

    def check(self, when: When) -> None:
        """Raises UsageError for times that it does not know."""

    def add(self, id: str, when: When) -> None:
        """Raises KithError, and has changed nothing then."""

    def remove(self, id: str) -> None:
        """Remove it, if it is there. Raises KithError."""

    def has(self, id: str) -> bool:
        """True if it is still there."""
        ...


def find_timer() -> Timer:
    """The program of this machine: systemd if a user manager runs, else cron. Raises KithError."""
    systemd, cron = Systemd(), Cron()
    if systemd.is_there():
        return systemd
    if cron.is_there():
        return cron
    raise KithError(
        "Nothing here starts programs at fixed times: no systemd user manager runs, and there is no crontab. "
        "Install cron, or have another program run: kith run -C FOLDER TASK"
    )


def timer_of(kind: TimerKind) -> Timer:
    """The program of this kind, running or not."""
    return Systemd() if kind == "systemd" else Cron()


def _command(id: str) -> tuple[str, ...]:
    # -P: nothing in the folder that it starts in may be taken for a module of Python's.
    return (sys.executable, "-P", "-m", "kith", "schedule", "run", id)


def _places(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    found = {name: environ[name] for name in _PLACES if environ.get(name)}
    if odd := next((name for name, value in found.items() if not value.isprintable()), ""):
        raise UsageError(f"{odd} holds a character that no timer can take.")
    return found


def _run(argv: Sequence[str], input: bytes | None = None) -> Ended:
    """Run a program; one that cannot be started, or hangs, failed."""
    try:
        return run_loop(run_program(argv, seconds=_SECONDS, input=input))
    except OSError as error:
        return Ended(127, b"", str(error.strerror).encode())
    except TimeoutError:
        return Ended(124, b"", f"no answer within {_SECONDS:.0f} s".encode())


def _why(ended: Ended) -> str:
    lines = ended.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1].rstrip(".") if lines else f"exit code {ended.code}"


_INSTALL: Final = "[Install]\nWantedBy=timers.target\n"


class Systemd:
    """systemd's user manager: a timer and a service for each schedule, in the person's own units."""

    kind: TimerKind = "systemd"

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        config = environ.get("XDG_CONFIG_HOME") or f"{environ.get('HOME', '')}/.config"
        self._units = Path(config) / "systemd" / "user"

    def is_there(self) -> bool:
        """True if a user manager answers."""
        return bool(shutil.which("systemctl")) and not self._do("show-environment").code

    def check(self, when: When) -> None:
        """Let systemd read the times."""
        ran = _run(("systemd-analyze", "calendar", "--", when.on_calendar))
        if ran.code not in (0, 127):
            raise UsageError(
                f"systemd does not know the time {when.on_calendar!r:.80}; kith knows {EXAMPLES}."
            )

    def add(self, id: str, when: When) -> None:
        """Write the two units and start the timer."""
        variables = "".join(f'Environment="{_quoted(f"{k}={v}")}"\n' for k, v in _places().items())
        command = " ".join(f'"{_quoted(word)}"'.replace("$", "$$") for word in _command(id))
        head = f"[Unit]\nDescription=kith schedule {id}\n\n"
        service = f"{head}[Service]\nType=oneshot\n{variables}ExecStart={command}\n"
        timer = f"{head}[Timer]\nOnCalendar={when.on_calendar}\nPersistent=true\n\n{_INSTALL}"
        try:
            self._units.mkdir(parents=True, exist_ok=True)
            self._unit(id, "service").write_text(service)
            self._unit(id, "timer").write_text(timer)
        except OSError as error:
            raise KithError(f"{self._units} cannot be written: {error.strerror}.") from error
        for words in (("daemon-reload",), ("enable", "--now", self._unit(id, "timer").name)):
            ran = self._do(*words)
            if ran.code:
                self.remove(id)
                raise KithError(f"systemctl --user {words[0]} failed: {_why(ran)}.")

    def remove(self, id: str) -> None:
        """Stop the timer and delete both units."""
        if self.has(id):
            self._do("disable", "--now", self._unit(id, "timer").name)
        try:
            for kind in ("timer", "service"):
                self._unit(id, kind).unlink(missing_ok=True)
        except OSError as error:
            raise KithError(f"{self._units} cannot be changed: {error.strerror}.") from error
        self._do("daemon-reload")

    def has(self, id: str) -> bool:
        return self._unit(id, "timer").exists()

    def _unit(self, id: str, kind: str) -> Path:
        return self._units / f"kith-schedule-{id}.{kind}"

    def _do(self, *words: str) -> Ended:
        return _run(("systemctl", "--user", *words))


def needs_linger() -> bool:
    """True if the user manager ends when the person logs out, and its timers with it."""
    ran = _run(("loginctl", "show-user", str(os.getuid()), "-p", "Linger", "--value"))
    return not ran.code and ran.stdout.strip() == b"no"


def _quoted(word: str) -> str:
    """Escape a word for double quotes in a unit file."""
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")


class Cron:
    """The person's crontab: one line for each schedule."""

    kind: TimerKind = "cron"

    def is_there(self) -> bool:
        """True if there is a crontab to write to."""
        return bool(shutil.which("crontab"))

    def check(self, when: When) -> None:
        """Raises UsageError for what only systemd can do."""
        if not when.cron:
            raise UsageError(
                f"Only systemd knows the time {when.calendar!r:.80}; here kith knows {EXAMPLES}."
            )

    def add(self, id: str, when: When) -> None:
        """Add a line."""
        places = [f"{name}={shlex.quote(value)}" for name, value in _places().items()]
        command = " ".join([*places, shlex.join(_command(id)), ">/dev/null 2>&1", _mark(id)])
        self._write([*self._lines(), f"{when.cron} {command}".replace("%", "\\%")])

    def remove(self, id: str) -> None:
        """Drop the line."""
        lines = self._lines()
        kept = [line for line in lines if not _is_own(line, id)]
        if kept != lines:
            self._write(kept)

    def has(self, id: str) -> bool:
        try:
            return any(_is_own(line, id) for line in self._lines())
        except KithError:
            return False

    def _lines(self) -> list[str]:
        ran = _run(("crontab", "-l")) if self.is_there() else Ended(0, b"", b"")
        if ran.code and not re.search(rb"\bno crontab\b", ran.stderr):
            raise KithError(f"crontab -l failed: {_why(ran)}.")
        return ran.stdout.decode("utf-8", "surrogateescape").splitlines() if not ran.code else []

    def _write(self, lines: Sequence[str]) -> None:
        text = "".join(f"{line}\n" for line in lines)
        ran = _run(("crontab", "-"), text.encode("utf-8", "surrogateescape"))
        if ran.code:
            raise KithError(f"The crontab cannot be written: {_why(ran)}.")


def _mark(id: str) -> str:
    return f"# kith schedule {id}"


def _is_own(line: str, id: str) -> bool:
    return line.endswith(_mark(id)) and not line.startswith("#")
