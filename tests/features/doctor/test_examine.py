"""The doctor's round, and this machine: in places that are healthy and in places that are really broken."""

import asyncio
import io
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from clinic import Checks, of, told
from kith.core.events import RunStarted
from kith.core.numbers import size_text
from kith.features.demo.standin import serve
from kith.features.doctor.check import Check, Examination, blocking, run_all
from kith.features.doctor.examine import examine, look_for_linters
from kith.features.doctor.folders import check_disk, check_log
from kith.features.doctor.machine import (
    check_git,
    check_proxies,
    check_sandbox,
    check_search,
    check_start,
    check_terminal,
    judge_memory,
)
from kith.memory.log import LOG_FILE, Log
from kith.models.discovery.memory import Memory
from kith.settings import Settings

# --- the whole round -------------------------------------------------------------------------


def test_where_all_is_well_nothing_is_red(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> Checks:
        async with serve(["hello"], "llama-server", window=16_384) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            return await examine(repository, {})

    checks = asyncio.run(run())
    assert not [check for check in checks if check.level == "red"]
    assert checks[0] == Check("model", "green", "kith asks openai/standin unless told otherwise.")
    assert {"engine", "files", "memory", "sandbox", "git", "search", "disk", "log", "terminal"} <= {
        check.name for check in checks
    }
    assert of(checks, "git").text.endswith("this folder is a repository.")
    assert of(checks, "start").text.startswith(("kith starts in ", "kith takes "))
    assert of(checks, "deep").fix == "kith doctor --deep"
    assert all(check.text.endswith(".") and "\n" not in check.text for check in checks)


@pytest.mark.slow
def test_a_server_that_hangs_is_left_behind(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> tuple[Checks, str]:
        async with serve(["hello"], silent=True) as server:
            monkeypatch.setenv("OLLAMA_HOST", server.url)
            return await examine(repository, {}), server.url

    checks, url = asyncio.run(run())
    hung = of(checks, f"port {url.rpartition(':')[2]}")
    assert hung.level == "yellow"
    assert hung.text == f"{url} took too long: no answer within 3 s."
    assert hung.fix == "restart that server, or try again when it is idle"


def test_a_broken_configuration_is_named_and_the_rest_is_still_looked_at(
    repository: Path, home: Path
) -> None:
    file = home / ".config" / "kith" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("wnidow = 3\n")
    checks = asyncio.run(examine(repository, {}))
    broken = of(checks, "configuration")
    assert (broken.level, broken.fix) == ("red", f"edit {file}")
    assert broken.text == f"{file}, line 1: unknown key 'wnidow'; did you mean 'window'?"
    assert of(checks, "git").level == "green"


def test_missing_linters_are_named(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "eslint.config.js").write_text("export default [];\n")
    (repository / "a.js").write_text("")
    (repository / "mypy.ini").write_text("[mypy]\n")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    missing = asyncio.run(look_for_linters(repository, Settings()))
    assert "eslint" in missing.text and "mypy" in missing.text and "types are not checked" in missing.text
    for folder, program in (
        (repository / "node_modules" / ".bin", "eslint"),
        (repository / ".venv" / "bin", "mypy"),
    ):
        folder.mkdir(parents=True)
        (folder / program).touch(mode=0o755)
    (repository / ".venv" / "pyvenv.cfg").touch()
    there = asyncio.run(look_for_linters(repository, Settings()))
    assert "by mypy, eslint." in there.text and "types" not in there.text


def test_a_broken_variable_is_named(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITH_WINDOW", "large")
    broken = of(asyncio.run(examine(repository, {})), "configuration")
    assert (broken.level, broken.fix) == ("red", "unset KITH_WINDOW")


@pytest.mark.slow
def test_work_that_blocks_does_not_keep_the_doctor() -> None:
    """In a process of its own: its end would have to wait for a thread of asyncio's pool."""
    code = (
        "import time\n"
        "from msgspec.structs import replace\n"
        "from kith.core.event_loop import run_loop\n"
        "from kith.features.doctor.check import *\n"
        "slow = replace(blocking('slow', lambda tell: time.sleep(600)), limit_s=0.1)\n"
        "print(*run_loop(run_all([slow])))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "This took too long" in done.stdout


def test_what_was_found_before_the_time_was_up_is_kept() -> None:
    async def look(tell: Callable[[Check], None]) -> None:
        tell(Check("a", "green", "Well."))
        await asyncio.Event().wait()

    def refuse(tell: Callable[[Check], None]) -> None:
        raise PermissionError(13, "Permission denied", "/secret")

    checks = asyncio.run(run_all([Examination("a", look, 0.05), blocking("b", refuse)]))
    assert [(check.name, check.level) for check in checks] == [("a", "green"), ("a", "yellow"), ("b", "red")]
    assert checks[2].text == "/secret: Permission denied."


# --- programs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("memory", "level", "text"),
    [
        (Memory(16 << 30, 12 << 30), "green", "12.9 GB of 17.2 GB are free."),
        (
            Memory(16 << 30, 2 << 30, 8 << 30),
            "green",
            "2.1 GB of 17.2 GB are free, and 8.6 GB on graphics",
        ),
        (
            Memory(16 << 30, 1 << 30, 0, "of this container"),
            "yellow",
            "1.1 GB of 17.2 GB are free (the limit",
        ),
    ],
)
def test_memory_is_enough_or_not(memory: Memory, level: str, text: str) -> None:
    check = judge_memory(memory)
    assert check.level == level and check.text.startswith(text)
    assert bool(check.fix) == (level != "green")


def test_without_its_programs_each_is_named(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(state=tmp_path / "state", cache=tmp_path / "cache")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    (git,) = told(check_git, repository)
    assert (git.level, git.fix) == ("yellow", "install git")
    assert git.text.startswith("Git is not installed; kith works without it")
    (search,) = told(check_search)
    assert (search.level, search.fix) == ("yellow", "install ripgrep")
    (sandbox,) = told(check_sandbox, repository, settings)
    assert (sandbox.level, sandbox.fix) == ("yellow", "install bubblewrap")
    assert sandbox.text.startswith("No sandbox: bubblewrap is")
    (required,) = told(check_sandbox, repository, replace(settings, sandbox="require"))
    assert required.level == "red"


def test_a_sandbox_that_is_switched_off_is_said(tmp_path: Path) -> None:
    (check,) = told(check_sandbox, tmp_path, Settings(sandbox="off"))
    assert (check.level, check.fix) == ("yellow", 'sandbox = "auto"')


@pytest.mark.usefixtures("sandbox")
def test_a_sandbox_that_works_is_green(repository: Path, tmp_path: Path) -> None:
    check, *_ = told(check_sandbox, repository, Settings(state=tmp_path / "state", cache=tmp_path / "cache"))
    assert check.level == "green" and check.text.startswith("Commands run in a sandbox")


def program(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of that name, first on the PATH, that says `text`."""
    folder.mkdir()
    (folder / name).write_text(f"#!/bin/sh\necho '{text}'\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_an_old_git_is_not_trusted(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin", "git", "git version 2.20.1", monkeypatch)
    (check,) = told(check_git, repository)
    assert (check.level, check.text) == (
        "yellow",
        "Git version 2.20.1 is too old: kith was tested with 2.30 and newer.",
    )
    assert check.fix.endswith("git")


def test_a_repository_of_somebody_else_is_refused(repository: Path) -> None:
    if os.name == "nt" or os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(repository, 12_345, 12_345)
    (check,) = told(check_git, repository)
    assert check.level == "yellow" and "another user owns it" in check.text
    assert check.fix == f"git config --global --add safe.directory {repository}"


def test_a_folder_without_git_is_well(tmp_path: Path) -> None:
    (check,) = told(check_git, tmp_path)
    assert check.level == "green" and "this folder is not a repository" in check.text


def test_a_kith_that_does_not_start_is_red(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (well,) = told(check_start)
    assert well.level != "red"
    (tmp_path / "kith.py").write_text("import nothing_of_that_name\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (check,) = told(check_start)
    assert check.level == "red" and "No module named" in check.text
    assert check.fix == f"{sys.executable} -P -m kith --version"


# --- folders ---------------------------------------------------------------------------------


def test_a_file_in_the_place_of_the_state_is_red(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    settings = Settings(state=tmp_path / "state" / "kith", cache=tmp_path / "cache")
    checks = told(check_disk, settings)
    red = of(checks, "disk")
    assert red.level == "red"
    assert red.text == f"The folder for state cannot be used: {tmp_path / 'state'} is a file."
    assert red.fix == f"mv {tmp_path / 'state'} {tmp_path / 'state'}.old"
    assert told(check_log, settings)[0].level == "green"


def test_a_state_that_may_not_be_written_is_red(tmp_path: Path) -> None:
    if os.name == "nt" or os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    folder = tmp_path / "state"
    folder.mkdir(mode=0o500)
    red = of(told(check_disk, Settings(state=folder / "kith", cache=tmp_path)), "disk")
    assert (red.level, red.fix) == ("red", f'sudo chown -R "$USER" {folder}')


def a_log(folder: Path) -> Path:
    log = Log(folder / LOG_FILE)
    for number in range(200):
        log.append(f"s{number}", RunStarted("task " * 20, "/", "m", "1"), ())
    log.close()
    return folder / LOG_FILE


def test_the_log_is_opened_and_checked(tmp_path: Path) -> None:
    settings = Settings(state=tmp_path)
    assert told(check_log, settings) == [
        Check("log", "green", f"None yet; it will be {tmp_path / LOG_FILE}.")
    ]
    path = a_log(tmp_path)
    (well,) = told(check_log, settings)
    assert well.level == "green" and well.text == f"The log is whole, {size_text(path.stat().st_size)}."
    data = bytearray(path.read_bytes())
    data[3 * 4096 : 5 * 4096] = os.urandom(2 * 4096)
    path.write_bytes(data)
    (damaged,) = told(check_log, settings)
    assert (damaged.level, damaged.fix) == ("red", "kith sessions")
    assert "is damaged" in damaged.text
    assert not list(tmp_path.glob("*.damaged-*")), "it only looks"
    path.write_bytes(b"not a database at all" * 500)
    assert told(check_log, settings)[0].level == "red"


def test_a_log_of_a_newer_kith_is_left_alone(tmp_path: Path) -> None:
    path = a_log(tmp_path)
    with sqlite3.connect(path) as log:
        log.execute("PRAGMA user_version = 99")
    log.close()
    (check,) = told(check_log, Settings(state=tmp_path))
    assert check.level == "red" and "A newer kith wrote the log" in check.text
    assert check.fix == "uv tool upgrade kith-agent"


# --- surroundings ----------------------------------------------------------------------------


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "level", "text"),
    [
        (Terminal(io.BytesIO(), "utf-8"), {"TERM": "xterm"}, "green", "UTF-8 and colour."),
        (
            Terminal(io.BytesIO(), "utf-8"),
            {"TERM": "xterm", "NO_COLOR": "1"},
            "green",
            "UTF-8, without colour: NO_COLOR is set.",
        ),
        (
            io.TextIOWrapper(io.BytesIO(), "utf-8"),
            {},
            "green",
            "UTF-8, without colour: the output goes to a file or a pipe.",
        ),
        (
            Terminal(io.BytesIO(), "iso-8859-1"),
            {},
            "yellow",
            "The output is written in iso-8859-1, which lacks many characters; kith spells them out.",
        ),
    ],
)
def test_the_terminal_is_looked_at(
    stream: io.TextIOWrapper, environ: Mapping[str, str], level: str, text: str
) -> None:
    (check,) = told(check_terminal, stream, environ)
    assert (check.level, check.text) == (level, text)
    assert check.fix == ("export LANG=C.UTF-8" if level == "yellow" else "")


@pytest.mark.parametrize(
    ("environ", "level", "fix"),
    [
        ({}, "green", ""),
        ({"HTTP_PROXY": "http://p"}, "yellow", "export NO_PROXY=localhost,127.0.0.1,::1"),
        (
            {"all_proxy": "socks5://p", "no_proxy": "localhost,.corp"},
            "yellow",
            "export NO_PROXY=localhost,.corp,localhost,127.0.0.1,::1",
        ),
        ({"http_proxy": "http://p", "NO_PROXY": "localhost, 127.0.0.1"}, "green", ""),
        ({"http_proxy": "http://p", "NO_PROXY": "*"}, "green", ""),
    ],
)
def test_a_proxy_must_not_catch_this_machine(environ: Mapping[str, str], level: str, fix: str) -> None:
    (check,) = told(check_proxies, environ)
    assert (check.level, check.fix) == (level, fix)
