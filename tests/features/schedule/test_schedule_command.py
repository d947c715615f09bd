"""`kith schedule` from outside: made, listed, run by the very line that cron or systemd gets, and removed."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mending import DONE, NEW, OLD, edit
from outside import Kith

NIGHT = ("schedule", "every night", "fix mean", "--check", "none")


@pytest.fixture
def model(script: Any) -> str:
    name: str = script(edit(), DONE)
    return name


def listed(kith: Kith) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(kith("schedule", "--json").stdout)
    return rows


def make(kith: Kith, model: str) -> str:
    return kith(*NIGHT, "-m", model).stdout.split()[0]


def run_as_cron(line: str, folder: Path) -> int:
    """Run a line of a crontab as cron does: in the home folder, with little in the environment."""
    command = line.split(" ", 5)[5].replace("\\%", "%")
    few = {"HOME": os.environ["HOME"], "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh"}
    return subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=few, timeout=60).returncode


@pytest.mark.slow
def test_a_crontab_line_leaves_a_change_that_waits(kith: Kith, cron: Any, model: str, home: Path) -> None:
    cron.add("crontab.table", "# mine 100%\n0 5 * * 0 true\n")
    id = make(kith, model)
    *mine, line = cron.table.splitlines()
    assert mine == ["# mine 100%", "0 5 * * 0 true"] and line.startswith("0 2 * * * ")
    assert "has not run yet" in kith("schedule").stdout
    assert run_as_cron(line, home) == 0
    (row,) = listed(kith)
    assert row["last"]["waits"] and row["last"]["files"] == 1 and row["installed"] and not row["fault"]
    assert OLD in (kith.folder / "utils.py").read_text()
    session = row["last"]["session"][:6]
    assert f"1 file changed, waits: kith diff {session}" in kith("schedule").stdout
    assert "(waits)" in kith("sessions").stdout
    kith("apply", session, "--yes", "--check", "none")
    assert NEW in (kith.folder / "utils.py").read_text()
    kith("schedule", "remove", id)
    assert cron.table.splitlines() == mine and listed(kith) == []
    assert session in kith("sessions").stdout


@pytest.mark.slow
def test_a_systemd_timer_is_made_and_removed(kith: Kith, systemd: Any, model: str, home: Path) -> None:
    made = kith(*NIGHT, "-m", model)
    id = made.stdout.split()[0]
    assert "loginctl enable-linger" in made.stderr
    units = home / ".config" / "systemd" / "user"
    timer, service = (units / f"kith-schedule-{id}.{kind}" for kind in ("timer", "service"))
    assert "OnCalendar=*-*-* 2:0:00\nPersistent=true\n" in timer.read_text()
    assert f"--user enable --now {timer.name}" in systemd.calls
    started = re.search(r"^ExecStart=(.*)$", service.read_text(), re.MULTILINE)
    assert started
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', started[1])
    few = {"HOME": str(home), "PATH": "/usr/bin", "XDG_CONFIG_HOME": os.environ["XDG_CONFIG_HOME"]}
    few |= {key: os.environ[key] for key in ("XDG_STATE_HOME", "XDG_CACHE_HOME")}
    assert subprocess.run(words, cwd=home, env=few, timeout=60).returncode == 0
    assert listed(kith)[0]["last"]["waits"]
    kith("schedule", "remove", id[:3])
    assert not timer.exists() and not service.exists()
    assert systemd.calls[-2:] == [f"--user disable --now {timer.name}", "--user daemon-reload"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_reads_the_units(
    kith: Kith, systemd: Any, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / 'odd %h "$x" \\'))
    kith("schedule", "Mon..Fri *:0/15", "fix mean")
    assert "systemd does not know" in kith("schedule", "Mon..Fri *:0/99", "fix mean", code=2).stderr
    units = sorted((home / ".config" / "systemd" / "user").iterdir())
    (tmp_path / "run").mkdir(mode=0o700)
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    read = subprocess.run(
        ["systemd-analyze", "--user", "verify", *map(str, units)], env=env, capture_output=True, text=True
    )
    ours = [line for line in read.stderr.splitlines() if "kith-schedule" in line]
    assert len(units) == 2 and not ours


def test_what_fails_leaves_nothing_behind(kith: Kith, systemd: Any, home: Path) -> None:
    systemd.add("systemctl.refuses", "")
    assert "enable failed: Failed to enable unit: no." in kith(*NIGHT, code=1).stderr
    assert list((home / ".config" / "systemd" / "user").iterdir()) == [] and listed(kith) == []


def test_a_full_crontab_is_one_sentence(kith: Kith, cron: Any) -> None:
    cron.add("crontab.full", "")
    assert "The crontab cannot be written: crontab: no space left." in kith(*NIGHT, code=1).stderr
    assert listed(kith) == []


def test_a_machine_without_timers_says_so(kith: Kith, machine: Any) -> None:
    assert machine.folder.is_dir()
    assert "Nothing here starts programs at fixed times" in kith(*NIGHT, code=1).stderr


def test_only_systemd_takes_its_own_times(kith: Kith, cron: Any) -> None:
    assert "Only systemd knows" in kith("schedule", "Mon..Fri 09:00", "x", code=2).stderr
    assert cron.table == ""


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("every night",), "What should be done then?"),
        (("every blue moon", "x"), "'every blue moon' is not known"),
        (("remove", "x"), "There is no schedule 'x'"),
        (("run", "../../x"), "There is no schedule '../../x'"),
        (("remove",), "required: ID"),
        (("remov", "x"), "did you mean `kith schedule remove`?"),
        (("every night", "x", "-C", "nowhere"), "There is no folder"),
    ],
)
def test_bad_words_are_one_sentence(kith: Kith, cron: Any, words: tuple[str, ...], why: str) -> None:
    assert why in kith("schedule", *words, code=2).stderr
    assert cron.table == ""


def test_secrets_are_not_kept(kith: Kith, cron: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-kept")
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    kith(*NIGHT)
    (file,) = (home / ".local" / "state" / "kith" / "schedules").glob("*.json")
    assert "sk-not-kept" not in file.read_text() + cron.table
    assert json.loads(file.read_text())["variables"]["OLLAMA_HOST"] == "http://127.0.0.1:9"


@pytest.mark.slow
def test_a_run_that_cannot_begin_is_told(kith: Kith, cron: Any, home: Path, model: str) -> None:
    make(kith, model)
    elsewhere = kith.folder.with_name("elsewhere")
    kith.folder.rename(elsewhere)
    assert run_as_cron(cron.table.strip(), home) == 2
    elsewhere.rename(kith.folder)
    assert "did not start: The folder of schedule" in kith("schedule").stdout
    assert run_as_cron(cron.table.strip(), home) == 0
    assert "did not start" not in kith("schedule").stdout


def test_a_crontab_keeps_its_other_lines(kith: Kith, cron: Any) -> None:
    mine = "# mine 100%\n0 5 * * 0 true\n"
    cron.add("crontab.table", mine)
    id = kith(*NIGHT).stdout.split()[0]
    assert cron.table.startswith(f"{mine}0 2 * * * ") and cron.table.endswith(f"# kith schedule {id}\n")
    kith("schedule", "remove", id)
    assert cron.table == mine


def test_a_lost_timer_is_told(kith: Kith, cron: Any, model: str) -> None:
    id = make(kith, model)
    cron.add("crontab.table", "")
    assert "its timer is gone" in kith("schedule").stdout
    (cron.folder / "crontab").unlink()
    kith("schedule", "remove", id)
    assert "No schedules yet" in kith("schedule", "list").stderr


def test_a_run_by_hand_does_the_same(kith: Kith, cron: Any, model: str) -> None:
    done = kith("schedule", "run", make(kith, model))
    assert "The change waits" in done.stderr and cron.table
    assert OLD in (kith.folder / "utils.py").read_text()
