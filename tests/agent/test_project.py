"""What a project makes of its settings, and what it asks before it runs its checks."""

import asyncio
import os
from pathlib import Path
from typing import Any

from kith.agent.models import places_of
from kith.agent.project import Project
from kith.core.run import Run
from kith.core.values import Answer, Question
from kith.models.discovery.servers import NamedServer, endpoint_of
from kith.models.wrappers.retry import RetryLimits


def test_settings_limit_connections_and_retries(repository: Path, script: Any) -> None:
    chosen = {"model": script("Hello."), "retries": 1, "retry_seconds": 5, "connect": 0.5}
    project = Project.open(repository, chosen, os.environ)
    places = places_of(project.settings)
    for kind in ("openai", "anthropic", "gemini"):
        assert endpoint_of(NamedServer(kind, "http://box:1"), places).connect_s == 0.5
    opened = asyncio.run(project.open_model(lambda event: None))
    assert opened.retry == RetryLimits(1, 5.0)


def test_without_a_sandbox_a_clean_up_is_named_before_it_runs(repository: Path) -> None:
    (repository / "Makefile").write_text("test:\n\t$(CC) --version\nclean:\n\trm -rf build\n")
    project = Project.open(repository, {"sandbox": "off"}, os.environ)
    asked = list[str]()

    async def refuse(question: Question) -> Answer:
        asked.append(question.text)
        return Answer("no")

    judges = project.judges(Run(lambda event, path: None, refuse, project.tree))
    assert not asyncio.run(judges.baseline())
    assert any("`make clean` and `make -j" in text for text in asked)
