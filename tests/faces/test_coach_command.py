"""`kith coach` from outside: a model that edits well only when it may send whole files."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from outside import Kith, StandIn

WHOLE = "Give each file that changes whole"
TASKS = 24


def number_of(request: Any) -> int:
    """Which task is being done: its words are in the first message that a user wrote."""
    first = next(each["content"] for each in request["messages"] if each["role"] == "user")
    return int(re.findall(r"Let n(\d+)\.py", first)[-1])


class Moody:
    """A model that solves every task when it is asked for whole files, and else every second one."""

    worse = False

    def __call__(self, request: Any) -> str:
        number, system = number_of(request), request["messages"][0]["content"]
        good = number % 2 == 0 if WHOLE not in system else not self.worse
        if WHOLE in system:
            return f"n{number:02}.py\n```\nvalue = {number if good else 0}\n```\n"
        old = "value = 0" if good else "valeu := zero"
        return f"n{number:02}.py\n<<<<<<< SEARCH\n{old}\n=======\nvalue = {number}\n>>>>>>> REPLACE\n"


@pytest.fixture
def numbers(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Kith:
    """A project of small files, each of which is to say its number."""
    folder = tmp_path / "numbers"
    folder.mkdir()
    for number in range(1, TASKS + 1):
        (folder / f"n{number:02}.py").write_text("value = 0\n")
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Zeros"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return Kith(folder)


def do(kith: Kith, number: int) -> bool:
    """One live task; whether its check passes."""
    check = f"grep -q 'value = {number}$' n{number:02}.py"
    words = f"Let n{number:02}.py say {number} instead of 0."
    report = kith.run("--check", check, words, code=None)
    return bool(report["status"] == "rejected")


def test_a_better_way_is_found_tried_live_adopted_and_undone(numbers: Kith, stand_in: StandIn) -> None:
    import time
    model = Moody()
    stand_in(model)
    t=time.time()
    assert sum(do(numbers, number) for number in range(1, TASKS + 1)) == TASKS // 2
    print("live", time.time()-t); t=time.time()
    ran = numbers("coach", "run", "--json")
    print(ran.stderr, ran.stdout, time.time()-t)
    print(numbers("coach").stdout)
