"""Ready-made changes from outside kith: edits applied as they are, or tried on the side and proposed."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec import Struct, field
from msgspec.structs import replace

from kith import __version__
from kith.agent.asking.hidden import find_hidden
from kith.agent.attempt import Outcome, adopt_ready
from kith.agent.judges import find_project_toolchains
from kith.agent.project import Project, Result
from kith.core.errors import TreeError, UsageError
from kith.core.events import Applied, Judged, Options, Proposed, RunEnded, RunStarted
from kith.core.run import Answerer, Run, new_id
from kith.core.values import Change, Changes, FileChange, Question, Ran
from kith.core.workspace import ExecLimits, Workspace
from kith.edits import EditError, Form, find_edits, make_changes, paths_of, summarise
from kith.gates.command import name_command
from kith.gates.evidence.feedback import explain_report
from kith.gates.failure_output import distil
from kith.gates.human import warnings_of
from kith.gates.results.run import run_suite
from kith.gates.toolchains import Toolchain
from kith.memory.applied import find_applied, short_id
from kith.memory.session import Listener, telling
from kith.tools.veiled import hide

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


_SHOWN = 4_000  # characters of a check's output


class TrialResult(Struct):
    """The result of a trial: commands run, the relevant output, and changed files."""

    ran: list[Ran] = field(default_factory=list)
    output: str = ""
    files: tuple[FileChange, ...] = ()


async def read_given(project: Project, text: str) -> Changes:
    """The change that a text holds, made against the files as they are; private ones are not read.

    Raises UsageError for a text without edits, edits that do not fit, and paths that are out of bounds.
    """
    tree = hide(project.tree, (await find_hidden(project)).veil)
    try:
        changes = await read_edits(project, Given(text), tree)
        await _check_places(tree, changes)
    except (EditError, TreeError) as error:
        raise UsageError(f"The change cannot be used: {error}") from error
    return changes


async def _check_places(tree: Workspace, changes: Changes) -> None:
    """Raises TreeError for a change that the tree would refuse; a trial says so before anybody is asked."""
    async with tree.trial() as trial:
        await trial.apply(changes)


async def try_given(
    project: Project,
    changes: Changes,
    command: str,
    answerer: Answerer,
    listeners: Sequence[Listener] = (),
    id: str = "",
) -> tuple[Result, TrialResult]:
    """Apply a change in a trial, run a command there (or the project's own checks), and throw it all away.

    The command is somebody else's, and cannot read private files that git ignores. Raises UsageError where
    commands cannot be confined, and where there is nothing to run.
    """
    tried = TrialResult()
    if not project.tree.confined:
        raise UsageError(
            "No sandbox on this machine, so kith runs no commands for other programs. Details: kith doctor"
        )

    async def do(run: Run) -> Outcome:
        checks = await _checks(project, run, command)
        veiled = hide(run.workspace, (await find_hidden(project)).veil)
        async with veiled.trial() as trial:
            await trial.apply(changes)
            inside = run.inside(trial)
            inside.emit(Proposed(summarise(changes)))
            ok = await _run_checks(inside, checks, ExecLimits(project.settings.check_timeout), tried)
            tried.files = summarise(await trial.changes())
        last = tried.ran[-1]
        ended = "timed out" if last.timed_out else f"ended with exit code {last.code}"
        return Outcome("done" if ok else "failed", f"`{last.command}` {ended}; nothing was applied.")

    words = f"try a change of {_names(changes)}"
    return await project.perform(words, "trial", do, answerer, listeners, id), tried


async def _checks(project: Project, run: Run, command: str) -> Sequence[Toolchain]:
    """Return the checks to run: the command, else those of the project."""
    named = (command,) if command else tuple(each for each in project.settings.check if each != "none")
    found = [name_command(each) for each in named] or await find_project_toolchains(run)
    if not found:
        raise UsageError("This project has no check that kith knows; name a command.")
    return found


async def _run_checks(run: Run, checks: Sequence[Toolchain], limits: ExecLimits, tried: TrialResult) -> bool:
    """Run the checks in the trial that `run.workspace` is; the first that fails is the last."""
    for check in checks:
        report = await run_suite(run, check, limits)
        tried.ran.append(report.ran)
        tried.output = explain_report(report, _SHOWN) or distil(report.ran.output, check.test, _SHOWN)
        run.emit(Judged(check.test, report.ok, 1, ran=(report.ran,), figures=dict(report.figures)))
        if not report.ok:
            return False
    return True


async def propose_given(
    project: Project,
    changes: Changes,
    words: str,
    answerer: Answerer,
    listeners: Sequence[Listener] = (),
    id: str = "",
) -> Result:
    """Take a change through the gates to the person, and with their yes into the tree."""
    project.check_writable()

    async def do(run: Run) -> Outcome:
        return await adopt_ready(run, changes, project.judges(run), "Applied.")

    said = f"{words}: {_names(changes)}" if words else f"apply a change of {_names(changes)}"
    return await project.perform(said, "apply", do, answerer, listeners, id)


async def propose_undo(
    project: Project, wanted: str, answerer: Answerer, listeners: Sequence[Listener] = (), id: str = ""
) -> Result:
    """Ask the person whether to undo a change: by its id, its session's, or the last one."""
    project.check_writable()
    target = find_applied(project.log.applied(str(project.root)), wanted, project.log.gone())
    name = short_id(target.change_id)

    async def do(run: Run) -> Outcome:
        changes, _ = project.tree.recall(target.change_id)
        back = tuple(change.inverse for change in changes)
        text = f"Undo change {name}?"
        question = Question(new_id(), "change", text, ("all", "none"), back, files=summarise(back))
        if (await run.ask(question)).choice != "all":
            return Outcome("rejected", "Nothing was undone.")
        change_id, undone = await project.tree.undo(target.change_id)
        run.emit(Applied(change_id, summarise(undone), undoes=target.change_id))
        return Outcome("done", f"Undid {name}.")

    return await project.perform(f"undo {name}", "undo", do, answerer, listeners, id)


def _names(changes: Sequence[Change]) -> str:
    first = ", ".join(change.path for change in changes[:3])
    return f"{first} and {len(changes) - 3} more" if len(changes) > 3 else first
