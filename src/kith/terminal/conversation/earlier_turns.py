"""The last turns of an earlier conversation, drawn as they were seen; what is left out is counted."""

from collections.abc import Iterator, Sequence
from typing import Final

from kith.core.events import Notice, RunStarted
from kith.memory.database import ASIDES, COMMAND
from kith.memory.log import Log
from kith.memory.turns import NO_TURNS, turns
from kith.terminal.conversation.item_view import Voice
from kith.terminal.rendering.activity import stopped_line, tool_line
from kith.terminal.rendering.glyphs import Glyphs
from kith.terminal.rendering.markdown import render_said
from kith.terminal.rendering.spans import Line, Span, wrap
from kith.view.items import Item, Items, ModelStep, Note, PersonSpoke, RunResult, TaskBegun, TodoList, ToolUse
from kith.view.lines import count
from kith.view.printing import printable
from kith.view.wording import is_shown, line_of

_TURNS: Final = 3
_LINES: Final = 40  # of each turn
_ROLES: Final = {"tool": "dim", "note": "note", "bad": "bad", "good": "good", "plain": ""}
_STOPPED: Final = "Stopped."


def show_earlier(voice: Voice, log: Log, session: str) -> None:
    """Show the last turns, and keep what their tools said for Ctrl-O."""
    spoken, screen = turns(log, session), voice.screen
    more, width, glyphs = screen.look.glyphs.more, screen.width, screen.look.glyphs
    shown = spoken[-_TURNS:]
    if left := len(spoken) - len(shown):
        screen.show_lines([(Span(f"{more} {count(left, 'earlier turn')}", "dim"),)])
    after = 0 if any(turn.copied for turn in shown) else min((turn.upto for turn in shown), default=0)
    every = _read_turns(log, session, after)[-len(shown) :] if shown else []
    for turn, items in zip(shown, every, strict=False):
        screen.echo(turn.words)
        lines = [line for item in items for line in _item_lines(item, width, glyphs)]
        while lines and not lines[-1]:
            lines.pop()
        if cut := max(len(lines) - _LINES, 0):
            screen.show_lines([(Span(f"  {more} {count(cut, 'line')} left out", "dim"),)])
        screen.show_lines(lines[cut:])
        for use in _uses(items):
            voice.details.keep_use(use)
    screen.gap()


def _read_turns(log: Log, session: str, after: int) -> Sequence[Sequence[Item]]:
    """The items of each turn, without the task itself; a command of the person belongs to the turn before."""
    items, kinds = Items(), dict[str, str]()
    for record in log.events(session, after):
        for changed in items.take(record.event, record.path, record.at, record.seq):
            if changed.is_new and isinstance(changed.item, TaskBegun):
                kinds[changed.item.key] = (
                    record.event.options.kind if isinstance(record.event, RunStarted) else ""
                )
    found: list[list[Item]] = []
    for key, item in items.by_key.items():
        kind = kinds.get(key)
        if kind is not None and kind not in (*ASIDES, *NO_TURNS):
            found.append([])
        elif found and kind in (None, COMMAND):
            found[-1].append(item)
    return found


def _uses(items: Sequence[Item]) -> Iterator[ToolUse]:
    for item in items:
        yield from item.tools if isinstance(item, ModelStep) else [item] if isinstance(item, ToolUse) else []


def _item_lines(item: Item, width: int, glyphs: Glyphs) -> Iterator[Line]:
    match item:
        case TaskBegun(words=words):
            yield from ((), (Span(f"> !{printable(words)}", "strong"),))
        case PersonSpoke(text=text):
            yield from ((), (Span(f"> {printable(text.strip())}", "strong"),))
        case ModelStep(message=message, tools=tools):
            if message and message.text.strip():
                yield from (*render_said(message.text, width, glyphs), ())
            for use in tools:
                yield from _tool_lines(use, width, glyphs)
        case ToolUse():
            yield from _tool_lines(item, width, glyphs)
        case RunResult(ended=ended) if ended.status == "interrupted":
            yield (Span(_STOPPED, "note"),)
        case RunResult(ended=ended, said=said):
            last = Span(printable(ended.text), "" if ended.status == "done" else "bad")
            yield from wrap([last], width) if ended.text and not said else ()
        case TodoList() | Note(event=Notice(topic="model" | "resumed" | "forecast")):
            return
        case _:
            style, text = line_of(item, undo="/undo")
            line = Span(glyphs.spelled(printable(text.removeprefix("  "))), _ROLES.get(style, ""))
            yield from wrap([line], width, (), (Span("  "),)) if text else ()


def _tool_lines(use: ToolUse, width: int, glyphs: Glyphs) -> Iterator[Line]:
    if use.ended and is_shown(use.ended):
        yield tool_line(use, width, glyphs)
    elif use.began and not use.ended:
        yield stopped_line(use.began, 0.0, width, glyphs)
