"""Work that a command asks for: plans, reviews, tests, councils, templates, notes for agents."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kith.core.errors import UsageError
from kith.terminal.conversation.commands.parting import split
from kith.terminal.rendering.panels import pairs_lines
from kith.view.printing import printable

if TYPE_CHECKING:
    from kith.agent.known_templates import Parameter, Template
    from kith.terminal.conversation.talk import Talk

_OTHERS: Final = ("apply", "fork", "undo", "recovery")  # kinds of runs that are no task of the person's


async def plan(talk: "Talk", rest: str) -> None:
    """Plan a task before it is done; without one, plan everything from now on."""
    if rest:
        await talk.do(rest, plan=True)
        return
    talk.set_mode("plan")
    talk.say("Plan mode: the model reads and answers, and changes nothing. Shift-Tab leaves it.")


async def retry(talk: "Talk", rest: str) -> None:
    """Do the last task again, with these words added. Raises UsageError where there was none."""
    past = talk.past
    last = next((each for each in (past, past.last) if each and _is_task(each.started)), None)
    if last is None or last.started is None:
        raise UsageError("There is no task here yet that could be done again.")
    words = last.started.task
    talk.say(f"  {printable(words.splitlines()[0])[:70]}", "dim")
    await talk.do(f"{words}\n\n{rest}" if rest else words)


def _is_task(started: Any) -> bool:
    return started is not None and started.options.command not in _OTHERS


async def run(talk: "Talk", rest: str) -> None:
    """The same as `!COMMAND`. Raises UsageError."""
    if not rest:
        raise UsageError("Run what? /run COMMAND, or !COMMAND")
    from kith.terminal.conversation.aside import run_typed

    await run_typed(talk, f"!{rest}")


# --- reviews and tests -----------------------------------------------------------------------


# --- templates -------------------------------------------------------------------------------


async def template(talk: "Talk", rest: str) -> None:
    """Do a common task: what its blanks want and nobody said is asked for. Raises UsageError."""
    from kith.agent.known_templates import fill_template, list_templates

    name, *given = split(rest) or [""]
    known = {each.name: each for each in list_templates(talk.project.root)}
    if not name:
        rows = [(f"{each.name} {_wanted(each)}".strip(), each.about) for each in known.values()]
        talk.terminal.show_lines(pairs_lines(rows, talk.terminal.width))
        talk.say("\nTo use one: /template NAME; what it wants to know is asked for.", "dim")
        return
    if name in known:
        missing = await _ask_missing(talk, known[name], given)
        if missing is None:
            return
        given += missing
    words = fill_template(name, given, talk.project.root)
    talk.say(printable(words), "dim")
    await talk.do(words)


def _wanted(template: "Template") -> str:
    return " ".join(
        f"{each.name}=" if each.default is None else f"[{each.name}=]" for each in template.parameters
    )


async def _ask_missing(talk: "Talk", template: "Template", given: Sequence[str]) -> list[str] | None:
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


def _question(parameter: "Parameter") -> str:
    about = f", {parameter.about}" if parameter.about else ""
    return printable(f"{parameter.name} ({parameter.kind}{about})")


# --- a guide for agents ----------------------------------------------------------------------
