"""The commands of the fleet from outside: what they take, print and refuse."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from kith.core.errors import EXIT_TRY_LATER, UsageError
from kith.features.fleet import entry
from kith.settings import features
from outside import Kith
from postgres import Postgres


@pytest.fixture
def fleet(kith: Kith, dsn: str, tmp_path: Path) -> Kith:
    """kith, with a fleet's database, and a file of three tasks."""
    kith("fleet", "init", dsn)
    tasks = [
        {"key": "a", "repository": str(kith.folder), "request": "mend mean", "labels": ["bug"]},
        {"key": "b", "repository": str(kith.folder), "command": "review", "request": "HEAD"},
        {"key": "c", "repository": str(kith.folder), "request": "mend clamp", "priority": 5, "alone": True},
    ]
    (kith.folder / "tasks.jsonl").write_text("\n".join(map(json.dumps, tasks)))
    return kith


def submit(kith: Kith, *words: str) -> str:
    done = kith("fleet", "submit", "tasks.jsonl", "--json", *words)
    batch: str = json.loads(done.stdout)["batch"]
    return batch


@pytest.mark.slow
def test_a_batch_is_submitted_shown_cancelled_and_retried(fleet: Kith) -> None:
    batch = submit(
        fleet, "--name", "evening", "--submitter", "ada", "--max-usd", "2.5", "--publish", "/srv/x.git"
    )
    overview = json.loads(fleet("fleet", "status", "--json").stdout)
    (shown,) = overview["batches"]
    assert (shown["id"], shown["name"], shown["submitter"]) == (batch, "evening", "ada")
    assert (shown["waiting"], shown["max_usd"], overview["workers"]) == (3, 2.5, [])
    assert fleet("fleet", "cancel", "evening", "a").stdout.startswith("1 ")
    fleet("fleet", "cancel", batch)
    fleet("fleet", "cancel", batch, code=1)  # nothing is left to cancel
    states = {
        run["key"]: run["state"]
        for run in json.loads(fleet("fleet", "status", batch[:4], "--json").stdout)["runs"]
    }
    assert states == dict.fromkeys("abc", "cancelled")
    assert fleet("fleet", "watch", batch, code=1).stdout
    fleet("fleet", "retry", batch, "b", "--max-usd", "9")
    rows = list(csv.DictReader(io.StringIO(fleet("fleet", "results", batch, "--format", "csv").stdout)))
    assert [row["state"] for row in rows] == ["cancelled", "waiting", "cancelled"]
    assert json.loads(fleet("fleet", "results", batch, "--format", "json").stdout)["batch"]["max_usd"] == 9


@pytest.mark.slow
def test_tasks_are_added_to_a_batch_once(fleet: Kith) -> None:
    batch = submit(fleet)
    assert submit(fleet, "--batch", batch) == batch
    assert len(json.loads(fleet("fleet", "status", batch, "--json").stdout)["runs"]) == 3


@pytest.mark.slow
def test_changes_are_published_again_only_where_that_failed(fleet: Kith) -> None:
    batch = submit(fleet, "--publish", "/srv/x.git")
    fleet("fleet", "publish", batch, code=1)
    fleet("fleet", "publish", "nobody", code=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "token", "missing"),
    [("ftp://forge", "x", "forge_url"), ("https://forge", "", "KITH_FLEET_TOKEN")],
)
def test_a_publisher_needs_the_address_and_the_token_of_its_forge(
    fleet: Kith, monkeypatch: pytest.MonkeyPatch, url: str, token: str, missing: str
) -> None:
    monkeypatch.setenv("KITH_FLEET_PULL_REQUESTS", "gitea")
    monkeypatch.setenv("KITH_FLEET_FORGE_URL", url)
    monkeypatch.setenv("KITH_FLEET_TOKEN", token)
    assert missing in fleet("fleet", "worker", "--publish-only", code=2).stderr


@pytest.mark.slow
def test_another_database_is_named_by_an_option_or_the_environment(
    kith: Kith, dsn: str, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kith("fleet", "status", "--dsn", dsn).stdout
    monkeypatch.setenv("KITH_FLEET_DSN", postgres.new_database())
    kith("fleet", "status", code=2)  # it has no tables


def test_without_a_fleet_a_command_says_how_to_begin(kith: Kith) -> None:
    assert "kith fleet up" in kith("fleet", "status", code=2).stderr


@pytest.mark.slow
def test_a_database_that_is_away_is_one_sentence_with_its_reason(kith: Kith, tmp_path: Path) -> None:
    done = kith("fleet", "status", "--dsn", f"host={tmp_path} dbname=fleet", code=EXIT_TRY_LATER)
    (line,) = done.stderr.splitlines()
    assert "No such file" in line


def test_an_address_stays_with_its_owner(kith: Kith, home: Path, dsn: str) -> None:
    kith("fleet", "init", dsn)
    (note,) = (home / ".local" / "state" / "kith").glob("*dsn*")
    assert note.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_a_schema_of_another_version_is_refused(fleet: Kith, postgres: Postgres, dsn: str) -> None:
    postgres.sql("UPDATE fleet_schema SET version = 99", dsn.rpartition("dbname=")[2])
    assert "99" in fleet("fleet", "status", code=2).stderr
    assert "99" in fleet("fleet", "worker", "--models", "box/x", code=2).stderr


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="takes another user's place")
def test_a_fleet_on_one_machine_needs_no_root(kith: Kith, tmp_path: Path) -> None:
    """`kith fleet up` as the user `postgres`: it makes a database, works, and stops with it."""
    place = Path("/tmp") / f"kith-up-{os.getpid()}"
    place.mkdir()
    subprocess.run(["chown", "-R", "postgres:postgres", str(place)], check=True)
    env = {**os.environ, "HOME": str(place), "KITH_MODEL": "replay/none"}
    env |= {f"XDG_{each}_HOME": str(place / each.lower()) for each in ("CONFIG", "STATE", "CACHE", "DATA")}
    other = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--", sys.executable]
    if subprocess.run([*other, "-c", "import kith"], env=env, cwd="/", capture_output=True).returncode:
        pytest.skip("another user may not read this checkout or its Python")
    command = [*other, "-m", "kith", "fleet", "up", "--models", "replay/none.json"]
    process = subprocess.Popen(command, env=env, cwd="/", stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr
        for line in process.stderr:
            if "at once" in line:
                break
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert not list((place / "state").rglob("postmaster.pid"))
    finally:
        process.kill()
        subprocess.run(["rm", "-rf", str(place)], check=True)


@pytest.mark.parametrize("usd", ["-1", "nan", "inf", "none"])
def test_a_budget_is_an_amount(kith: Kith, usd: str) -> None:
    kith("fleet", "submit", "tasks.jsonl", "--max-usd", usd, code=2)


def test_without_its_packages_a_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "find_spec", lambda name: None)
    with pytest.raises(UsageError):
        entry.status(Namespace())


def test_root_is_told_to_be_somebody_else(kith: Kith) -> None:
    if os.getuid() != 0:
        pytest.skip("root alone is refused")
    assert "root" in kith("fleet", "up", code=2).stderr
