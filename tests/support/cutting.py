"""Cuts of a task: once behind each kind of event, before each kind that follows it."""

import asyncio
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from agreeing import agree
from kith.agent.project import Project
from kith.agent.tasks import Task, run_task
from kith.core.events import Event


def find_cuts(events: Sequence[Event]) -> list[int]:
    """Numbers of events, from 1: the first of each pair of kinds that stand beside each other."""
    found: dict[tuple[type[Event], type[Event]], int] = {}
    for number, (one, next_one) in enumerate(pairwise(events), 1):
        found.setdefault((type(one), type(next_one)), number)
    return list(found.values())


def die_after(repository: Path, given: dict[str, Any], task: Task, number: int) -> NoReturn:
    """Do a task in this process, a fork, which ends without a word when so many events are written."""
    left, code = number, 1

    def listen(event: Event, path: str) -> None:
        nonlocal left
        left -= not getattr(event, "transient", False)
        if not left:
            os._exit(9)

    try:
        asyncio.run(run_task(Project.open(repository, given), task, agree, [listen]))
        code = 0
    finally:
        os._exit(code)
