"""A session as one file that needs nothing beside itself: a page without scripts, Markdown, or JSON."""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from textwrap import dedent
from typing import Any, Final

from kith.core.events import Called, Event, Named, RunStarted, Said
from kith.core.values import Message, Ran
from kith.features.web.html.outputs import clipped
from kith.features.web.html.page import standalone_page
from kith.features.web.html.scene import RECEIPT, Draw, Scene
from kith.memory.database import is_aside
from kith.memory.live import Seen, read_seen
from kith.memory.past import fold
from kith.memory.receipt import describe_run
from kith.view.items import (
    AppliedChange,
    AskedQuestion,
    ClosingWords,
    CouncilTalk,
    GateVerdict,
    Item,
    Items,
    ModelStep,
    Note,
    PersonSpoke,
    RunResult,
    TaskBegun,
    ToolUse,
)
from kith.view.markup import coded, element, fenced, quoted
from kith.view.printing import printable
from kith.view.wording import (
    line_of,
    question_text,
    word_answer,
    word_applied,
    word_exit,
    word_result,
    word_verdict,
)

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
            "event": json.loads(each.body),
        }
        for each in rows
    ]
    return {"session": session, "events": events, "receipt": describe_run(session, fold(_last_task(rows)))}


def _last_task(seen: Sequence[Seen]) -> list[Event]:
    events = [read_seen(each) for each in seen]
    begins = (n for n, each in enumerate(events) if isinstance(each, RunStarted) and not is_aside(each))
    begin = max(begins, default=0)
    return [each for each in events[begin:] if isinstance(each, (*RECEIPT, Called))]


def export_markdown(session: str, seen: Iterable[Seen]) -> str:
    """The conversation as Markdown: who said what, what was run, what was decided."""
    items = Items()
    for each in seen:
        items.take(read_seen(each), each.path, each.at, each.position.seq)
    blocks = [f"<!-- kith session {session} -->"]
    blocks += [block for item in items.by_key.values() for block in _blocks(item)]
    return printable("\n\n".join(blocks)) + "\n"


def _blocks(item: Item) -> Iterator[str]:
    match item:
        case TaskBegun(words=words, given=given):
            yield f"# {clipped(words)}"
            yield from _spoken(words, given) if given else ()
        case PersonSpoke(text=text):
            yield from _spoken(text)
        case ModelStep(message=Message() as message, tools=tools):
            yield from _said(message)
            yield from (block for use in tools for block in _used(use))
        case ClosingWords(message=message):
            yield from _said(message)
        case CouncilTalk(events=events):
            messages = (event.message for event in events if isinstance(event, Said))
            yield from (block for message in messages for block in _said(message))
        case ToolUse():
            yield from _used(item)
        case AskedQuestion(question=question, answer=answer):
            yield f"**kith asks:** {coded(question_text(question))}"
            if answer:
                said = f": {coded(answer.text)}" if answer.text else ""
                yield f"**Answer:** {word_answer(answer)}{said}"
        case _:
            yield from _done(item)


def _done(item: Item) -> Iterator[str]:
    match item:
        case GateVerdict(judged=judged) if judged.ran:
            before = " before the change" if judged.when == "before" else ""
            yield f"**{judged.gate}{before} {word_verdict(judged)}**"
            yield from map(_ran, judged.ran)
        case AppliedChange(applied=applied):
            yield f"**{word_applied(applied)}**"
            yield fenced("".join(file.diff for file in applied.files), "diff")
        case Note(event=Named(title)):
            yield f"**Called:** {coded(title)}"
        case RunResult(ended=ended):
            yield f"**{word_result(ended.status)}**"
            yield from [quoted(ended.text)] if ended.text else []
        case _:
            line = dedent(line_of(item)[1]).strip()
            yield from [fenced(line)] if line else []


def _spoken(words: str, given: Message | None = None) -> Iterator[str]:
    """A person's words; what kith put beside them is counted."""
    yield f"## You\n\n{quoted(words.strip())}"
    if more := len(given.text) - len(words) if given else 0:
        yield f"(with {more:,} characters that kith put beside it)"


def _said(message: Message) -> Iterator[str]:
    if message.role == "assistant" and message.text.strip():
        yield f"## {clipped(message.author)}\n\n{quoted(message.text)}"


def _used(use: ToolUse) -> Iterator[str]:
    if use.ended:
        yield f"- {use.name}: {coded(clipped(use.ended.line or 'done'))}"
        yield from [_ran(use.ended.ran)] if use.ended.ran else []


def _ran(ran: Ran) -> str:
    lost = f"\n[{ran.cut:,} bytes were not kept]" if ran.cut else ""
    return fenced(f"$ {ran.command}\n{ran.output.rstrip()}{lost}\n[{word_exit(ran)}]")
