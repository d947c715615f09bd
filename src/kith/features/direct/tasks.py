"""Tasks whose words ask for an edit that needs no model."""

from typing import Final

from kith.agent.attempt import Outcome, adopt_ready
from kith.agent.project import Project
from kith.agent.tasks import Shortcut
from kith.core.events import Notice
from kith.core.run import Run
from kith.features.direct.edits import BeyondError, make_direct
from kith.features.direct.words import describe, nearest_form, parse_direct


async def do_directly(project: Project, run: Run, words: str) -> Outcome | None:
    """Do a task that needs no model; None for any other."""
    direct = parse_direct(words)
    if direct is None or project.settings.read_only:
        return None
    try:
        made = await make_direct(direct, run)
    except BeyondError as error:
        run.emit(Notice(f"{error} Asking a model instead."))
        return None
    places = f"; {made.places} place{'s' * (made.places > 1)}" if made.places else ""
    run.emit(Notice(f"I read this as: {describe(direct)}{places}."))
    judges = project.judges(run, words)
    try:
        return await adopt_ready(run, made.changes, judges, "Done, without a model.")
    finally:
        await judges.aclose()


SHORTCUT: Final = Shortcut(do_directly, nearest_form)
