"""Each feature can be deleted: kith starts, says what is left, and does its main job."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kith.settings.features import known_features
from outside import in_thread
from places import SOURCE

NAMES = [each.name for each in known_features()]
# Several commands in one process: to load kith takes longer than most of them. Between them stands a NUL.
IN_TURN = """
import sys
from kith.cli import main
for number, words in enumerate(sys.argv[1:]):
    print("\\0" * bool(number), end="", flush=True)
    try:
        code = main(words.split())
    except SystemExit as ending:
        code = ending.code
    assert not code, words
"""


def _link(source: str, target: str) -> None:
    """The same file at another place: it is quicker, and neither is written to."""
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def without(folder: Path, *names: str) -> dict[str, str]:
    """The environment in which a copy of kith without these features is the one that is found."""
    shutil.copytree(SOURCE, folder / "kith", copy_function=_link)  # with what is compiled
    for name in names:
        shutil.rmtree(folder / "kith" / "features" / name)
    played = folder / "kith" / "features" / "demo" / "conversation.json"
    if played.exists():  # its replies come late for people who read along
        at_once = re.sub(r'"delay": [\d.]+', '"delay": 0', played.read_text())
        played.unlink()  # a link to kith's own
        played.write_text(at_once)
    return {**os.environ, "PYTHONPATH": str(folder)}


def kith(environ: dict[str, str], *words: str, cwd: Path | None = None) -> str:
    return python(environ, "-m", "kith", *words, cwd=cwd)


def python(environ: dict[str, str], *words: str, cwd: Path | None = None) -> str:
    command = [sys.executable, "-P", *words]
    done = subprocess.run(command, env=environ, cwd=cwd, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "name", ["web", *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES if name != "web")]
)
def test_without_one_feature_kith_starts_and_the_demo_runs(tmp_path: Path, name: str) -> None:
    environ = without(tmp_path, name)
    demo = ["demo"] if name != "demo" else []
    said, features, *done = python(environ, "-c", IN_TURN, "--help", "features", *demo).split("\0")
    gone = next(each for each in known_features() if each.name == name)
    for command in gone.commands:
        assert f"  {command.name} " not in said
    assert name not in [line.split()[0] for line in features.splitlines()]
    assert all("Undid" in each for each in done)  # applied, and taken back


def test_without_any_feature_the_main_job_is_done(repository: Path, tmp_path: Path) -> None:
    environ = without(tmp_path, *NAMES)
    assert kith(environ, "--version").startswith("kith ")
    features, said = python(environ, "-c", IN_TURN, "features", "--help").split("\0")
    assert features == "" and "run " in said and "scan" not in said
    edit = {"path": "utils.py", "old": "(len(numbers) + 1)", "new": "len(numbers)"}
    with in_thread([{"calls": [{"name": "edit", "args": edit}]}, "Mended."], "vllm") as server:
        environ |= {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "none"}
        kith(environ, "run", "--yes", "--check", "none", "-m", "openai/standin", "mend mean", cwd=repository)
    assert "sum(numbers) / len(numbers)" in (repository / "utils.py").read_text()


@pytest.mark.slow
def test_with_one_feature_alone_a_task_is_done(repository: Path, tmp_path: Path) -> None:
    environ = without(tmp_path, *(name for name in NAMES if name != "direct"))
    assert kith(environ, "features").split()[0] == "direct"
    kith(environ, "run", "--yes", "rename mean to average", cwd=repository)
    assert "def average" in (repository / "utils.py").read_text()
