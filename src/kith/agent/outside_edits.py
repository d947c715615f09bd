"""Edits that a model outside of kith wrote, applied to a folder as they are, in a session of their own."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from kith import __version__
from kith.agent.project import Project
from kith.core.errors import TreeError
from kith.core.events import Applied, Options, RunEnded, RunStarted
from kith.core.values import Changes
from kith.core.workspace import Workspace
from kith.edits import EditError, Form, find_edits, make_changes, paths_of, summarise
from kith.gates.human import warnings_of
from kith.memory.session import telling

# Edits that any model wrote, applied to a folder: nothing is run, no gate decides, nobody is asked.

_NOTHING = "Your reply holds no edits; send a diff, search/replace blocks, or whole files under their names."


class Given(Struct, frozen=True):
    """A reply, and its context.

    `finish_reason` is the server's ("": not known), `path` the file that the reply is about. `folder` is
    the base of its names: "" or a folder of the project, with a slash at its end.
    """

    text: str
    finish_reason: str = ""
    form: Form = "auto"
    path: str = ""
    folder: str = ""


async def read_edits(project: Project, given: Given, tree: Workspace | None = None) -> Changes:
    """The changes that a reply asks for, made against the files as they are now.

    `tree` is how the files are read, if not plainly. Raises EditError, a message to the model, and TreeError
    for paths that are out of bounds.
    """
    listed = await project.tree.files()
    known = frozenset(p.removeprefix(given.folder) for p in listed if p.startswith(given.folder))
    edits = find_edits(given.text, known, given.finish_reason, given.form, given.path)
    if not edits:
        raise EditError(_NOTHING)
    paths = paths_of(edits, known)
    contents = dict[str, bytes | None]()
    for path in paths:
        contents[path] = await _read(tree or project.tree, given.folder + path, path in known)
    present = [given.folder + path for path in paths if contents[path] is not None]
    found = await project.tree.modes(present)
    modes = {path.removeprefix(given.folder): mode for path, mode in found.items()}
    changes = make_changes(edits, contents, modes, known)
    placed = tuple(replace(change, path=given.folder + change.path) for change in changes)
    await project.tree.check(placed)
    return placed


async def _read(tree: Workspace, path: str, listed: bool) -> bytes | None:
    """A file's content, None where there is none. One that is not listed may be new, or ignored by git."""
    if listed:
        return await tree.read(path)
    with suppress(TreeError):
        return await tree.read(path)
    return None


async def write_edits(project: Project, changes: Changes, words: str) -> Applied:
    """Change the tree, in a session of its own, so that it can be undone. Raises KithError."""
    project.check_writable()
    await project.recover(None)
    with project.session(changes=changes) as session:  # before anything is changed: it may be refused
        applied = Applied(await project.tree.apply(changes), summarise(changes))
        with telling(applied):
            session.emit(RunStarted(words, str(project.root), "", __version__, Options("edits")))
        session.emit(applied)
        session.emit(RunEnded("done", "Applied."))
    return applied


def warnings_for(project: Project, changes: Changes) -> Mapping[str, str]:
    """Name the programs that run changed files automatically, without those allowed in advance."""
    return warnings_of(changes, project.settings.allow_file)


def shown(changes: Changes, folder: str) -> Sequence[str]:
    """Each change as a diff, with names relative to a folder of the project."""
    inside = (replace(change, path=change.path.removeprefix(folder)) for change in changes)
    return [file.diff for file in summarise(tuple(inside))]
