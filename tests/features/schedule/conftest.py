"""Programs that start others at fixed times: scripts on PATH that remember what they were told."""

import os
from pathlib import Path

import pytest

CRONTAB = """#!/bin/sh
# Debian's crontab, with its file beside it.
table="$0.table"
case "$1" in
-l) [ -f "$table" ] || { echo "no crontab for me" >&2; exit 1; }; cat "$table" ;;
-) [ -f "$0.full" ] && { echo "crontab: no space left" >&2; exit 1; }; cat > "$table" ;;
*) exit 64 ;;
esac
"""
SYSTEMCTL = """#!/bin/sh
# A user manager: enables only timers whose two units are there.
echo "$*" >> "$0.calls"
shift
case "$1" in
enable) unit="$XDG_CONFIG_HOME/systemd/user/$3"
  [ -f "$unit" ] && [ -f "${unit%.timer}.service" ] || exit 1
  [ -f "$0.refuses" ] && { echo "Failed to enable unit: no." >&2; exit 1; } ;;
esac
exit 0
"""
LOGINCTL = "#!/bin/sh\necho no\n"
HIDDEN = ("systemctl", "crontab", "loginctl")


class Machine:
    """The programs of a machine: none of these at first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.write_text(text)
        file.chmod(0o755)
        return file

    @property
    def table(self) -> str:
        file = self.folder / "crontab.table"
        return file.read_text() if file.exists() else ""

    @property
    def calls(self) -> list[str]:
        return (self.folder / "systemctl.calls").read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            if program.name not in HIDDEN and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    monkeypatch.setenv("PATH", str(folder))
    return Machine(folder)


@pytest.fixture
def cron(machine: Machine) -> Machine:
    machine.add("crontab", CRONTAB)
    return machine


@pytest.fixture
def systemd(machine: Machine) -> Machine:
    machine.add("systemctl", SYSTEMCTL)
    machine.add("loginctl", LOGINCTL)
    return machine
