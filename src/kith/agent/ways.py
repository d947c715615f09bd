"""Ways to do a person's task besides once by one worker: a feature finds one by its options."""

from collections.abc import Sequence
from typing import Protocol

from kith.agent.project import Project, Result
from kith.agent.tasks import Task
from kith.core.run import Answerer
from kith.memory.session import Listener


class DoTask(Protocol):
    """Does a task, as `kith.agent.tasks.run_task` does; `id` is the session that begins it."""

    async def __call__(
        self, project: Project, task: Task, answerer: Answerer, listeners: Sequence[Listener], id: str, /
    ) -> Result: ...
