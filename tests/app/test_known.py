"""What is known of a project while it is worked on: nothing at first, then what was looked at on the side."""

import asyncio
import os
from pathlib import Path

from kith.app.index import open_known
from kith.app.project import Project
from kith.context.brief import fit_nothing
from kith.context.words import find_words
from kith.core.events import Event, Notice
from kith.memory.index import open_index

TASK = find_words("the mean of numbers is wrong")


async def wait_for_index(project: Project) -> None:
    """Until somebody else has made it."""
    index = open_index(project.settings.cache, project.root)
    async with asyncio.timeout(10):
        while not index.complete:
            await asyncio.sleep(0.02)
    index.close()


def test_the_first_time_makes_the_index_that_the_second_asks(repository: Path) -> None:
    project, told = Project.open(repository, {}, os.environ), list[Event]()

    async def scenario() -> None:
        async with open_known(project, told.append) as known:
            assert known.look is None and await known.fitting() is fit_nothing
            await wait_for_index(project)
        (repository / "average.py").write_text("def mean(numbers):\n    return sum(numbers)\n")
        async with open_known(project, told.append) as known:
            assert {"average.py", "utils.py"} <= (await known.fitting())(TASK).keys()
            assert known.look and {each.path for each in known.look("mean").definitions} == {
                "average.py",
                "utils.py",
            }

    asyncio.run(scenario())
    assert told == []


def test_a_cache_that_cannot_be_used_is_said_and_done_without(repository: Path) -> None:
    project, told = Project.open(repository, {}, os.environ), list[Event]()
    project.settings.cache.mkdir(parents=True, exist_ok=True)
    (project.settings.cache / "index").write_text("in the way")

    async def scenario() -> None:
        async with open_known(project, told.append) as known:
            assert known.look is None and await known.fitting() is fit_nothing

    asyncio.run(scenario())
    (notice,) = told
    assert isinstance(notice, Notice) and notice.text.startswith("Working without an index: ")


def test_leaving_at_once_leaves_an_index_that_is_begun(repository: Path) -> None:
    project = Project.open(repository, {}, os.environ)

    async def scenario() -> None:
        async with open_known(project, lambda event: None):
            pass
        async with open_known(project, lambda event: None) as known:
            assert known.look is None
            await wait_for_index(project)

    asyncio.run(scenario())
