"""Tasks in place: the files themselves change, what was started stays, and only a container may do it."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from outside import Kith, Serve
from waiting import running, until

DONE = {"calls": [{"name": "done", "args": {"summary": "The service runs."}}]}


def bash(command: str, **more: Any) -> dict[str, Any]:
    return {"calls": [{"name": "bash", "args": {"command": command, **more}}]}


@pytest.fixture
def container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kith:
    """kith in a folder that is no repository, as in a container that confines it."""
    monkeypatch.setenv("KITH_SANDBOX", "outside")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "notes.txt").write_text("one\n")
    return Kith(tmp_path / "app")


def run(kith: Kith, *words: str) -> dict[str, Any]:
    return kith.run("--in-place", "-m", "ollama/standin", *words, "set the service up")


def test_files_change_at_once_inside_and_outside_of_the_folder(container: Kith, serve: Serve) -> None:
    system = container.folder.parent / "system.conf"
    write = {"calls": [{"name": "write", "args": {"path": "new/made.txt", "content": "made\n"}}]}
    big = bash(f"head -c 3000000 /dev/zero > big.bin && echo on > {system} && cat new/made.txt")
    server = serve([write, big, DONE])
    report = run(container)
    assert (container.folder / "new/made.txt").read_text() == "made\n"
    assert system.read_text() == "on\n" and (container.folder / "big.bin").stat().st_size == 3_000_000
    assert "exit code 0\nmade" in server.requests[2]["messages"][-1]["content"]
    assert (report["status"], report["in_place"], report["waiting"]) == ("done", True, None)
    assert report["text"] == "The service runs."


def test_what_a_command_left_in_the_background_outlives_the_task(container: Kith, serve: Serve) -> None:
    started = bash("sleep 60 > sleep.log 2>&1 & echo $! > pid")
    serve([started, bash("kill -0 $(cat pid) && echo alive > state"), DONE])
    run(container)
    pid = int((container.folder / "pid").read_text())
    assert (container.folder / "state").read_text() == "alive\n"
    os.kill(pid, signal.SIGKILL)  # raises if it is gone


def test_a_command_that_takes_too_long_ends_with_all_that_it_started(container: Kith, serve: Serve) -> None:
    seconds = f"61.{os.getpid()}"  # as no other process sleeps
    server = serve([bash(f"sleep {seconds} & wait", timeout=1), DONE])
    run(container)
    assert "timed out" in server.requests[1]["messages"][-1]["content"]
    until(lambda: not running(seconds), "it still sleeps")


def test_commands_have_the_containers_variables_but_no_keys(
    container: Kith, serve: Serve, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-server")
    monkeypatch.setenv("DATA_FOLDER", "/data")
    serve([bash("env > seen.txt"), DONE])
    run(container)
    seen = (container.folder / "seen.txt").read_text().splitlines()
    assert {"DATA_FOLDER=/data", f"HOME={home}"} <= set(seen)
    assert not [line for line in seen if "sk-of-the-server" in line or line.startswith("KITH_")]


def test_a_local_model_sees_the_containers_secrets_but_not_the_persons_keys(
    container: Kith, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "7Qw3pLk9ZxV2mN8t")
    lines = ("password = 'x9K2mQ7vLp4TzR8w'", "AWS_KEY=AKIAQ3EGRVM7ZK2LPTWX", "mine: 7Qw3pLk9ZxV2mN8t")
    (container.folder / ".env").write_text("\n".join(lines))
    server = serve([bash("cat .env"), DONE])
    told = container("run", "--in-place", "--output-format", "stream-json", "-m", "ollama/standin", "look")
    seen = server.requests[1]["messages"][-1]["content"]
    assert "x9K2mQ7vLp4TzR8w" in seen and "AKIAQ3EGRVM7ZK2LPTWX" in seen
    assert "mine: [secret left out]" in seen and "7Qw3pLk9ZxV2mN8t" not in told.stdout


def test_the_model_hears_what_its_edit_breaks(container: Kith, serve: Serve) -> None:
    write = {"calls": [{"name": "write", "args": {"path": "a.py", "content": "print(undefined_name)\n"}}]}
    mended = bash("echo 'print(1)' > a.py")
    server = serve([write, DONE, mended, DONE])
    assert run(container)["status"] == "done"
    told, asked = (server.requests[n]["messages"][-1]["content"] for n in (1, 2))
    assert "[With this change: " in told and "undefined_name" in told
    assert "Correct it, or call done again" in asked


def test_hosts_need_no_answer(container: Kith, serve: Serve) -> None:
    server = serve([bash("echo reached", hosts=["pypi.org"]), DONE])
    run(container)
    assert "reached" in server.requests[1]["messages"][-1]["content"]


def test_the_model_is_told_how_it_works_here(container: Kith, serve: Serve) -> None:
    server = serve([DONE])
    errors = container("run", "--in-place", "-m", "ollama/standin", "look").stderr
    words = server.requests[0]["messages"][0]["content"]
    assert "no copy and no undo" in words and "trial" not in words
    assert "no trial, no diff and no undo" in errors and "kith keeps no record of changed files" in errors


def test_outside_of_a_container_it_is_refused(
    container: Kith, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve([DONE])
    monkeypatch.delenv("KITH_SANDBOX")
    ended = container("run", "--in-place", "-m", "ollama/standin", "look", code=2)
    assert "KITH_SANDBOX=outside" in ended.stderr and not server.requests


@pytest.mark.parametrize("words", [["--check", "true"], ["--plan"], ["--read-only"], ["--best-of", "2"]])
def test_what_needs_a_trial_is_refused(container: Kith, words: list[str]) -> None:
    ended = container("run", "--in-place", "-m", "ollama/standin", *words, "look", code=2)
    assert ended.stderr == f"kith: --in-place has no trial; leave {words[0]} out.\n"
