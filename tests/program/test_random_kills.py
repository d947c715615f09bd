"""A task that is killed at any moment leaves nothing behind but what lets it go on."""

import subprocess
import sys

import pytest

from places import SUPPORT

KILLING = SUPPORT / "killing.py"


@pytest.mark.disturbed("kills at random moments")
@pytest.mark.slow
@pytest.mark.usefixtures("sandbox")
def test_nothing_is_left_of_killed_tasks() -> None:
    command = [sys.executable, str(KILLING), "10"]  # `.ci/soak` kills a thousand
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
