"""What is known of a project while it is worked on: nothing at first, then what was looked at on the side."""

import asyncio
import os
from pathlib import Path

import pytest

from kith.agent.index import open_known
from kith.agent.project import Project
from kith.context.brief import fit_nothing
from kith.context.task_words import find_words
from kith.core.events import Event, Notice
from kith.features.scan.scan import Patience, run_scan
from kith.memory.index import Index, Refreshed, open_index, refresh
from waiting import soon

TASK = find_words("the mean of numbers is wrong")


async def wait_for_index(project: Project) -> None:
    """Until somebody else has made it."""
    index = open_index(project.settings.cache, project.root)
    await soon(lambda: index.complete)
    index.close()


@pytest.mark.slow
def test_the_first_time_makes_the_index_that_the_second_asks(repository: Path) -> None:
    project, told = Project.open(repository, {}, os.environ), list[Event]()

    async def scenario() -> None:
        async with open_known(project, told.append) as known:
            assert known.look is None and await known.fitting() is fit_nothing
            await wait_for_index(project)
        (repository / "average.py").write_text("def mean(numbers):\n    return sum(numbers)\n")
        async with open_known(project, told.append) as known:
            assert {"average.py", "utils.py"} <= (await known.fitting())(TASK).names.keys()
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
    assert isinstance(notice, Notice) and notice.level == "warning"


@pytest.mark.slow
def test_leaving_at_once_leaves_an_index_that_is_begun(repository: Path) -> None:
    project = Project.open(repository, {}, os.environ)

    async def scenario() -> None:
        async with open_known(project, lambda event: None):
            pass
        async with open_known(project, lambda event: None) as known:
            assert known.look is None
            await wait_for_index(project)

    asyncio.run(scenario())


@pytest.mark.slow
def test_an_interrupted_index_is_continued(repository: Path) -> None:
    for number in range(200):
        (repository / f"n{number}.py").write_text(f"def f{number}():\n    return {number}\n")
    settle(repository)
    project = Project.open(repository, {}, os.environ)
    index = open_index(project.settings.cache, project.root)

    async def scenario() -> None:
        async with open_known(project, lambda event: None):
            await soon(lambda: index.size)
        begun = index.known()
        assert begun
        async with open_known(project, lambda event: None):
            await wait_for_index(project)
        assert index.complete and index.size > 200 and begun.items() <= index.known().items()

    asyncio.run(scenario())
    index.close()


# --- fed by a scan -------------------------------------------------------------------------------


def scan(project: Project, path: str = "") -> list[Event]:
    told = list[Event]()
    asyncio.run(run_scan(project, path, Patience(lint=False), told.append))
    return [event for event in told if isinstance(event, Notice)]


def held(index: Index) -> dict[str, object]:
    return {
        path: (row, index.definitions(path), index.uses(path), index.known()[path])
        for path, row in index.files().items()
    }


def settle(root: Path) -> None:
    """Make all files old enough for their stamps to be relied on."""
    for path in root.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000), follow_symlinks=False)


def test_a_scan_leaves_the_index_that_a_refresh_would_make(repository: Path, tmp_path: Path) -> None:
    (repository / "large.py").write_text("x = 1\n" * 100_000)  # too large to be looked into
    (repository / "box.cpp").write_text("struct Box { int size() { return 1; } };\n")
    (repository / os.fsdecode(b"caf\xe9.py")).write_text("import os\n")
    (repository / ".env").write_text("TOKEN=1\n")
    settle(repository)
    project = Project.open(repository, {}, os.environ)
    assert scan(project) == []
    fed, made = open_index(project.settings.cache, repository), open_index(tmp_path / "other", repository)
    asyncio.run(refresh(made, project.tree))
    assert fed.complete and held(fed) == held(made) and fed.find("Box.size").definitions
    (repository / "utils.py").write_text("def medium(numbers):\n    return 1\n")
    (repository / "box.cpp").unlink()
    assert scan(project) == [] and asyncio.run(refresh(fed, project.tree)) == Refreshed()
    assert fed.find("medium").definitions and not fed.find("Box").definitions


@pytest.mark.slow
def test_after_a_scan_of_a_large_tree_it_is_known_at_once(repository: Path) -> None:
    for number in range(2_000):
        (repository / f"n{number}.txt").touch()
    project = Project.open(repository, {}, os.environ)
    scan(project)

    async def scenario() -> None:
        async with open_known(project, lambda event: None) as known:
            assert known.look and known.look("mean").definitions
            assert "utils.py" in (await known.fitting())(TASK).names

    asyncio.run(scenario())


def test_a_scan_of_a_part_feeds_that_part_and_promises_no_more(repository: Path) -> None:
    (repository / "part").mkdir()
    (repository / "part" / "a.py").write_text("def one():\n    pass\n")
    project = Project.open(repository, {}, os.environ)
    scan(project, str(repository / "part"))
    index = open_index(project.settings.cache, repository)
    assert [*index.files()] == ["part/a.py"] and not index.complete


def test_a_scan_says_that_the_index_cannot_be_used_and_goes_on(repository: Path) -> None:
    project = Project.open(repository, {}, os.environ)
    project.settings.cache.mkdir(parents=True, exist_ok=True)
    (project.settings.cache / "index").write_text("in the way")
    (notice,) = scan(project)
    assert isinstance(notice, Notice) and "not updated" in notice.text
