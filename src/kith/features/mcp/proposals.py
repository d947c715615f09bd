"""Changes of other programs: tried on the side, or taken through the gates to the person."""

from collections.abc import Sequence

from msgspec import Struct, field

from kith.agent.asking.hidden import find_hidden
from kith.agent.attempt import Outcome, adopt_ready
from kith.agent.judges import find_project_toolchains
from kith.agent.outside_edits import Given, read_edits
from kith.agent.project import Project, Result
from kith.core.errors import TreeError, UsageError
from kith.core.events import Applied, Judged, Proposed
from kith.core.run import Answerer, Run, new_id
from kith.core.values import Change, Changes, FileChange, Question, Ran
from kith.core.workspace import ExecLimits, Workspace
from kith.edits import EditError, summarise
from kith.gates.command import name_command
from kith.gates.evidence.feedback import explain_report
from kith.gates.failure_output import distil
from kith.gates.results.run import run_suite
from kith.gates.toolchain import Toolchain
from kith.memory.applied import find_applied, short_id
from kith.tools.veiled import hide

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
    return await project.perform(words, "trial", do, answerer, id=id), tried


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
    id: str = "",
) -> Result:
    """Take a change through the gates to the person, and with their yes into the tree."""
    project.check_writable()

    async def do(run: Run) -> Outcome:
        return await adopt_ready(run, changes, project.judges(run), "Applied.")

    said = f"{words}: {_names(changes)}" if words else f"apply a change of {_names(changes)}"
    return await project.perform(said, "apply", do, answerer, id=id)


async def propose_undo(project: Project, wanted: str, answerer: Answerer, id: str = "") -> Result:
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

    return await project.perform(f"undo {name}", "undo", do, answerer, id=id)


def _names(changes: Sequence[Change]) -> str:
    first = ", ".join(change.path for change in changes[:3])
    return f"{first} and {len(changes) - 3} more" if len(changes) > 3 else first
