"""Trust from outside: nothing that a folder brings along counts before a person has said so, as it is now."""

import json
import os
from pathlib import Path

import pytest

from outside import Kith

CONFIG = 'check = "true"\ntries = 2\nread_only = true\n[gates]\nlicence = "python3 look.py"\n'
ROLE = "---\npurpose: review\ntools:\npolicy: read-only\n---\nBe kind, and say which line.\n"


@pytest.fixture
def kith(repository: Path) -> Kith:
    (repository / ".kith" / "roles").mkdir(parents=True)
    (repository / ".kith" / "config.toml").write_text(CONFIG)
    return Kith(repository)


def settings_of(kith: Kith, *keys: str) -> list[str]:
    rows = [line.split() for line in kith("config").stdout.splitlines()]
    return [row[1] for key in keys for row in rows if row[:1] == [key]]


def test_it_counts_once_it_is_trusted_and_no_longer_after_a_byte(kith: Kith) -> None:
    assert settings_of(kith, "tries", "check") == ["3", "-"]
    shown = kith("trust", code=2)
    assert "gate licence: `python3 look.py` decides about changes" in shown.stdout
    assert '+check = "true"' in shown.stdout and "Nobody could be asked" in shown.stderr
    assert settings_of(kith, "tries") == ["3"]
    kith("trust", "--yes")
    assert settings_of(kith, "tries", "check", "read_only") == ["2", "true", "true"]
    file = kith.folder / ".kith" / "config.toml"
    file.write_text(CONFIG.replace("look.py", "l00k.py"))
    assert settings_of(kith, "tries", "check") == ["3", "-"]
    again = kith("trust", "--show").stdout
    assert '-licence = "python3 look.py"\n+licence = "python3 l00k.py"' in again and "+tries" not in again
    file.write_text(CONFIG)
    assert settings_of(kith, "tries") == ["2"]


@pytest.mark.slow
def test_trust_is_for_one_folder_and_can_be_taken_back(kith: Kith, tmp_path: Path) -> None:
    kith("trust", "--yes")
    for beside in (tmp_path / "repository-evil", kith.folder / "vendor" / "x"):
        (beside / ".kith").mkdir(parents=True)
        (beside / ".git").mkdir()
        (beside / ".kith" / "config.toml").write_text(CONFIG)
        assert settings_of(Kith(beside), "tries") == ["3"]
    linked = tmp_path / "linked"
    linked.symlink_to(kith.folder)
    assert settings_of(Kith(linked), "tries") == ["2"]
    assert str(kith.folder.name) in kith("trust", "--list").stdout
    assert "Forgotten" in kith("trust", "--forget").stdout
    assert settings_of(kith, "tries") == ["3"] and "Nothing was said" in kith("trust", "--list").stderr


def test_a_run_says_once_that_it_is_ignored(kith: Kith) -> None:
    done = kith("run", "--yes", "--check", "none", 'replace "lowest" with "least" in README.md', code=None)
    assert done.stderr.count("The configuration in .kith is ignored until you trust it") == 1
    (kith.folder / ".kith" / "config.toml").write_text("model = 'evil/x'\n")
    assert "a project may not set 'model'" in kith("trust", "--yes", code=2).stderr


@pytest.mark.slow
def test_links_and_pipes_are_never_followed(kith: Kith, home: Path) -> None:
    (home / "secrets").mkdir()
    (home / "secrets" / "config.toml").write_text("tries = 1\n# CANARY")
    file = kith.folder / ".kith" / "config.toml"
    file.unlink()
    file.symlink_to(home / "secrets" / "config.toml")
    assert "is a link" in (shown := kith("trust", "--yes", code=2).stdout) and "CANARY" not in shown
    file.unlink()
    os.mkfifo(file)
    assert "is not a file" in kith("trust").stdout
    file.unlink()
    (kith.folder / ".kith" / "roles").rmdir()
    (kith.folder / ".kith").rmdir()
    (kith.folder / ".kith").symlink_to(home / "secrets")
    assert ".kith is a link" in (shown := kith("trust", "--yes", code=2).stdout) and "CANARY" not in shown
    assert settings_of(kith, "tries") == ["3"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("policy: trial", "may be read-only, not 'trial'"),
        ("tools: bash", "may not have bash"),
        ("model: evil/x", "may not choose models"),
        ("purpose: edit", "must keep its purpose"),
    ],
)
def test_a_projects_role_gets_no_more_than_kiths(kith: Kith, line: str, sentence: str) -> None:
    key = line.partition(":")[0]
    kept = "".join(row for row in ROLE.splitlines(keepends=True) if not row.startswith(f"{key}:"))
    role = kith.folder / ".kith" / "roles" / "reviewer.md"
    role.write_text(kept.replace("---\n", f"---\n{line}\n", 1))
    said = " ".join(kith("trust", "--yes", code=2).stderr.split())
    assert "The project's role 'reviewer'" in said and sentence in said
    role.write_text(ROLE)
    assert "role reviewer: other words for it (6), policy read-only" in kith("trust", "--yes").stdout


def test_what_could_deceive_is_shown(kith: Kith) -> None:
    (kith.folder / ".kith" / "config.toml").write_text('check = "make \u202etset"  # \u200b\n')
    shown = kith("trust", "--yes").stdout
    assert "\\u202e" in shown and "\\u200b" in shown and "\u202e" not in shown
    assert [each["task"] for each in json.loads(kith("sessions", "--json").stdout)] == ["trust .kith"]
