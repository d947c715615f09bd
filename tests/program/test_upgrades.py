"""What earlier kiths left on the disk is listed, shown, resumed, undone and applied by this one.

`tools/record_state.py` records the fixtures. None is ever made again: they are what an older program wrote.
"""

import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kith.core.codec import KINDS
from kith.core.replace_file import put_private
from kith.features.engine.home import EngineHome
from kith.features.engine.processes import birth
from kith.memory.database import VERSION
from kith.memory.log import Log
from outside import Kith

FIXTURES = Path(__file__).parent.parent / "fixtures" / "upgrades"
EVERY = sorted(folder.name for folder in FIXTURES.iterdir())


def files_of(version: str) -> dict[str, dict[str, str]]:
    """The files of the project and of the state, by their names, and where its links lead."""
    held: dict[str, dict[str, str]] = json.loads((FIXTURES / version / "files.json").read_text("utf-8"))
    return held


WAITS = [name for name in EVERY if any("-1/checkpoints/" in path for path in files_of(name)["state"])]
BUILDS = [name for name in EVERY if any("-build/checkpoints/" in path for path in files_of(name)["state"])]
TRUSTED = [
    name for name in EVERY if re.search(r'"trust\.|FolderFiles', (FIXTURES / name / "log.sql").read_text())
]
WITH_ENGINE = [name for name in EVERY if (FIXTURES / name / "engine.json").exists()]
FIXED, BROKEN = "sum(numbers) / len(numbers)", "sum(numbers) / (len(numbers) + 1)"
ENDS = {
    "Fix mean": "done",
    "Write a changelog": "done",
    "Write notes": "rejected",
    "Write a draft": "unfinished",
    "What does mean do?": "done",
}
BUILT = {"Add double": "done", "Add triple": "unfinished"}


@pytest.fixture
def state(home: Path) -> Path:
    return home / ".local" / "state" / "kith"


@pytest.fixture
def kith(request: pytest.FixtureRequest, tmp_path: Path, state: Path) -> Kith:
    """kith in the project of a fixture, with the state that an older kith left."""
    source, project = FIXTURES / request.param, Path(os.path.realpath(tmp_path)) / "project"
    key = hashlib.sha256(os.fsencode(project)).hexdigest()[:10]

    def here(text: str) -> str:
        work = str(project.parent)
        return text.replace("@PROJECT@", str(project)).replace("@WORK@", work).replace("@TREE@", key)

    held = files_of(request.param)
    for folder, files in ((project, held["project"]), (state, held["state"])):
        for name, text in files.items():
            placed = folder / here(name)
            placed.parent.mkdir(parents=True, exist_ok=True)
            placed.write_text(here(text), "utf-8")
    for name, target in held["links"].items():
        (state / here(name)).symlink_to(here(target))
    with closing(sqlite3.connect(state / "log.sqlite3")) as log:
        log.executescript(here((source / "log.sql").read_text("utf-8")))
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "First"]):
        subprocess.run(["git", *words], cwd=project, check=True)
    return Kith(project)


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in EVERY]
every = pytest.mark.parametrize("kith", EVERY, indirect=True)
every_slowly = pytest.mark.parametrize("kith", SLOW, indirect=True)
with_a_waiting_change = pytest.mark.parametrize("kith", WAITS, indirect=True)


def sessions(kith: Kith) -> dict[str, dict[str, Any]]:
    """Every session by its task, as `kith sessions --json` lists them."""
    return {each["title"]: each for each in json.loads(kith("sessions", "--json").stdout)}


def test_there_is_a_fixture_of_every_chapter() -> None:
    assert [*map(len, (EVERY, WAITS, BUILDS, TRUSTED, WITH_ENGINE))] >= [5, 3, 4, 3, 4]


@every_slowly
def test_sessions_are_listed_and_exported(kith: Kith) -> None:
    found = sessions(kith)
    ends = {title: each["status"] for title, each in found.items() if title in {*ENDS, *BUILT}}
    assert ends in (ENDS, ENDS | BUILT)
    for title in ("Fix mean", *({"Add double"} & {*found})):
        exported = kith("export", found[title]["id"], "--format", "md").stdout
        assert title in exported and ("return 2 * n" if "double" in title else FIXED) in exported


@every
def test_no_event_is_left_out(kith: Kith, state: Path) -> None:
    log = Log(state / "log.sqlite3")
    for session in log.session_ids():
        stored = [row[3] for row in log.rows(session, 0, 1000)]
        read = [type(record.event).__name__ for record in log.events(session)]
        assert read == stored and not set(stored) - set(KINDS)
        assert log.left_out(session) == 0 and log.past(session)
    log.close()


@every
def test_a_killed_task_is_resumed_with_its_files(kith: Kith, script: Any) -> None:
    killed = sessions(kith)["Write a draft"]["id"]
    more = {"calls": [{"name": "edit", "args": {"path": "DRAFT.md", "old": "Half", "new": "All"}}]}
    done = {"calls": [{"name": "done", "args": {"summary": "Done."}}]}
    kith("run", "--resume", killed, "-m", script(more, done), "--check", "none", "--yes")
    assert (kith.folder / "DRAFT.md").read_text() == "All of it.\n"


@every_slowly
def test_an_applied_change_is_undone_and_redone(kith: Kith, state: Path) -> None:
    utils = kith.folder / "utils.py"
    assert FIXED in utils.read_text()
    log = Log(state / "log.sqlite3")
    change = [event.change_id for _, event in log.applied(str(kith.folder))]
    log.close()
    if (kith.folder / "double.py").exists():  # a build's, which came last
        kith("undo", change.pop())
        assert not (kith.folder / "double.py").exists()
    kith("undo", change[0])
    assert BROKEN in utils.read_text()
    kith("undo", change[-1])  # the undo of the second change, which it makes again
    assert (kith.folder / "CHANGES.md").read_text() == "Nothing yet.\n"


@with_a_waiting_change
def test_a_waiting_change_is_shown_and_applied(kith: Kith) -> None:
    waiting = sessions(kith)["Write notes"]
    assert waiting["waiting"]
    assert "+Remember the mean." in kith("diff", waiting["id"]).stdout
    kith("apply", waiting["id"], "--yes")
    assert (kith.folder / "NOTES.md").read_text() == "Remember the mean.\n"


@pytest.mark.slow
@pytest.mark.parametrize("kith", BUILDS, indirect=True)
def test_a_killed_build_is_resumed(kith: Kith, script: Any) -> None:
    """Its tests are written and locked already: only the code is missing."""
    found = sessions(kith)
    steps = [line.split()[2:] for line in kith("log", found["Add double"]["id"]).stdout.splitlines()]
    assert {"plan", "agree", "lock", "apply"} <= {step[0] for step in steps}
    code = {"path": "triple.py", "content": "def triple(n):\n    return 3 * n\n"}
    done = {"calls": [{"name": "done", "args": {"summary": "Done."}}]}
    model = script({"calls": [{"name": "write", "args": code}]}, *[done] * 4)
    kith("build", "--resume", found["Add triple"]["id"], "-m", model, "--yes")
    assert (kith.folder / "triple.py").read_text() == code["content"]
    assert "triple(1), 3" in (kith.folder / "tests/test_triple.py").read_text()


@pytest.mark.parametrize("kith", TRUSTED, indirect=True)
def test_a_trusted_folder_stays_trusted_until_it_changes(kith: Kith) -> None:
    assert str(kith.folder) in kith("trust", "--list").stdout.replace("\n", "")
    assert "You trust it as it is." in kith("trust", "--show").stdout
    (kith.folder / "AGENTS.md").write_text("Keep it long.\n")
    assert "You trust it" not in kith("trust", "--show").stdout


@every
def test_every_setting_is_still_read(kith: Kith, home: Path, request: pytest.FixtureRequest) -> None:
    fixture = FIXTURES / request.node.callspec.params["kith"]
    config = home / ".config" / "kith" / "config.toml"
    config.parent.mkdir(parents=True)
    shutil.copy(fixture / "config.toml", config)
    told = kith("config")
    assert "unknown" not in told.stderr and "config.toml" in told.stdout


@every
def test_the_profile_counts_what_was_measured(kith: Kith) -> None:
    assert "replay/" in kith("profile").stdout


KEEPER = """
import fcntl, os, sys, time
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no engine runs there")
@pytest.mark.parametrize("version", WITH_ENGINE)
def test_a_running_engine_is_shown_and_stopped(version: str, repository: Path, state: Path) -> None:
    """Its keeper is the older kith's, and still runs: this kith knows it by its record and its lock."""
    home = EngineHome(state / "engines" / "0123456789abcdef")
    home.make()
    command = [sys.executable, "-c", KEEPER, str(home.keeper)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as keeper:
        assert keeper.stdout and keeper.stdout.readline() == "locked\n"
        record = (FIXTURES / version / "engine.json").read_text("utf-8")
        told = {"@KEEPER@": str(keeper.pid), "@KEEPER_BORN@": birth(keeper.pid), "@ENGINE@": "0"}
        for mark, text in told.items():
            record = record.replace(mark, text)
        put_private(home.record, record.encode())
        kith = Kith(repository)
        assert kith("engine").stdout.startswith("file/tiny  ready, idle  window 4,096")
        assert kith("engine", "stop").stdout == "Stopped 1 engine.\n"
        assert keeper.wait(60) != 0 and not home.folder.exists()


# --- and back: a newer kith's state is left as it is -----------------------------------------


COMMANDS = (
    *(
        "sessions",
        "undo",
        "apply",
        "diff",
        "status",
        "permits",
        "trust --list",
        "export",
        "profile",
        "models",
    ),
    *("run --yes x", "edits apply --write", "serve --port 0", "mcp", "why", "scan", "coach"),
)


@pytest.mark.slow
@pytest.mark.parametrize("kith", [EVERY[-1]], indirect=True)
def test_an_older_kith_refuses_newer_state_and_changes_nothing(kith: Kith, state: Path) -> None:
    with closing(sqlite3.connect(state / "log.sqlite3")) as log:
        log.execute("CREATE VIEW newer AS SELECT * FROM events")
        log.execute(f"PRAGMA user_version={VERSION + 1}")
    before = files_below(state), files_below(kith.folder)
    for command in COMMANDS:
        told = kith(*command.split(), code=1).stderr
        assert told.count("\n") == 1 and "A newer kith wrote the log" in told and "Update kith" in told
    assert (files_below(state), files_below(kith.folder)) == before


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git/" not in str(path)
    }


def test_a_setting_of_a_newer_kith_is_named_and_kept(repository: Path, home: Path) -> None:
    config = home / ".config" / "kith" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('model = "replay/none"\ntelepathy = true\n')
    for words in (("sessions",), ("config", "set", "tries", "2"), ("run", "x")):
        told = Kith(repository)(*words, code=2).stderr
        assert told.count("\n") == 1 and "telepathy" in told and "config.toml" in told
    assert config.read_text() == 'model = "replay/none"\ntelepathy = true\n'
