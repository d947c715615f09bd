"""Plan, retry and continue tasks, and run the person's own `!command`."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from kith.agent.mentions import read_pasted
from kith.agent.project import Project
from kith.agent.side_commands import EMPTY
from kith.agent.side_commands import run_command as run_aside
from kith.agent.tasks import Task, run_in
from kith.agent.templates import Parameter, TaskTemplate, fill_template, list_templates
from kith.agent.waiting_changes import is_under_way
from kith.core.errors import KithError, UsageError
from kith.core.events import Event, RunEnded, ToolEnded
from kith.core.feature import Lazy, SlashCommand
from kith.core.values import Ran
from kith.memory.session import Session
from kith.terminal.conversation.slash_commands import split_arguments
from kith.terminal.conversation.talk import Talk, open_model
from kith.terminal.rendering.panels import pairs_lines
from kith.view.lines import shortened
from kith.view.printing import folded, printable

COMMANDS: Final = (
    SlashCommand(
        "plan",
        "Work",
        "plan first, and ask; without a task: plan mode",
        Lazy(f"{__name__}:plan"),
        rest="[TASK]",
        more="The model reads and plans; you agree, or say what to plan differently, and then it works.",
    ),
    SlashCommand(
        "retry",
        "Work",
        "do the last task again",
        Lazy(f"{__name__}:retry"),
        rest="[WORDS]",
        more="WORDS are added to it: what was missing, or what to do differently. Files stay as they are.",
    ),
    SlashCommand(
        "continue",
        "Work",
        "go on with a task that was cut short",
        Lazy(f"{__name__}:go_on"),
        rest="[WORDS]",
        more="In its own trial, with all that it had done there; the model hears WORDS first.",
    ),
    SlashCommand(
        "run",
        "Work",
        "run a command in a trial, the same as !COMMAND",
        Lazy(f"{__name__}:run"),
        rest="COMMAND",
        more="The model is told of it with your next words; !!COMMAND keeps it from the model.",
    ),
    SlashCommand(
        "template",
        "Work",
        "do a common task",
        Lazy(f"{__name__}:template"),
        rest="[NAME ...]",
        takes="template",
        more="NAME is followed by name=value words; what is missing is asked for. Without NAME: the list.",
    ),
)


_OTHERS: Final = ("apply", "fork", "undo", "recovery")  # kinds of runs that are no task of the person's


async def answer_words(talk: Talk, words: str) -> None:
    """Words that are no command: a task, or more about the one that was stopped. Raises KithError."""
    if talk.mode != "plan" and await is_under_way(talk.project, talk.id):
        await go_on(talk, words)
    else:
        await _do(talk, words)


async def plan(talk: Talk, rest: str) -> None:
    """Plan a task before it is done; without one, plan everything from now on."""
    if rest:
        await _do(talk, rest, plan=True)
        return
    talk.set_mode("plan")
    talk.say("Plan mode: the model reads and answers, and changes nothing. Shift-Tab leaves it.")


async def retry(talk: Talk, rest: str) -> None:
    """Do the last task again, with these words added. Raises UsageError where there was none."""
    past = talk.past
    last = next((each for each in (past, past.last) if each and _is_task(each.started)), None)
    if last is None or last.started is None:
        raise UsageError("There is no task here yet that could be done again.")
    words = last.started.task
    talk.say(f"  {shortened(printable(words.splitlines()[0]), 70)}", "dim")
    await _do(talk, f"{words}\n\n{rest}" if rest else words)


def _is_task(started: Any) -> bool:
    return started is not None and started.options.command not in _OTHERS


async def go_on(talk: Talk, rest: str) -> None:
    """Resume an interrupted task in its trial; words are heard first. Raises UsageError."""
    if talk.mode == "plan":
        raise UsageError("In plan mode nothing is changed; /mode ask, then /continue.")
    if rest:
        talk.steer(rest)
    with talk.session() as session:
        await open_model(talk)
        await _run(talk, talk.project, session, Task("", resume=talk.id))


# --- the work itself -------------------------------------------------------------------------


async def _do(talk: Talk, words: str, *, plan: bool = False) -> None:
    """Give a task to the model, in a trial. Cancelled when the person stops it."""
    plan = plan and talk.mode != "plan"
    with talk.session() as session:
        try:
            await open_model(talk)
        except KithError:
            talk.terminal.prefill(words)  # for when there is somebody to hear them
            raise
        if talk.notes:
            words, talk.notes = "\n\n".join([words, *talk.notes]), []
        images = read_pasted(words)
        await _run(talk, talk.allowed, session, Task(words, "show" if plan else "no", images=images))


async def _run(talk: Talk, project: Project, session: Session, task: Task) -> None:
    talk.show_result(await run_in(project, session, task, talk.answer, talk.opened))


# --- templates -------------------------------------------------------------------------------


async def template(talk: Talk, rest: str) -> None:
    """Do a common task: what its blanks want and nobody said is asked for. Raises UsageError."""
    name, *given = split_arguments(rest) or [""]
    known = {each.name: each for each in list_templates(talk.project.root)}
    if not name:
        rows = [(f"{each.name} {_wanted(each)}".strip(), each.about) for each in known.values()]
        talk.terminal.show_lines(pairs_lines(rows, talk.terminal.width))
        talk.say("\nTo use one: /template NAME. kith asks for its values.", "dim")
        return
    if name in known:
        missing = await _ask_missing(talk, known[name], given)
        if missing is None:
            return
        given += missing
    words = fill_template(name, given, talk.project.root)
    talk.say(printable(words), "dim")
    await _do(talk, words)


def _wanted(template: TaskTemplate) -> str:
    return " ".join(
        f"{each.name}=" if each.default is None else f"[{each.name}=]" for each in template.parameters
    )


async def _ask_missing(talk: Talk, template: TaskTemplate, given: Sequence[str]) -> list[str] | None:
    """Values for the blanks that need one; None where the person leaves one open."""
    named = {word.partition("=")[0] for word in given}
    found = []
    for each in template.parameters:
        if each.name in named or each.default is not None:
            continue
        said = await talk.terminal.type_line(_question(each))
        if not said.strip():
            talk.say("Nothing was done.")
            return None
        found.append(f"{each.name}={said}")
    return found


def _question(parameter: Parameter) -> str:
    about = f", {parameter.about}" if parameter.about else ""
    return printable(f"{parameter.name} ({parameter.kind}{about})")


# `!command`: the person runs something themselves, and the model hears of it; of `!!command` it does
# not.

STOPPED: Final = "Stopped."
_WHOLE: Final = 24  # lines of output that are shown as they are
_HEAD, _TAIL = 6, 14  # of more than these, the first and the last
_INDENT: Final = "    "


async def run(talk: Talk, rest: str) -> None:
    """The same as `!COMMAND`. Raises UsageError."""
    if not rest:
        raise UsageError("Run what? /run COMMAND, or !COMMAND")
    await run_typed(talk, f"!{rest}")


async def run_typed(talk: Talk, words: str) -> None:
    """Carry out `!command` or `!!command`. Raises UsageError where there is none, KithError."""
    quiet = words.startswith("!!")
    command = words.lstrip("!").strip()
    if not command:
        raise UsageError(EMPTY)

    def show(event: Event, path: tuple[str, ...]) -> None:
        if isinstance(event, ToolEnded) and event.ran:
            _show_output(talk, event.ran)
        elif isinstance(event, RunEnded) and event.status not in ("done", "interrupted"):
            talk.say(printable(event.text), "dim" if event.status == "rejected" else "red")

    with talk.session() as session:
        session.listeners.append(show)
        try:
            await run_aside(talk.allowed, session, command, talk.answer, quiet=quiet)
        except asyncio.CancelledError:  # nothing else was cut short by it
            talk.voice.rest()
            talk.say(STOPPED, "yellow")


def _show_output(talk: Talk, ran: Ran) -> None:
    """Show a command's output, folded where it is long; Ctrl-O shows all of it."""
    lines = [folded(line) for line in printable(ran.output.strip("\n")).split("\n")]
    if lines == [""]:
        return
    talk.voice.details.kept.append((f"$ {printable(ran.command)}", "\n".join(lines)))
    if len(lines) > _WHOLE:
        more = f"... {len(lines) - _HEAD - _TAIL:,} more lines (Ctrl-O shows all)"
        lines = [*lines[:_HEAD], more, *lines[-_TAIL:]]
    talk.say("\n".join(f"{_INDENT}{line}".rstrip() for line in lines), "dim")
