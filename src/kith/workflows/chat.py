"""A plain turn: the model reads and answers, and nothing is changed."""

from dataclasses import replace

from kith.core.loop import begin_turn, converse
from kith.core.model import Role
from kith.core.policy import READ_ONLY
from kith.core.run import Run, Thread
from kith.core.values import say
from kith.workflows.attempt import Outcome


async def chat(run: Run, role: Role, thread: Thread, task: str | None) -> Outcome:
    """One turn of the loop under the read-only policy; `task` is None when the thread already holds it."""
    if task is not None:
        begin_turn(run, thread, say(task))
    with run.step("answer") as step:
        text = await converse(step, replace(role, policy=READ_ONLY, purpose="chat"), thread)
    return Outcome("done", text)
