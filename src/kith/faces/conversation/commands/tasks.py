"""Work that a command asks for: plans, reviews, tests, councils, templates, notes for agents."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kith.core.errors import EXIT_DONE, UsageError
from kith.core.events import Delta, Event
from kith.core.values import Finding
from kith.faces.conversation.commands.parting import split
from kith.faces.conversation.commands.reading import read_settings
from kith.faces.lines import count
from kith.faces.printing import printable
from kith.faces.rendering.panels import pairs_lines

if TYPE_CHECKING:
    from kith.app.confer import Conferred
    from kith.app.review import Told
    from kith.app.templates import Parameter, Template
    from kith.faces.conversation.talk import Talk

_OTHERS: Final = ("apply", "fork", "undo", "recovery")  # kinds of runs that are no task of the person's
_KNOWN: Final = 20  # findings that the model is told of


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
    from kith.faces.conversation.aside import run_typed

    await run_typed(talk, f"!{rest}")


# --- reviews and tests -----------------------------------------------------------------------


async def review(talk: "Talk", rest: str) -> None:
    """Say what is wrong with a change; with --apply, propose what was suggested. Raises UsageError."""
    from kith.app.codebase.subjects import Wish
    from kith.app.review import run_review
    from kith.faces.review import offered_in, review_lines

    words = split(rest)
    apply = "--apply" in words
    wish = Wish(revision=" ".join(word for word in words if word != "--apply"))
    told = await run_review(talk.allowed, wish, talk.answer, [_without(talk, "Reviewed")], apply=apply)
    talk.voice.rest()
    talk.say("\n".join(review_lines(told, told.review.findings)))
    if told.result.code != EXIT_DONE:
        talk.say(printable(told.result.report["text"]), "red")
    if told.left:
        talk.notes.append(_as_note(told))
        offered = offered_in(told.left)
        more = f" {count(offered, 'suggestion')} to apply: /review --apply" if offered else ""
        talk.say(f"The model knows this with your next words.{more}", "dim")


def _as_note(told: "Told") -> str:
    shown = told.left[:_KNOWN]
    return "\n".join([f"A review of {told.subject.words} found:", *map(_in_a_line, shown)])


def _in_a_line(finding: Finding) -> str:
    return f"- {finding.path}:{finding.line}: {finding.text}"


def _without(talk: "Talk", *kinds: str) -> Any:
    """A listener to another session, but for the events that are shown in another way."""

    def hear(event: Event, path: tuple[str, ...]) -> None:
        if type(event).__name__ not in kinds:
            talk.hear(event, path)

    return hear


async def test(talk: "Talk", rest: str) -> None:
    """Write tests that prove something, for a target or for what is not committed. Raises UsageError."""
    from kith.app.testgen import Request, generate_tests
    from kith.app.testgen_report import report
    from kith.faces.testgen import tests_lines

    told = await generate_tests(talk.allowed, Request(rest), talk.answer, [talk.hear])
    talk.voice.rest()
    data = report(told)
    talk.say(printable("\n".join(line for each in data.get("tests", ()) for line in tests_lines(each))))
    if told.result:
        talk.show_result(told.result)


async def panel(talk: "Talk", rest: str) -> None:
    """Let several models confer; the next task knows what they agreed on. Raises UsageError."""
    if not rest:
        raise UsageError("Confer about what? /panel WORDS")
    from kith.app.confer import Motion, run_confer

    def hear(event: Event, path: tuple[str, ...]) -> None:
        if not isinstance(event, Delta):  # several speak at once; each is shown when it has spoken
            talk.hear(event, path)

    hurry = asyncio.Event()
    work = asyncio.ensure_future(run_confer(talk.project, Motion(rest), talk.answer, [hear], hurry))
    told = await _until_decided(talk, work, hurry)
    talk.voice.rest()
    if told.minutes and told.minutes.concluded:
        talk.notes.append(f"# What several models agreed on\n{told.minutes.concluded.text}")
        talk.say("The next task knows this.", "dim")
    else:
        talk.say(printable(told.result.report["text"]), "red")


async def _until_decided(
    talk: "Talk", work: "asyncio.Future[Conferred]", hurry: asyncio.Event
) -> "Conferred":
    """What they agree on; a person who stops them once lets them decide with what is there."""
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        this = asyncio.current_task()
        if talk.closing or work.cancelled() or this is None:
            work.cancel()
            raise
        this.uncancel()
        hurry.set()
        talk.say("They decide with what is there; Esc again stops.", "yellow")
        return await work


# --- templates -------------------------------------------------------------------------------


async def template(talk: "Talk", rest: str) -> None:
    """Do a common task: what its blanks want and nobody said is asked for. Raises UsageError."""
    from kith.app.templates import fill_template, list_templates

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


async def init(talk: "Talk", rest: str) -> None:
    """Write an AGENTS.md from what a scan finds, once the person has seen it. Raises KithError."""
    from kith.app.guide import keep_guide, propose_guide
    from kith.edits import summarise
    from kith.faces.rendering.diffs import changes_lines

    talk.project.check_writable()
    changes = await propose_guide(talk.project, talk.hear)
    talk.voice.rest()
    if not changes:
        talk.say("The notes for agents say all of it already.")
        return
    screen, path = talk.terminal, printable(changes[0].path)
    screen.show_lines(changes_lines(summarise(changes), screen.width, screen.look.glyphs))
    if await screen.press(f"Write {path}?  [y]es  [n]o", "yn") != "y":
        talk.say("Nothing was written.")
        return
    _, counts = await keep_guide(talk.project, changes)
    await read_settings(talk)
    how = "New conversations begin with it." if counts else "It counts once you trust this folder: kith trust"
    talk.say(f"{path} is written. {how}", "green")
