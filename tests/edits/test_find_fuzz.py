"""The fuzz target and the comparison with `git apply`, each for a short while."""

import subprocess
import sys

import pytest

from places import ROOT

TOOLS = ROOT / "tools"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "words"), [("fuzz_edits.py", ["--count", "8000"]), ("beside_git.py", ["--count", "500"])]
)
def test_nothing_is_found_in_a_short_while(tool: str, words: list[str]) -> None:
    ran = subprocess.run([sys.executable, TOOLS / tool, *words], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
    assert ran.stdout.startswith(f"{int(words[1]):,} ")


def test_the_fuzz_target_plays_one_case_again() -> None:
    command = [sys.executable, TOOLS / "fuzz_edits.py", "--seed", "3", "--first", "17", "--count", "1"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("1 mutated replies, ")
