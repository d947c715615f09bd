"""Workers as processes: they die, freeze, drain and lose their database, and every run has one result."""

import asyncio
import gc
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from msgspec.structs import replace

from fleet_support import faketime
from forge_server import TOKEN, StandInForge, over_http
from kith.features.demo.standin.http import Request
from kith.features.fleet.settings import FleetSettings
from kith.features.fleet.worker import find_models
from kith.settings import load_settings
from kith.settings.values import NamedEndpoint
from outside import Kith, in_thread
from pgbouncer import PORT, bouncing
from postgres import Postgres
from waiting import until

OLD = "return sum(numbers) / (len(numbers) + 1)"
NEW = "return sum(numbers) / len(numbers) if numbers else 0"
EDIT = {"calls": [{"name": "edit", "args": {"path": "utils.py", "old": OLD, "new": NEW}}]}
READ = {"calls": [{"name": "read", "args": {"path": "utils.py"}}]}
STEPS = (READ, EDIT, READ, READ, "Mended.")
SETTINGS = """\
check = "python3 -m unittest -q"
[endpoints.box]
kind = "vllm"
url = "{url}"
[fleet]
folder = "{folder}"
silence_seconds = 2
checkpoint_turns = 1
checkpoint_mb = 64
store = "{folder}/store"
free_mb = 0
"""
SOON_S = 120
LOOK_S = 0.5  # between two looks, each a process: more of them would take a core from the workers


class Fleet:
    """A fleet of one machine: a stand-in model, its settings, workers, and a batch of tasks."""

    def __init__(self, kith: Kith, home: Path, dsn: str) -> None:
        self.kith, self.home, self.dsn = kith, home, dsn
        self.steps: tuple[Any, ...] = STEPS
        self.asked: list[int] = []  # the step of each reply that the model gave

    def write_settings(self, url: str, folder: Path) -> None:
        config = self.home / ".config" / "kith"
        config.mkdir(parents=True)
        (config / "config.toml").write_text(SETTINGS.format(url=url, folder=folder))
        self.kith("fleet", "init", self.dsn)

    def bear_silence(self, seconds: int) -> None:
        """Where the number of attempts counts: a busy machine is no dead worker."""
        config = self.home / ".config" / "kith" / "config.toml"
        config.write_text(config.read_text().replace("silence_seconds = 2", f"silence_seconds = {seconds}"))

    def answer(self, request: Request) -> Any:
        """The step that follows from the conversation, whoever asks."""
        step = sum(message["role"] == "assistant" for message in request.body["messages"])
        self.asked.append(step)
        reply = self.steps[min(step, len(self.steps) - 1)]
        return reply if isinstance(reply, str) else {**reply, "text": f"Step {step}."}

    def submit(self, *words: str) -> str:
        (self.home / "repos").write_text(f"{self.kith.folder}\n")
        done = self.kith("fleet", "submit", "--repos", str(self.home / "repos"), *words, "mend mean")
        return done.stdout.strip()

    def runs(self, batch: str) -> list[dict[str, Any]]:
        done = self.kith("fleet", "status", batch, "--json")
        runs: list[dict[str, Any]] = json.loads(done.stdout)["runs"]
        return runs

    def one(self, batch: str) -> dict[str, Any]:
        (run,) = self.runs(batch)
        return run

    def wait(self, batch: str) -> dict[str, Any]:
        return self.until(batch, lambda run: run["state"] not in ("waiting", "running"))

    def until(self, batch: str, done: Any) -> dict[str, Any]:
        end = time.monotonic() + SOON_S
        while not done(run := self.one(batch)):
            assert time.monotonic() < end, run
            time.sleep(LOOK_S)
        return run

    def until_asked(self, step: int) -> None:
        end = time.monotonic() + SOON_S
        while step not in self.asked:
            assert time.monotonic() < end, self.asked
            time.sleep(0.02)

    @contextmanager
    def worker(self, *words: str) -> Iterator["subprocess.Popen[str]"]:
        with self.bare_worker("--models", "box/standin", *words) as process:
            assert process.stderr and "at once" in process.stderr.readline()
            yield process

    @contextmanager
    def bare_worker(self, *words: str) -> Iterator["subprocess.Popen[str]"]:
        command = [sys.executable, "-m", "kith", "fleet", "worker", *words]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=self.home)
        try:
            yield process
        finally:
            for each in (signal.SIGCONT, signal.SIGTERM):
                process.send_signal(each)
            process.communicate(timeout=60)


@pytest.fixture
def fleet(kith: Kith, home: Path, dsn: str, tmp_path: Path, sandbox: None) -> Iterator[Fleet]:
    made = Fleet(kith, home, dsn)
    with in_thread(made.answer, "vllm", delay_first_byte=0.3) as server:
        made.write_settings(server.url, tmp_path / "fleet")
        yield made


def kiths_at_work(folder: Path) -> list[str]:
    """The command lines of processes that work in a folder."""
    found = []
    for each in Path("/proc").iterdir():
        try:
            words = (each / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if any(word.startswith(str(folder)) for word in words):
            found.append(" ".join(words))
    return found


@pytest.mark.slow
def test_a_task_ends_with_a_patch_a_receipt_and_a_report(fleet: Fleet, tmp_path: Path) -> None:
    fleet.bear_silence(60)
    batch = fleet.submit("-m", "box/standin")
    with fleet.worker("--grace", "0"):
        run = fleet.wait(batch)
    assert (run["state"], run["verdict"], run["code"], run["attempts"]) == ("done", "proven", 0, 1)
    assert fleet.kith("fleet", "watch", batch).returncode == 0
    saved = tmp_path / "saved"
    told = json.loads(fleet.kith("fleet", "results", batch, "--format", "json", "--save", str(saved)).stdout)
    assert told["solved"] == 1 and told["verdicts"] == {"proven": 1}
    folder = saved / run["key"]
    assert json.loads((folder / "receipt.json").read_text())["evidence"] == "proven"
    subprocess.run(["git", "apply", str(folder / "patch.patch")], cwd=fleet.kith.folder, check=True)
    assert NEW in (fleet.kith.folder / "utils.py").read_text()
    assert not list((tmp_path / "fleet" / "runs").glob("*/"))


@pytest.mark.slow
def test_reviews_end_with_their_findings(fleet: Fleet, tmp_path: Path) -> None:
    task = {
        "repository": str(fleet.kith.folder),
        "command": "review",
        "request": "HEAD",
        "model": "box/standin",
    }
    (fleet.home / "tasks").write_text(json.dumps(task))
    batch = fleet.kith("fleet", "submit", str(fleet.home / "tasks")).stdout.strip()
    with fleet.worker("--grace", "0"):
        assert fleet.wait(batch)["state"] == "done"
    fleet.kith("fleet", "results", batch, "--save", str(tmp_path / "saved"))
    assert json.loads((tmp_path / "saved" / "1" / "output.txt").read_text())


@pytest.mark.disturbed("workers and a database that are killed, frozen and restarted")
@pytest.mark.slow
def test_a_run_goes_on_elsewhere_when_its_worker_is_killed(fleet: Fleet, tmp_path: Path) -> None:
    fleet.bear_silence(5)
    batch = fleet.submit("-m", "box/standin")
    with fleet.worker() as first:
        fleet.until_asked(3)
        first.kill()
        first.wait()
        until(lambda: not kiths_at_work(tmp_path / "fleet"), "its kith goes on without it")
    before = list(fleet.asked)
    with fleet.worker():
        run = fleet.wait(batch)
    assert (run["verdict"], run["files"]) == ("proven", 1) and run["attempts"] >= 2
    again = fleet.asked[len(before) :]
    assert again[0] >= 1  # it did not begin anew


@pytest.mark.slow
def test_a_drained_run_is_handed_over_with_all_that_it_did(fleet: Fleet) -> None:
    fleet.bear_silence(60)
    batch = fleet.submit("-m", "box/standin")
    with fleet.worker("--grace", "0") as first:
        fleet.until_asked(2)
        first.terminate()
        first.wait(60)
    run = fleet.one(batch)
    assert run["state"] == "waiting"
    told = len(fleet.asked)
    with fleet.worker():
        run = fleet.wait(batch)
    assert (run["verdict"], run["attempts"]) == ("proven", 2)
    assert fleet.asked[told:][0] >= 2 and len(fleet.asked) <= len(STEPS) + 1


@pytest.fixture(params=[600, -600])
def skewed(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A PostgreSQL whose clock is ten minutes ahead of all workers, or behind. (faketime slows Python.)"""
    clock = (f"LD_PRELOAD={faketime()}", f"FAKETIME={request.param:+}s", "FAKETIME_DONT_FAKE_MONOTONIC=1")
    server = Postgres(Path(mkdtemp(prefix="kith-pg-", dir="/tmp")), clock)
    try:
        server.make()
        server.start()
        there = float(server.sql("SELECT extract(epoch FROM now())"))
        assert abs(there - time.time() - request.param) < 60
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


@pytest.mark.slow
def test_wrong_clocks_lose_no_lease_and_keep_none(fleet: Fleet, skewed: Postgres) -> None:
    """A run ends once, with the database's times; when its worker is dead, it goes on elsewhere."""
    fleet.bear_silence(15)
    fleet.steps = (*({**each, "delay": 5.5} for each in (READ, EDIT, READ, READ)), "Mended.")
    fleet.kith("fleet", "init", skewed.address("postgres"))
    begun = time.monotonic()
    with fleet.worker("--name", "one") as one, fleet.worker("--name", "two") as two:
        batch = fleet.submit("-m", "box/standin")
        run = fleet.until(batch, lambda run: run["turns"] >= 3)
        assert run["attempts"] == 1  # though it takes longer than 15 s
        workers = json.loads(fleet.kith("fleet", "status", "--json").stdout)["workers"]
        assert [0 <= each["silent_s"] < 60 for each in workers] == [True, True]
        first = run["worker"]
        {"one": one, "two": two}[first].kill()
        # As if 15 s had gone by; by a clock other than the database's it would be ten minutes more, or less.
        late = "UPDATE procrastinate_workers SET last_heartbeat = last_heartbeat - interval '15 s'"
        skewed.sql(f"{late} WHERE id IN (SELECT worker_id FROM procrastinate_jobs WHERE status = 'doing')")
        run = fleet.wait(batch)
        assert (run["attempts"], run["worker"]) == (2, "two" if first == "one" else "one")
    assert (run["state"], run["verdict"], run["files"]) == ("done", "proven", 1)
    assert 0 <= run["seconds"] <= time.monotonic() - begun


@pytest.mark.disturbed("workers and a database that are killed, frozen and restarted")
@pytest.mark.slow
def test_a_frozen_worker_that_wakes_up_changes_nothing(fleet: Fleet) -> None:
    fleet.bear_silence(5)
    batch = fleet.submit("-m", "box/standin")
    with fleet.worker() as frozen:
        fleet.until_asked(0)
        frozen.send_signal(signal.SIGSTOP)
        with fleet.worker():
            run = fleet.wait(batch)
            assert run["state"] == "done" and run["attempts"] >= 2
            frozen.send_signal(signal.SIGCONT)
            time.sleep(3)
            then = fleet.one(batch)
            assert (then["worker"], then["attempts"]) == (run["worker"], run["attempts"])


@pytest.mark.disturbed("workers and a database that are killed, frozen and restarted")
@pytest.mark.slow
def test_a_run_outlives_a_restart_of_the_database(fleet: Fleet, postgres: Postgres) -> None:
    batch = fleet.submit("-m", "box/standin")
    with fleet.worker() as worker:
        fleet.until_asked(1)
        postgres.stop()
        time.sleep(0.5)
        postgres.start()
        run = fleet.wait(batch)
        assert worker.poll() is None
    assert (run["state"], run["verdict"]) == ("done", "proven")


@pytest.mark.disturbed("workers and a database that are killed, frozen and restarted")
@pytest.mark.slow
def test_a_worker_ends_though_its_database_is_away(fleet: Fleet, postgres: Postgres) -> None:
    fleet.submit("-m", "box/standin")
    with fleet.worker("--grace", "0") as worker:
        fleet.until_asked(1)
        postgres.stop()
        try:
            worker.terminate()
            assert worker.wait(60) == 0
        finally:
            postgres.start()


@pytest.mark.slow
def test_a_worker_that_does_not_listen_works_through_pgbouncer(fleet: Fleet, postgres: Postgres) -> None:
    config = fleet.home / ".config" / "kith" / "config.toml"
    config.write_text(config.read_text() + "listen = false\n")
    name = fleet.dsn.partition("dbname=")[2]
    with bouncing(postgres) as folder:
        fleet.kith("fleet", "init", f"host={folder} port={PORT} user=tests dbname={name}")
        with fleet.worker("--slots", "2"):
            batches = [fleet.submit("-m", "box/standin") for _ in range(2)]
            assert [fleet.wait(batch)["verdict"] for batch in batches] == ["proven", "proven"]
            assert not postgres.sql("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN %'", name)


@pytest.mark.slow
def test_a_cancelled_run_ends_at_once(fleet: Fleet, tmp_path: Path) -> None:
    batch = fleet.submit("-m", "box/standin")
    with fleet.worker():
        fleet.until_asked(0)
        fleet.kith("fleet", "cancel", batch)
        assert fleet.wait(batch)["state"] == "cancelled"
        assert not kiths_at_work(tmp_path / "fleet" / "runs")
    assert fleet.kith("fleet", "watch", batch, code=1).stdout


@pytest.mark.slow
def test_a_task_that_no_machine_can_do_is_set_aside_with_its_reason(fleet: Fleet) -> None:
    line = json.dumps({"repository": f"file://{fleet.home}/nowhere", "request": "x", "model": "box/standin"})
    (fleet.home / "tasks").write_text(line)
    batch = fleet.kith("fleet", "submit", str(fleet.home / "tasks")).stdout.strip()
    with fleet.worker():
        run = fleet.wait(batch)
    assert run["state"] == "set aside" and run["attempts"] >= 5 and "nowhere" in run["reason"]


@pytest.mark.slow
def test_a_worker_removes_what_ended_long_ago(
    fleet: Fleet, tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = fleet.submit("-m", "box/standin")
    with fleet.worker():
        assert fleet.wait(batch)["state"] == "done"
    kept = {each.name for each in (tmp_path / "fleet" / "store").glob("*/*")}
    assert set(fleet.one(batch)["artefacts"].values()) <= kept
    for each in (tmp_path / "fleet" / "store").glob("*/*"):
        os.utime(each, (0, 0))
    past = "UPDATE fleet_runs SET ended = now() - interval '3 days'"
    postgres.sql(past, fleet.dsn.partition("dbname=")[2])
    monkeypatch.setenv("KITH_FLEET_KEEP_DAYS", "2")
    with fleet.worker():
        end = time.monotonic() + SOON_S
        while json.loads(fleet.kith("fleet", "status", "--json").stdout)["batches"]:
            assert time.monotonic() < end
            time.sleep(LOOK_S)
    assert not list((tmp_path / "fleet" / "store").glob("*/*"))


@pytest.mark.slow
def test_a_worker_that_comes_before_its_model_waits_for_it(
    kith: Kith, home: Path, dsn: str, tmp_path: Path, sandbox: None
) -> None:
    fleet = Fleet(kith, home, dsn)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    fleet.write_settings(f"http://127.0.0.1:{port}", tmp_path / "fleet")
    batch = fleet.submit()
    with fleet.bare_worker() as early:
        assert early.stderr and "no model" in early.stderr.readline()
        with in_thread(fleet.answer, "vllm", port=port):
            assert "box/standin" in early.stderr.readline()
            assert fleet.wait(batch)["state"] == "done"


def test_slots_are_counted_though_the_server_does_not_answer_yet(tmp_path: Path) -> None:
    box = NamedEndpoint("vllm", "http://far.test:9")
    settings = replace(load_settings(tmp_path, {"discovery": "off"}), endpoints={"box": box})
    (offer,) = asyncio.run(find_models(settings, FleetSettings(servers=("box=4",)), ["box/some"]))
    assert offer.server == "http://far.test:9"


def test_an_endpoint_in_a_cloud_is_offered(tmp_path: Path) -> None:
    settings = replace(
        load_settings(tmp_path, {"discovery": "off"}),
        endpoints={"claude": NamedEndpoint("anthropic", "https://cloud.test")},
    )
    chosen = FleetSettings(servers=("claude=2",))
    (offer,) = asyncio.run(find_models(settings, chosen, ["claude/some"]))
    assert offer.server == "https://cloud.test"


def test_a_look_for_models_leaves_no_file_open(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, {"discovery": "off"})

    async def count_open(looks: int) -> int:
        for _ in range(looks):
            await find_models(settings, FleetSettings(), ())
        return len([*Path("/proc/self/fd").iterdir()])

    gc.disable()
    try:
        assert asyncio.run(count_open(3)) == asyncio.run(count_open(1))
    finally:
        gc.enable()


@pytest.mark.slow
def test_a_worker_with_a_full_disk_takes_no_task(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = fleet.submit("-m", "box/standin")
    monkeypatch.setenv("KITH_FLEET_FREE_MB", str(1 << 40))
    with fleet.worker() as full:
        assert full.stderr and "MB" in full.stderr.readline()
        assert fleet.one(batch)["attempts"] == 0
    monkeypatch.delenv("KITH_FLEET_FREE_MB")
    with fleet.worker():
        assert fleet.wait(batch)["state"] == "done"


@pytest.mark.slow
def test_nothing_of_the_database_reaches_a_job(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook in the worker's own settings writes down the environment of the job's kith."""
    config = fleet.home / ".config" / "kith" / "config.toml"
    seen = fleet.home / "seen"
    hook = f'[[hooks]]\non = "start"\ncommand = "cat /proc/$PPID/environ > {seen}"\n'
    config.write_text(config.read_text() + hook)
    monkeypatch.setenv("KITH_FLEET_DSN", fleet.dsn)
    monkeypatch.setenv("PGPASSWORD", "secret of the database")
    batch = fleet.submit("-m", "box/standin")
    with fleet.worker():
        assert fleet.wait(batch)["state"] == "done"
    assert "XDG_STATE_HOME" in seen.read_text()
    assert fleet.dsn not in seen.read_text() and "secret of" not in seen.read_text()


@pytest.mark.slow
def test_a_held_back_change_is_published_as_unproven(fleet: Fleet, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(fleet.kith.folder), str(bare)], check=True)
    task = {"repository": str(fleet.kith.folder), "request": "mend mean", "model": "box/standin"}
    (fleet.home / "tasks").write_text(json.dumps(task | {"require": "proven", "check": "true"}))
    batch = fleet.kith("fleet", "submit", str(fleet.home / "tasks"), "--publish", str(bare)).stdout.strip()
    with fleet.worker("--publish"):
        run = fleet.until(batch, lambda run: run["published"] or run["unpublished"])
    assert (run["code"], run["verdict"], run["published"]) == (6, "unproven", f"kith/{batch}/{run['key']}")
    log = ["git", "-C", str(bare), "log", "-1", "--format=%s", run["published"]]
    assert subprocess.check_output(log, text=True).strip() == "Unproven: mend mean"


@pytest.mark.slow
def test_a_token_opens_a_draft_and_is_kept_nowhere(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: Postgres
) -> None:
    bare, seen = tmp_path / "bare.git", fleet.home / "seen"
    subprocess.run(["git", "clone", "-q", "--bare", str(fleet.kith.folder), str(bare)], check=True)
    stand_in = StandInForge("github")
    with over_http(stand_in.answer) as url:
        stand_in.url, target = url, f"{url}/team/project.git"
        config = fleet.home / ".config" / "kith" / "config.toml"
        settings = config.read_text() + f'pull_requests = "github"\nforge_url = "{url}"\n'
        hook = f'[[hooks]]\non = "start"\ncommand = "cat /proc/$PPID/environ > {seen}"\n'
        config.write_text(settings + hook)
        (fleet.home / ".gitconfig").write_text(f'[url "{bare}"]\n  insteadOf = {target}\n')
        monkeypatch.setenv("KITH_FLEET_TOKEN", TOKEN)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", TOKEN)
        batch = fleet.submit("-m", "box/standin", "--publish", target)
        with fleet.worker("--publish"):
            run = fleet.until(batch, lambda run: run["published"] or run["unpublished"])
    (pull,) = stand_in.pulls
    assert run["published"] == pull["html_url"] and pull["draft"] and "Proven" in pull["body"]
    assert "XDG_STATE_HOME" in seen.read_text() and TOKEN not in seen.read_text()
    words = [str(postgres.programs / "pg_dump"), "--dbname", fleet.dsn]
    assert TOKEN not in subprocess.check_output(words, text=True)
    places = [each for each in fleet.home.rglob("*") if each.is_file()]
    assert places and not [each for each in places if TOKEN.encode() in each.read_bytes()]
