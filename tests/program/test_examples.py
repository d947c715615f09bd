"""The examples run as they stand."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from built import call
from mending import CHECK, DONE, NEW, OLD, edit
from places import ROOT

EXAMPLES = ROOT / "examples"


@pytest.fixture(autouse=True)
def kith_is_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Path(sys.executable).parent
    if not (here / "kith").exists():
        pytest.skip("kith is not installed beside this Python")
    monkeypatch.setenv("PATH", f"{here}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.slow
def test_review_answers_and_changes_nothing(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"expect": "Two helpers", "text": "Nothing breaks."}]))
    monkeypatch.setenv("KITH_MODEL", f"replay/{script}")
    done = subprocess.run([EXAMPLES / "review.sh"], cwd=repository, capture_output=True, text=True)
    assert done.stdout == "Nothing breaks.\n", done.stderr


@pytest.mark.slow
def test_fix_applies_a_small_change_and_takes_a_large_one_back(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script.json"
    monkeypatch.setenv("KITH_MODEL", f"replay/{script}")
    command = [sys.executable, EXAMPLES / "fix.py", "fix mean", CHECK]
    script.write_text(json.dumps([edit(OLD, NEW + "    # why\n" * 60), DONE]))
    large = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    assert large.returncode == 3 and OLD in (repository / "utils.py").read_text(), large.stderr
    script.write_text(json.dumps([edit(), DONE]))
    small = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    assert small.returncode == 0 and NEW in (repository / "utils.py").read_text(), small.stderr
    assert small.stdout == "done: 1 files, 2 lines, 1 checks\n"


def run(
    *command: str | Path, folder: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    environ = os.environ | environment
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=60)


def script_of(folder: Path, name: str, *replies: object) -> str:
    """A model that plays these replies."""
    (folder / f"{name}.json").write_text(json.dumps(replies))
    return f"replay/{folder / name}.json"


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_a_route_asks_the_other_model_after_a_failed_check(repository: Path, tmp_path: Path) -> None:
    local = script_of(tmp_path, "local", edit(OLD, OLD.replace("+ 1", "+ 2")), DONE, DONE, DONE)
    other = script_of(tmp_path, "other", edit(), DONE)
    done = run(
        "sh", EXAMPLES / "route.sh", local, other, "fix mean", CHECK, folder=repository, KITH_ROUTE_AUDIT="0"
    )
    assert done.returncode == 0 and NEW in (repository / "utils.py").read_text(), done.stderr


def test_two_models_confer_and_change_nothing(repository: Path, tmp_path: Path) -> None:
    models = [script_of(tmp_path, name, "approach: In utils.py.\nfiles: utils.py") for name in ("one", "two")]
    done = run("sh", EXAMPLES / "confer.sh", *models, "Where does mean belong?", folder=repository)
    assert done.stdout.startswith("agreement\nIn utils.py."), done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
@pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("g++")), reason="needs CMake and a compiler")
def test_a_library_in_cpp_is_built_tests_first(tmp_path: Path) -> None:
    test = '#include "clamp.h"\nint main() { return clamp(7, 0, 5) != 5; }\n'
    header = "inline int clamp(int n, int low, int high) { return n < low ? low : n > high ? high : n; }\n"
    plan = {"id": "1", "title": "Add clamp", "criteria": ["clamp(7, 0, 5) is 5"], "files": ["src/clamp.h"]}
    model = script_of(
        tmp_path,
        "builds",
        json.dumps({"tasks": [plan]}),
        *(call("write", path="tests/clamp_test.cc", content=test), call("done", summary="One test.")),
        *(call("write", path="src/clamp.h", content=header), call("done", summary="It clamps.")),
    )
    library = tmp_path / "library"
    done = run("sh", EXAMPLES / "build-cpp.sh", library, "Add a function clamp.", KITH_MODEL=model)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (library / "src" / "clamp.h").read_text() == header
    assert "tests/clamp_test.cc" in done.stdout


@pytest.mark.parametrize(("line", "code"), [("x = 1", 0), ("<<<<<<< HEAD", 1)])
def test_a_review_in_ci_fails_for_an_error(repository: Path, line: str, code: int) -> None:
    git = ("git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b")
    run(*git, "branch", "base")
    (repository / "more.py").write_text(f"{line}\n")
    run(*git, "add", "more.py")
    run(*git, "commit", "-qm", "more")
    done = run("sh", EXAMPLES / "ci" / "review.sh", "base", "--no-model", folder=repository)
    assert done.returncode == code, done.stdout + done.stderr
    assert json.loads((repository / "review.sarif").read_text())["version"] == "2.1.0"


@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_a_run_in_ci_leaves_a_patch(repository: Path, tmp_path: Path) -> None:
    check = "grep -q 'max(len' utils.py"
    model = script_of(tmp_path, "fixes", edit(), DONE)
    done = run("sh", EXAMPLES / "ci" / "run.sh", check, folder=repository, KITH_MODEL=model)
    assert done.returncode == 0 and f"+{NEW.rstrip()}" in done.stdout, done.stderr


def test_the_workflow_runs_scripts_that_are_there() -> None:
    job = yaml.safe_load((EXAMPLES / "ci" / "review.yml").read_text())["jobs"]["review"]
    steps = [each["run"] for each in job["steps"] if "run" in each]
    assert all("uses" in each or "run" in each for each in job["steps"])
    assert any(step.startswith("sh examples/ci/review.sh") for step in steps)
    assert not any("${{" in step for step in steps)  # text of others stays out of scripts
