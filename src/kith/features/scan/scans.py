"""Scans: a codebase is looked at without a model, and what is known already is not looked at again."""

import gc
import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from kith.agent.index import FedIndex
from kith.agent.project import Project
from kith.context.languages import NO_CODE
from kith.core.errors import UsageError
from kith.core.events import Event, Progress
from kith.core.run import Limits, Run
from kith.core.values import Answer, Question
from kith.features.scan.checks import Patience
from kith.features.scan.markdown import as_markdown
from kith.features.scan.picture import draw
from kith.features.scan.report import Report, Survey
from kith.features.scan.scan import scan
from kith.features.scan.survey import survey
from kith.memory.scanned import ScanStore
from kith.trees.git import head, is_repository

__all__ = ["NO_CODE", "Patience", "Report", "Scanned", "as_markdown", "run_scan"]

Hear = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Scanned:
    """A report, and what it was made from."""

    # Without a repr: Python's runner of asyncio makes the result's, and throws it away.
    report: Report = field(repr=False)
    survey: Survey = field(repr=False)

    def picture(self) -> str:
        """The codebase as SVG: folders and files as large as their code, coloured by how hot they are."""
        return draw(self.report, self.survey)


async def run_scan(project: Project, path: str, patience: Patience, hear: Hear) -> Scanned:
    """Look at the project, or at the folder or file `path` in it ("" for all of it).

    Nothing is logged and nothing in the tree is changed. Raises UsageError for a path that is not in the
    project.
    """
    folder = _inside(project.root, path)
    gc.disable()  # many values and no cycles among them: looking for some takes a third of the time
    store = ScanStore(project.settings.cache, project.root)
    try:
        hear(Progress("listing files", 0))
        stamps = await project.tree.stamps()
        with closing(FedIndex(project, stamps, hear)) as index:
            known = await survey(project.root, stamps, store, _tell(hear), folder, index)
        commit = await head(project.root) if await is_repository(project.root) else ""
        run = Run(lambda event, _: hear(event), _nobody, project.tree, Limits())
        return Scanned(await scan(run, known, store, commit, folder, patience), known)
    finally:
        store.close()
        gc.enable()


def _tell(hear: Hear) -> Callable[[int, int], None]:
    return lambda done, count: hear(Progress("looking at files", done, count))


async def _nobody(question: Question) -> Answer:
    """A scan asks nothing."""
    return Answer("no")


def _inside(root: Path, path: str) -> str:
    """A path that the person typed, relative to the root; "" for the root itself."""
    if not path:
        return ""
    given = Path(path)
    if not given.exists():
        raise UsageError(f"There is no {path!r}.")
    inside = os.path.relpath(given.resolve(), root)
    if inside == os.pardir or inside.startswith(os.pardir + os.sep):
        raise UsageError(f"{path!r} is not in the project at {root}.")
    return "" if inside == os.curdir else inside.replace(os.sep, "/")
