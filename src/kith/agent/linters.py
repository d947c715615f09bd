"""The linters of a project, as the features that know linters find them."""

from collections.abc import Collection

from kith.core.run import Run
from kith.core.workspace import read_readable
from kith.gates.linters import Linter, LinterFinder
from kith.gates.toolchain import Read
from kith.settings.features import all_parts


def find_linters(files: Collection[str], read: Read) -> tuple[Linter, ...]:
    """The linters of a tree: for each language one that needs no asking, and what the project configures.

    `files` are paths relative to the root, `read` gives a file's bytes or None. Nobody looks here whether a
    tool is installed; that shows when it is run.
    """
    return tuple(linter for finder in _finders() for linter in finder.find(files, read))


def lint_clues(files: Collection[str]) -> tuple[str, ...]:
    """The files that `find_linters` would read: for who reads them beforehand."""
    return tuple(dict.fromkeys(clue for finder in _finders() for clue in finder.clues(files)))


async def project_linters(run: Run) -> tuple[Linter, ...]:
    """The linters of the run's tree."""
    files = await run.workspace.files()
    contents = await read_readable(run.workspace, lint_clues(files))
    return find_linters(files, contents.get)


def _finders() -> tuple[LinterFinder, ...]:
    return tuple(all_parts(lambda feature: feature.linters))
