"""A session as one file that needs nothing beside itself: a page without scripts, Markdown, or JSON."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from textwrap import dedent
from typing import Any, Final

from kith.core.events import (
    Answered,
    Applied,
    Asked,
    Event,
    Judged,
    Named,
    RunEnded,
    RunStarted,
    Said,
    ToolEnded,
)
from kith.core.options import Options
from kith.core.values import Message, Ran
from kith.features.web.html.entries import read_body, read_event
from kith.features.web.html.forks import kind_of, unfold_fork
from kith.features.web.html.outputs import clipped
from kith.features.web.html.panels import Draw
from kith.features.web.html.receipt import KINDS, describe
from kith.features.web.html.scene import Scene
from kith.features.web.html.standalone import standalone_page
from kith.memory.live import Seen
from kith.memory.records import COMMAND as ASIDE
from kith.terminal.question_text import question_text
from kith.view.lines import line_of
from kith.view.markup import element
from kith.view.printing import printable
from kith.view.quoting import coded, fenced, quoted

_STYLES: Final = ("base.css", "steps.css", "review.css")


def export_page(session: str, seen: Sequence[Seen], build: Draw | None = None) -> str:
    """The whole session as a page that any browser shows, without a network and without scripts.

    `build` draws how a build stands.
    """
    scene = Scene(session, live=False, build=build)
    scene.skip(seen)
    began = datetime.fromtimestamp(seen[0].at, UTC)
    when = element("time", f"{began:%Y-%m-%d %H:%M} UTC", datetime=began.isoformat())
    title = clipped(scene.title) or session
    facts = element("p", when, f" · {session}", class_="facts")
    head = element("div", element("h1", title), facts, id="head")
    return standalone_page(title, scene.html(None, head), _STYLES)


def export_data(session: str, seen: Iterable[Seen]) -> dict[str, Any]:
    """The whole session as plain data: every event as the log has it, and the receipt of the last task."""
    rows = list(seen)
    events = [
        {
            "seq": each.position.seq,
            "at": each.at,
            "path": each.path,
            "kind": each.kind,
            "event": read_body(each),
        }
        for each in rows
    ]
    return {"session": session, "events": events, "receipt": describe(session, _last_task(rows))}


def _last_task(seen: Sequence[Seen]) -> list[Seen]:
    begins = (n for n, each in enumerate(seen) if each.kind == "RunStarted")
    begin = max((n for n in begins if kind_of(read_body(seen[n])) != ASIDE), default=0)
    return [each for each in seen[begin:] if each.kind in {*KINDS, "Called"}]


def export_markdown(session: str, seen: Iterable[Seen]) -> str:
    """The conversation as Markdown: who said what, what was run, what was decided."""
    blocks, task = [f"<!-- kith session {session} -->"], ""
    for each in chain.from_iterable(map(_unfolded, seen)):
        event = read_event(each)
        task = event.task if isinstance(event, RunStarted) else task
        blocks += _blocks(event, task)
    return printable("\n\n".join(blocks)) + "\n"


def _unfolded(seen: Seen) -> Iterable[Seen]:
    return unfold_fork(seen) if seen.kind == "Forked" else (seen,)


def _blocks(event: Event, task: str) -> Iterator[str]:
    match event:
        case RunStarted(options=Options(kind="fork")):  # its name is the other session's
            return
        case Named(title):
            yield f"**Called:** {coded(title)}"
        case RunStarted():
            yield f"# {clipped(task)}"
        case Said(message=message):
            yield from _said(message, task)
        case ToolEnded() as ended:
            yield f"- {ended.name}: {coded(clipped(ended.line or 'done'))}"
            yield from [_ran(ended.ran)] if ended.ran else []
        case Judged() as judged if judged.ran:
            word = "passed" if judged.ok else "failed"
            yield f"**{judged.gate}{' before the change' if judged.when == 'before' else ''} {word}**"
            yield from map(_ran, judged.ran)
        case Applied(files=files, undoes=undoes):
            yield f"**{'Taken back' if undoes else 'Applied'}**"
            yield fenced("".join(file.diff for file in files), "diff")
        case Asked(question):
            yield f"**kith asks:** {coded(question_text(question))}"
        case Answered(answer=answer):
            yield f"**Answer:** {answer.choice}" + (f": {coded(answer.text)}" if answer.text else "")
        case RunEnded(status, words):
            yield f"**{status.capitalize()}**"
            yield from [quoted(words)] if words else []
        case _:
            line = dedent(line_of(event)[1]).strip()
            yield from [fenced(line)] if line else []


def _said(message: Message, task: str) -> Iterator[str]:
    words = message.text
    if message.role == "user" and message.author == "person":
        more = len(words) - len(task) if task and task in words else 0
        yield f"## You\n\n{quoted((task if more else words).strip())}"
        yield from [f"(with {more:,} characters that kith put beside it)"] if more else []
    elif message.role == "assistant" and words.strip():
        yield f"## {clipped(message.author)}\n\n{quoted(words)}"


def _ran(ran: Ran) -> str:
    lost = f"\n[{ran.cut:,} bytes were not kept]" if ran.cut else ""
    return fenced(f"$ {ran.command}\n{ran.output.rstrip()}{lost}\n[exit {ran.code}]")
