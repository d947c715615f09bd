"""A conversation summed up because its person wants room, before its model's window is full."""

from kith.agent.asking.terms import Terms
from kith.agent.asking.worker import make_worker
from kith.agent.index import look_nowhere
from kith.agent.knowledge import gather
from kith.agent.project import Project
from kith.agent.tasks import THREAD
from kith.core.events import Compacted
from kith.core.model import Prompt
from kith.core.run import Answerer, Thread
from kith.memory.session import Session
from kith.models.stack import Opened


async def compact_now(
    project: Project, session: Session, opened: Opened, answerer: Answerer
) -> Compacted | None:
    """Let an opened model sum up an open session's conversation; None where that makes it no shorter.

    It reads what it has read already, and what it writes stands for it from now on. Raises ModelError.
    """
    past = session.past()
    said = tuple(past.threads.get(THREAD, ()))
    if not said:
        return None
    run = project.begin(session, answerer)
    terms = Terms(project, run, session.id)
    await terms.admit(opened)
    look = look_nowhere if past.symbols else None
    known, thread = gather(project.settings), Thread(THREAD, said)
    role = make_worker(project, opened, past, known, look, terms, thread=thread)
    prompt = Prompt(role.system, said, role.tools, sampling=role.sampling, thread=THREAD)
    return await opened.sum_up(prompt, past.compacted, terms.account, terms.permit, run.emit)
