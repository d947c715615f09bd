"""Models that stay open: one for all who ask at once, and let go of when idle, too many or broken."""

import asyncio
import json
from pathlib import Path

from kith.app.answering.kept import Kept
from kith.app.project import Project
from kith.models.providers.progress import ignore


def scripts(folder: Path, *names: str) -> list[str]:
    for name in names:
        (folder / f"{name}.json").write_text(json.dumps(["Hello."]))
    return [f"replay/{folder / name}.json" for name in names]


def test_a_model_is_opened_once_and_kept_for_the_next(repository: Path, tmp_path: Path) -> None:
    (name,) = scripts(tmp_path, "a")

    async def scene() -> None:
        project, kept = Project.open(repository, {}), Kept()
        one, two = await asyncio.gather(*(kept.take(project, name, ignore) for _ in range(2)))
        assert one is two and one.users == 2
        kept.give_back(one)
        kept.give_back(two)
        assert await kept.take(project, name, ignore) is one
        kept.give_back(one, failed=True)
        assert await kept.take(project, name, ignore) is not one
        await kept.close()

    asyncio.run(scene())


def test_the_idlest_goes_where_there_are_too_many_and_each_in_its_time(
    repository: Path, tmp_path: Path
) -> None:
    names = scripts(tmp_path, "a", "b", "c")

    async def scene() -> None:
        project, now = Project.open(repository, {}), 0.0
        kept = Kept(most=2, idle_s=0.05, clock=lambda: now)
        first, second, third = [await kept.take(project, name, ignore) for name in names]
        kept.give_back(second)
        now = 0.01
        kept.give_back(third)
        kept.give_back(first)  # the one that was given back first has to go
        now = 0.02
        again = [await kept.take(project, name, ignore) for name in names]
        assert [new is old for new, old in zip(again, (first, second, third), strict=True)] == [
            True,
            False,
            True,
        ]
        for each in again:
            kept.give_back(each)
        now = 1.0
        await asyncio.sleep(0.1)
        assert await kept.take(project, names[0], ignore) is not first
        await kept.close()

    asyncio.run(scene())
