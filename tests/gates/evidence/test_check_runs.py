"""The command that serves a project best: kept, and chosen again when something was installed."""

import asyncio
from pathlib import Path

import pytest

from gating import LIMITS, make_repository
from kith.agent.checks import KeptResults
from kith.core.run import Run
from kith.core.values import Answer, Question
from kith.gates.evidence.check_runs import Bench, read_choice
from kith.gates.toolchains import Toolchain
from kith.trees.local import open_tree

WITH_TOOL = Toolchain("unittest", "Python", "", "sh installed/tool && python3 -m unittest test_a", "unittest")
WITHOUT = Toolchain("unittest", "Python", "", "python3 -m unittest test_b", "unittest")
TEST = "import unittest\n\n\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        pass\n"


async def _nobody(question: Question) -> Answer:
    raise AssertionError(question.text)


@pytest.mark.usefixtures("sandbox")
def test_what_is_installed_later_is_found(tmp_path: Path) -> None:
    files = {"test_a.py": TEST, "test_b.py": TEST, ".gitignore": "installed\n__pycache__\n"}
    root = make_repository(tmp_path / "project", files)
    kept = KeptResults(tmp_path / "cache", tmp_path / "state")

    async def choose(environment: str) -> str:
        tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
        bench = Bench(tree, LIMITS, kept, tree.digests, environment)
        try:
            found = await bench.before(Run(lambda event, path: None, _nobody, tree), (WITH_TOOL, WITHOUT))
        finally:
            await bench.aclose()
        choice = read_choice(kept, root)
        assert choice and choice.command == found.toolchain.test
        return found.toolchain.run

    assert asyncio.run(choose("bare")) == WITHOUT.run
    (root / "installed").mkdir()
    (root / "installed" / "tool").write_text("true\n")
    assert asyncio.run(choose("bare")) == WITHOUT.run  # nothing says that anything was installed
    assert asyncio.run(choose("with a tool")) == WITH_TOOL.run
