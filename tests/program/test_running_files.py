"""Files that run by themselves, from outside: --yes alone does not change them, and says what would."""

import json
import subprocess
from pathlib import Path

import pytest

from outside import Kith

DIFF = "--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+payload\n"


@pytest.fixture
def kith(repository: Path) -> Kith:
    return Kith(repository)


def script(kith: Kith, *paths: str) -> tuple[str, ...]:
    file = kith.folder.parent / "script.json"
    calls = [{"name": "write", "args": {"path": path, "content": "payload\n"}} for path in paths]
    file.write_text(
        json.dumps([{"calls": calls}, {"calls": [{"name": "done", "args": {"summary": "Done."}}]}])
    )
    return ("run", "-m", f"replay/{file}", "--check", "none", "--yes", "Write it")


def status(kith: Kith) -> str:
    return subprocess.run(
        ["git", "status", "--short"], cwd=kith.folder, capture_output=True, text=True
    ).stdout


def test_yes_alone_is_no_yes_to_them(kith: Kith) -> None:
    words = script(kith, ".github/workflows/ci.yml", "plain.txt")
    told = kith(*words, code=3).stderr
    assert "--allow-file .github/workflows/ci.yml" in told and "continuous integration" in told
    assert status(kith) == ""
    kith(*words, "--allow-file", ".github/*")
    assert status(kith) == "?? .github/\n?? plain.txt\n"


def test_a_reply_that_is_written_at_once_names_them(kith: Kith) -> None:
    words, reply = ("edits", "apply", "--write"), DIFF.format(path="AGENTS.md")
    told = kith(*words, input=reply).stderr
    assert "Careful with AGENTS.md: coding agents follow what it says." in told
    assert status(kith) == "?? AGENTS.md\n"
    kith("undo")
    assert "Careful" not in kith(*words, "--allow-file", "AGENTS.md", input=reply).stderr


@pytest.mark.slow
def test_a_project_cannot_allow_its_own(kith: Kith) -> None:
    (kith.folder / ".kith").mkdir()
    (kith.folder / ".kith" / "config.toml").write_text('allow_file = ["*"]\n')
    kith(*script(kith, ".envrc"), code=None)
    assert not (kith.folder / ".envrc").exists()
