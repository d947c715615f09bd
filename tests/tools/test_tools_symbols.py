"""Looking a name up: its code where there is one, else what is near, and always as the trial has it now."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kith.core.model import Tool
from kith.core.run import Run
from kith.core.values import Answer, Question, ToolResult
from kith.memory.index import open_index, refresh
from kith.tools.symbols import BODY, SHOWN, make_symbols
from kith.trees.local import LocalTree, open_tree
from tools_bench import Bench

CACHE = "class Cache:\n    def get(self, key):\n        return self.load(key)\n"


@pytest.fixture
def tool(bench: Bench, tmp_path: Path) -> Callable[[], Tool]:
    """The tool as it is once the tree has been indexed."""

    def make() -> Tool:
        index = open_index(tmp_path / "cache", bench.folder)
        tree = bench.run.workspace
        assert isinstance(tree, LocalTree)
        asyncio.run(refresh(index, tree))
        return make_symbols(index.find)

    return make


def test_one_definition_comes_with_its_code_and_its_users(bench: Bench, tool: Callable[[], Tool]) -> None:
    bench.write("src/cache.py", CACHE)
    bench.write("src/app.py", "from cache import Cache\nCache().get(1)\n")
    result = bench.use(tool(), name="Cache.get()")
    assert result.text == (
        "src/cache.py:2-3 method Cache.get: def get(self, key)\n"
        "    def get(self, key):\n        return self.load(key)\n"
        "Used in src/app.py (1)."
    )
    assert bench.use(tool(), name="Cache").text.endswith("\nUsed in src/app.py (2).")
    assert bench.use(tool(), name="load").text == "load is not defined.\nUsed in src/cache.py (1)."


def test_several_are_listed_and_a_path_chooses(bench: Bench, tool: Callable[[], Tool]) -> None:
    for number in range(SHOWN + 3):
        bench.write(f"p{number:02}/a.py", f"def run():\n    return {number}\n")
    result = bench.use(tool(), name="run")
    assert result.text.count("function run: def run()") == SHOWN
    assert "[3 definitions left out" in result.text and "return" not in result.text
    for path in ("p07", "p07/a.py", "./p07/"):
        assert "\n    return 7\n" in bench.use(tool(), name="run", path=path).text
    elsewhere = bench.use(tool(), name="run", path="src").text
    assert elsewhere.startswith("run is not defined in src.\np00/a.py:1-2 function run")


def test_a_slip_gets_near_names(bench: Bench, tool: Callable[[], Tool]) -> None:
    bench.write("cache.py", CACHE)
    result = bench.use(tool(), name="Cashe")
    assert result.ok and result.text == "Cashe is not defined.\nNames like it: Cache."
    assert not bench.use(tool(), name=" ").ok
    assert not bench.use(tool(), name="Cache", path="../x").ok


def test_a_long_definition_is_only_pointed_at(bench: Bench, tool: Callable[[], Tool]) -> None:
    bench.write("long.py", "def long():\n" + "    pass\n" * BODY)
    result = bench.use(tool(), name="long")
    assert f"[{BODY + 1} lines: read long.py:1-{BODY + 1}]\nNo other use of it." in result.text


@asynccontextmanager
async def trial_of(
    root: Path, tmp_path: Path
) -> AsyncIterator[tuple[Run, Callable[..., Awaitable[ToolResult]]]]:
    async def nobody(question: Question) -> Answer:
        raise AssertionError(question.text)

    tree = open_tree(root, tmp_path / "state", tmp_path / "cache")
    index = open_index(tmp_path / "cache", root)
    await refresh(index, tree)
    tool = make_symbols(index.find)
    async with tree.trial() as trial:
        run = Run(lambda event, path: None, nobody, trial)

        async def use(**args: Any) -> ToolResult:
            return await tool.fn(args, run)

        yield run, use


def test_what_the_trial_changed_is_seen_as_it_is_there(repository: Path, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with trial_of(repository, tmp_path) as (run, use):
            assert "utils.py:4-6 function mean" in (await use(name="mean")).text
            await run.workspace.write("utils.py", b"def average(numbers):\n    return 1\n")
            await run.workspace.write("new.py", b"def mean():\n    return average()\n")
            result = await use(name="mean")
            assert result.text.startswith("new.py:1-2 function mean: def mean()")
            assert "Used in tests/test_utils.py (" in result.text
            assert "Used in new.py (1)." in (await use(name="average")).text
            await run.workspace.write("utils.py", None)
            assert (await use(name="clamp")).text.startswith("clamp is not defined.")

    asyncio.run(scenario())
