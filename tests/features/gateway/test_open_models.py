"""Models that stay open: one for all who ask at once, and let go of when idle, too many or broken."""

import asyncio
import json
from pathlib import Path

from kith.agent.project import Project
from kith.features.gateway.open_models import OpenModels
from kith.models.providers.facts import ignore


def scripts(folder: Path, *names: str) -> list[str]:
    for name in names:
        (folder / f"{name}.json").write_text(json.dumps(["Hello."]))
    return [f"replay/{folder / name}.json" for name in names]


def test_a_model_is_opened_once_and_kept_for_the_next(repository: Path, tmp_path: Path) -> None:
    (name,) = scripts(tmp_path, "a")

    async def scene() -> None:
        project, models = Project.open(repository, {}), OpenModels()
        one, two = await asyncio.gather(*(models.take(project, name, ignore) for _ in range(2)))
        assert one is two and one.users == 2
        models.give_back(one)
        models.give_back(two)
        assert await models.take(project, name, ignore) is one
        models.give_back(one, failed=True)
        assert await models.take(project, name, ignore) is not one
        await models.close()

    asyncio.run(scene())


def test_the_idlest_goes_where_there_are_too_many_and_each_in_its_time(
    repository: Path, tmp_path: Path
) -> None:
    names = scripts(tmp_path, "a", "b", "c")

    async def scene() -> None:
        project, now = Project.open(repository, {}), 0.0
        models = OpenModels(most=2, idle_s=0.05, clock=lambda: now)
        first, second, third = [await models.take(project, name, ignore) for name in names]
        models.give_back(second)
        now = 0.01
        models.give_back(third)
        models.give_back(first)  # the one that was given back first has to go
        now = 0.02
        again = [await models.take(project, name, ignore) for name in names]
        assert [new is old for new, old in zip(again, (first, second, third), strict=True)] == [
            True,
            False,
            True,
        ]
        for each in again:
            models.give_back(each)
        now = 1.0
        await asyncio.sleep(0.1)
        assert await models.take(project, names[0], ignore) is not first
        await models.close()

    asyncio.run(scene())
