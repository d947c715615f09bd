"""A plain turn: the model reads and answers, and nothing is changed."""

from dataclasses import replace

from kith.agent.attempt import Outcome, may_end
from kith.core.loop import begin_turn, converse
from kith.core.model import Role
from kith.core.policy import READ_ONLY
from kith.core.run import Gate, Run, Thread
from kith.core.values import say


async def chat(run: Run, role: Role, thread: Thread, task: str | None, ending: Gate | None = None) -> Outcome:
    """One turn of the loop under the read-only policy; `task` is None when the thread already holds it.

    `ending` says whether the model may end it; its noes are told to the model, a few times at most.
    """
    if task is not None:
        begin_turn(run, thread, say(task))
    with run.step("answer") as step:
        reader = replace(role, policy=READ_ONLY, purpose="chat")
        text = await converse(step, reader, thread)
        for attempt in range(1, run.limits.tries):
            if ending is None or (verdict := await may_end(step, ending, (), attempt)).ok:
                break
            begin_turn(step, thread, say(verdict.feedback, verdict.by))
            text = await converse(step, reader, thread)
    return Outcome("done", text)
