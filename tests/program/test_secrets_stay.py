"""Secrets from outside: nothing that kith leaves behind, shows or sends holds a key or a password."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from outside import Kith, Serve

KEY, PASSWORD = "sk-CANARY-98237461-abcd", "hunter2-CANARY"
TOKEN = "ghp_CANARY" + "a8Xk29LmQz7Rt4Vb1Nc6Wd3Ye5Uf0Hg"
READS = {
    "calls": [
        {"name": "bash", "args": {"command": "cat .env; env; echo " + TOKEN}},
        {"name": "read", "args": {"path": ".env"}},
        {"name": "edit", "args": {"path": "README.md", "old": "# numbers", "new": f"# numbers {PASSWORD}"}},
    ]
}
REPLIES = [READS, f"The password is {PASSWORD} and the token is {TOKEN}."]


@pytest.fixture
def kith(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Kith:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (repository / ".env").write_text(f"DB_PASSWORD={PASSWORD}\nHOST=localhost\n")
    return Kith(repository)


def files_in(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def leaks(folder: Path) -> list[str]:
    return [str(path) for path in files_in(folder) if b"CANARY" in path.read_bytes()]


def test_nothing_that_is_left_behind_holds_a_secret(
    kith: Kith, home: Path, sandbox: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary := tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    script = tmp_path / "script.json"
    script.write_text(json.dumps(REPLIES))
    done = kith("run", "-m", f"replay/{script}", "--check", "none", "what is here?", code=None)
    assert "+# numbers [secret left out]" in done.stdout and "CANARY" not in done.stderr
    logged = b"".join(path.read_bytes() for path in files_in(home / ".local"))
    assert b"[secret left out]" in logged and leaks(home) == [] and leaks(temporary) == []
    for form in ("html", "md", "json"):
        assert "CANARY" not in kith("export", "--format", form).stdout
    for words in (("config",), ("doctor", "--offline"), ("sessions", "--json"), ("profile",)):
        shown = kith(*words, code=None)
        assert "CANARY" not in shown.stdout + shown.stderr
    for path in (home / ".local" / "state" / "kith").rglob("*"):
        open_to_others = stat.S_IMODE(path.stat().st_mode) & 0o077
        assert not open_to_others or (path.parent.stat().st_mode & 0o077) == 0, path
    assert (home / ".local" / "state" / "kith").stat().st_mode & 0o777 == 0o700
    assert not [name for name in ("kith", "kith.sock", f"kith-{os.getuid()}") if Path("/tmp", name).exists()]


@pytest.mark.slow
def test_no_model_gets_a_secret_and_going_on_sends_the_same_bytes(
    kith: Kith, serve: Serve, sandbox: None, tmp_path: Path
) -> None:
    server = serve([READS, "Done.", READS, "Done."])
    words = ("--check", "none", "--max-steps", "1")
    kith.run(*words[:2], "what is here?", code=None)
    id = kith.run(*words, "what is here?", code=4)["session"]
    kith.run(*words[:2], "--resume", id, code=None)
    at_once, begun, gone_on = (
        [each.get("content") for each in server.requests[number]["messages"]] for number in (1, 2, 3)
    )
    assert "CANARY" not in json.dumps(server.requests) and "[secret left out]" in json.dumps(at_once)
    assert gone_on[: len(begun)] == begun and gone_on[len(begun) :] == at_once[len(begun) :]


@pytest.mark.slow
def test_what_stands_in_place_of_a_secret_is_never_written(kith: Kith, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    write = {"name": "write", "args": {"path": "settings.py", "content": "KEY = '[secret left out]'\n"}}
    script.write_text(json.dumps([{"calls": [write]}, "Done.", "Done.", "Done."]))
    done = kith("run", "-m", f"replay/{script}", "--check", "none", "--yes", "write it", code=None)
    assert not (kith.folder / "settings.py").exists() and done.returncode
    assert "in place of a secret" in " ".join(done.stderr.split())


def test_what_is_streamed_to_a_program_holds_no_secret(kith: Kith, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([f"The password is {PASSWORD}, the token {TOKEN}"]))
    words = ("run", "--output-format", "stream-json", "-m", f"replay/{script}", "--check", "none", "which?")
    told = kith(*words).stdout
    events = [json.loads(line) for line in told.splitlines()]
    pieces = [event["text"] for event in events if event.get("event") == "Delta"]
    assert "".join(pieces) == "The password is [secret left out], the token [secret left out]"
    assert "CANARY" not in told


def test_what_is_taken_back_leaves_no_secret_in_the_log(kith: Kith, home: Path) -> None:
    old, new = f"DB_PASSWORD={PASSWORD}", "DB_PASSWORD=another-CANARY-98"
    block = f".env\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"
    kith("edits", "apply", "--write", "--allow-file", ".env", input=block)
    assert new in (kith.folder / ".env").read_text()
    kith("undo")
    assert old in (kith.folder / ".env").read_text()
    assert not [path for path in leaks(home / ".local") if "journal" not in path]
