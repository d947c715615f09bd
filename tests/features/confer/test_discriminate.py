"""A test of a member tells two changes apart only if it passes with one and fails with the other."""

import asyncio
from pathlib import Path

import pytest

from building import drop
from kith.agent.asking.roles import find_role
from kith.agent.roles import make_role
from kith.core.run import Run
from kith.core.values import Answer, Change, Question, Sampling
from kith.features.confer.council_rules import Seat
from kith.features.confer.discriminate import discriminate
from kith.features.confer.members import Council, Ledger, Member
from kith.features.demo.replay import Replay
from kith.tools import standard_tools
from kith.trees.local import open_tree

TELLING = """\
file: tests/test_empty.py
run: python3 -m unittest -q tests.test_empty
```python
import unittest
from utils import mean
class Empty(unittest.TestCase):
    def test_empty(self):
        self.assertEqual(mean([]), 0)
```"""


async def yes(question: Question) -> Answer:
    return Answer("yes")


@pytest.mark.parametrize(
    ("reply", "passes", "why"),
    [
        (TELLING, "B", "passes with B and fails with A"),
        (TELLING.replace("mean([]), 0", "mean([4]), 4"), "", "does not tell"),
        (TELLING.replace("from utils", "from nowhere"), "", "does not tell"),
        (TELLING.replace("file: tests/test_empty.py", "file: utils.py"), "", "there already"),
    ],
)
def test_a_test_must_pass_once_and_fail_once(
    repository: Path, sandbox: None, reply: str, passes: str, why: str
) -> None:
    before = (repository / "utils.py").read_bytes()
    wrong = b"sum(numbers) / (len(numbers) + 1)"
    ways = {
        "A": b"sum(numbers) / len(numbers) if numbers else -1",
        "B": b"sum(numbers) / max(len(numbers), 1)",
    }
    changes = {
        label: (Change("utils.py", before, before.replace(wrong, way)),) for label, way in ways.items()
    }
    role = make_role(find_role("councillor"), Replay("m", [reply]), standard_tools(), Sampling(), small=False)
    members = {label: Member(Seat(label, "m"), role) for label in "AB"}
    council = Council("k", "edit", "Mend mean.", "Mend mean.", members, Ledger(10_000))
    tree = open_tree(repository, repository.parent / "state", repository.parent / "cache")
    told = asyncio.run(discriminate(Run(drop, yes, tree), council, "A", changes))
    assert told.passes == passes and why in told.why
    assert (repository / "utils.py").read_bytes() == before
