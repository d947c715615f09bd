"""A linter's findings go back to the model once, from outside: a fake tool prints a recorded report."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any, cast

import pytest

from gating import make_repository
from kith.agent.lint_notes import find_lint_errors, find_lint_notes, harmless_linters
from kith.core.run import Run
from kith.core.values import Answer, Change, Question, Ran
from kith.core.workspace import ExecLimits, ShellCommand, Trial
from kith.trees.local import open_tree
from outside import Kith

OUTPUT = Path(__file__).parent.parent / "features" / "linters" / "linter_output"
LINES = "\n".join(f"// {number}" for number in range(1, 9)) + "\n"


def write(path: str, content: str) -> dict[str, Any]:
    return {"calls": [{"name": "write", "args": {"path": path, "content": content}}]}


def play(kith: Kith, *replies: Any, check: str = "none", code: int = 0) -> dict[str, Any]:
    script = kith.folder.parent / "script.json"
    script.write_text(json.dumps(replies))
    return kith.run("-m", f"replay/{script}", "--check", check, "--yes", "--unproven", "Write it.", code=code)


def make_project(tmp_path: Path) -> Kith:
    """A project whose own eslint finds what was recorded, once the file has the model's lines."""
    root = make_repository(tmp_path / "project", {"eslint.config.mjs": "", "src/a.js": "// old\n"})
    fake = root / "node_modules" / ".bin" / "eslint"
    fake.parent.mkdir(parents=True)
    (fake.parent / "report").write_bytes((OUTPUT / "eslint.json").read_bytes())
    fake.write_text('#!/bin/sh\ngrep -q "// 8" src/a.js || exit 0\ncat "$(dirname "$0")/report"\nexit 1\n')
    fake.chmod(0o755)
    return Kith(root)


def rules(told: dict[str, Any]) -> list[str]:
    return [each["rule"] for each in told["notes"]]


def test_findings_on_changed_lines_are_told_once(tmp_path: Path, sandbox: None) -> None:
    kith = make_project(tmp_path)
    leaves = {"text": "I leave it.", "expect": r"src/a\.js:2: .*no-unused-vars"}
    told = play(kith, write("src/a.js", LINES), "Written.", leaves)
    assert told["status"] == "done" and told["usage"]["calls"] == 3
    assert (kith.folder / "src" / "a.js").read_text() == LINES
    assert rules(told) == ["no-unused-vars", "eqeqeq"]


@pytest.mark.slow
def test_a_corrected_finding_is_gone(tmp_path: Path, sandbox: None) -> None:
    told = play(
        make_project(tmp_path), write("src/a.js", LINES), "Written.", write("src/a.js", "// 7\n"), "Done."
    )
    assert told["status"] == "done" and told["text"] == "Done." and not rules(told)


@pytest.mark.parametrize(
    "reply",
    [write("src/a.js", "// worse\n"), pytest.param({"error": "it fell over"}, marks=pytest.mark.slow)],
)
def test_a_correction_that_fails_costs_nothing(reply: Any, tmp_path: Path, sandbox: None) -> None:
    kith = make_project(tmp_path)
    told = play(kith, write("src/a.js", LINES), "Written.", reply, "Corrected.", check="grep 1 src/a.js")
    assert told["status"] == "done" and told["text"] == "Written."
    assert (kith.folder / "src" / "a.js").read_text() == LINES
    assert rules(told) == ["no-unused-vars", "eqeqeq"] and told["receipt"]["warnings"]


def test_findings_can_reject_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: None) -> None:
    monkeypatch.setenv("KITH_LINT", "require")
    monkeypatch.setenv("KITH_TRIES", "1")
    kith = make_project(tmp_path)
    told = play(kith, write("src/a.js", LINES), "Written.", code=1)
    assert told["status"] == "failed" and (kith.folder / "src" / "a.js").read_text() == "// old\n"


def test_a_linter_without_a_program_starts_no_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bin, git = tmp_path / "bin", shutil.which("git")
    assert git
    bin.mkdir()
    (bin / "git").symlink_to(git)
    monkeypatch.setenv("PATH", str(bin))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    root = make_repository(tmp_path / "project", {"a.py": "A = 1\n"})
    assert asyncio.run(commands_of_linters(root)) == []
    (bin / "ruff").write_text("#!/bin/sh\n")
    (bin / "ruff").chmod(0o755)
    assert [command.split()[0] for command in asyncio.run(commands_of_linters(root))] == ["ruff", "ruff"]
    (bin / "ruff").unlink()
    (root / ".venv").mkdir()
    (root / ".venv" / "pyvenv.cfg").touch()  # a trial may install it there
    assert len(asyncio.run(commands_of_linters(root))) == 2


async def commands_of_linters(root: Path) -> list[str]:
    """The commands behind an edit of a.py, and at the end of the task."""
    tree = open_tree(root, root.parent / "state", root.parent / "cache", sandbox="off")
    home, change = Run(lambda event, path: None, nobody, tree), Change("a.py", b"A = 1\n", b"B = 1\n")
    started = list[str]()
    async with tree.trial() as trial:
        await trial.apply((change,))

        class Noted:
            def __getattr__(self, name: str) -> Any:
                return getattr(trial, name)

            async def check(self, command: ShellCommand, limits: ExecLimits) -> Ran:
                started.append(command.line)
                return await trial.check(command, limits)

        inside = home.inside(cast("Trial", Noted()))
        await find_lint_errors(await harmless_linters(inside), home, inside, (change,), 10.0)
        await find_lint_notes(home, inside, (change,))
    return started


async def nobody(question: Question) -> Answer:
    raise AssertionError(f"nobody should be asked: {question.text}")


def test_linters_can_be_turned_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: None) -> None:
    monkeypatch.setenv("KITH_LINT", "off")
    told = play(make_project(tmp_path), write("src/a.js", LINES), "Written.")
    assert told["status"] == "done" and told["usage"]["calls"] == 2 and not rules(told)
