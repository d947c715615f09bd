"""The fixtures hold what they promise."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def test_home_is_empty_and_ours(home: Path) -> None:
    assert Path.home() == home
    assert not list(home.iterdir())
    foreign = [name for name in os.environ if name.startswith(("KITH_", "OPENAI_", "OLLAMA_"))]
    assert foreign == ["KITH_DISCOVERY"]  # off: the model servers of whoever runs the tests are not asked


@pytest.mark.parametrize(
    ("line", "failures"),
    [
        ("sum(numbers) / (len(numbers) + 1)", 1),  # as it is
        ("sum(numbers) / len(numbers)", 1),  # the first thing that comes to mind
        ("sum(numbers) / len(numbers) if numbers else 0", 0),
    ],
)
def test_the_repository_has_a_bug_and_is_clean(repository: Path, line: str, failures: int) -> None:
    utils = repository / "utils.py"
    utils.write_text(utils.read_text().replace("sum(numbers) / (len(numbers) + 1)", line))
    tests = [sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", "."]
    ran = subprocess.run(tests, cwd=repository, capture_output=True, text=True)
    assert ran.stderr.count("\nFAIL: ") + ran.stderr.count("\nERROR: ") == failures, ran.stderr
    status = subprocess.run(["git", "status", "--porcelain"], cwd=repository, capture_output=True, text=True)
    assert status.stdout.removeprefix(" M utils.py\n") == ""


@pytest.mark.slow
def test_the_tiny_model_is_the_same_every_time(tiny_gguf: Path, tmp_path: Path) -> None:
    script = Path(__file__).parent.parent / "tools" / "make_tiny_gguf.py"
    again = tmp_path / "again.gguf"
    subprocess.run([sys.executable, script, again], check=True, capture_output=True)
    assert again.read_bytes() == tiny_gguf.read_bytes()
    assert len(again.read_bytes()) < 2_000_000
