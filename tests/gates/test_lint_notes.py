"""A linter's findings go back to the model once, from outside: a fake tool prints a recorded report."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gating import make_repository
from outside import Kith

OUTPUT = Path(__file__).parent / "linter_output"
TOOLS = {  # the program, its report, its exit code, the project, and the file that the model writes
    "clippy": ("cargo", "clippy.jsonl", 0, "Cargo.toml", "src/lib.rs"),
    "eslint": ("npx", "eslint.json", 1, "eslint.config.mjs", "src/a.js"),
    "go vet": ("go", "go_vet.txt", 0, "go.mod", "a.go"),
    "clang-tidy": ("clang-tidy", "clang_tidy.txt", 0, "CMakeLists.txt", "a.cpp"),
}
LINES = "\n".join(f"// {number}" for number in range(1, 9)) + "\n"


def write(path: str, content: str) -> dict[str, Any]:
    return {"calls": [{"name": "write", "args": {"path": path, "content": content}}]}


def play(kith: Kith, *replies: Any) -> dict[str, Any]:
    script = kith.folder.parent / "script.json"
    script.write_text(json.dumps(replies))
    return kith.run("-m", f"replay/{script}", "--check", "none", "--yes", "--unproven", "Write it.")


def make_project(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Kith, str]:
    program, report, code, manifest, path = TOOLS[name]
    files = {manifest: "", ".kith-build/compile_commands.json": "[]", "tools/report": "", path: "// old\n"}
    root = make_repository(tmp_path / "project", files)
    (root / "tools" / "report").write_bytes((OUTPUT / report).read_bytes())
    fake = root / "tools" / program
    fake.write_text(f'#!/bin/sh\ncat "$(dirname "$0")/report"\nexit {code}\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{root / 'tools'}:{os.environ['PATH']}")
    return Kith(root), path


@pytest.mark.parametrize("name", TOOLS)
def test_findings_on_changed_lines_are_told_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: None
) -> None:
    kith, path = make_project(tmp_path, name, monkeypatch)
    told = play(kith, write(path, LINES), "Written.", "I leave it.")
    assert told["status"] == "done" and told["usage"]["calls"] == 3
    assert (kith.folder / path).read_text() == LINES
