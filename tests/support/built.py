"""What the roles of a small build say, step by step."""

import json
from typing import Any

from outside import Kith

TASKS = {
    "tasks": [
        {"id": "1", "title": "Add a median", "criteria": ["median([3, 1, 2]) is 2"], "files": ["utils.py"]}
    ]
}


TEST = """import unittest

from utils import median


class TestMedian(unittest.TestCase):
    def test_odd(self):
        self.assertEqual(median([3, 1, 2]), 2)

    def test_even(self):
        self.assertEqual(median([1, 2, 3, 4]), 2.5)
"""


FIRST = "def median(numbers):\n    return sorted(numbers)[len(numbers) // 2]\n\n\n"


SECOND = """def median(numbers):
    ordered, half = sorted(numbers), len(numbers) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


"""


def call(tool: str, **args: Any) -> dict[str, Any]:
    return {"calls": [{"name": tool, "args": args}]}


PLANNED = json.dumps(TASKS)


SPECIFIED = [call("write", path="tests/test_median.py", content=TEST), call("done", summary="Two tests.")]


TRIED = [
    call("edit", path="utils.py", old="def clamp(", new=f"{FIRST}def clamp("),
    call("done", summary="Done."),
]


ADVISED = "For an even count, the median is the mean of the two middle values."


MENDED = [call("edit", path="utils.py", old=FIRST, new=SECOND), call("done", summary="Even counts too.")]


SIMPLE = [call("done", summary="It is simple already.")]


def _step(kith: Kith) -> str:
    done = kith("status", "--json", code=None)
    now = json.loads(done.stdout)["now"] if done.returncode == 0 else None
    return now["step"] if now else ""
