"""Lay out the lower end of the screen: live regions, the line, suggestions, the status."""

import re
from collections.abc import Callable
from typing import Final, Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, vi_navigation_mode
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText, StyleAndTextTuples
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.processors import (
    AfterInput,
    AppendAutoSuggestion,
    ConditionalProcessor,
    TabsProcessor,
)
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from kith.terminal.conversation.history import Pastes
from kith.terminal.conversation.input_line import InputLine
from kith.terminal.conversation.slash_commands import loaded_commands
from kith.terminal.rendering.look import Look

# What stands out in the line while it is written: commands, files, pasted texts.

_FILE: Final = r"(?<![^\s(\[{,;:])@(?:\"[^\"\n]+\"?|[^\s\"]+)"
_PASTE: Final = r"\[paste [^\]\n]{1,60}\]"
_PARTS: Final = re.compile(f"(?P<file>{_FILE})|(?P<paste>{_PASTE})")
_BEGIN: Final = re.compile(r"/([\w-]+)(?=\s|$)|!!?")


class LineLexer(Lexer):
    """Styles by the look of a word alone: nothing is asked while somebody types."""

    def __init__(self, pastes: Pastes) -> None:
        self._pastes = pastes

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """The styles of each line."""
        lines = document.lines

        def styled(number: int) -> StyleAndTextTuples:
            return self._line(lines[number], first=number == 0) if number < len(lines) else []

        return styled

    def _line(self, line: str, *, first: bool) -> StyleAndTextTuples:
        found: StyleAndTextTuples = []
        at = 0
        begin = _BEGIN.match(line) if first else None
        if begin and (begin[1] is None or begin[1] in loaded_commands()):
            found, at = [("class:command", begin[0])], begin.end()
        for part in _PARTS.finditer(line, at):
            if part.lastgroup == "paste" and not self._pastes.used_in(part[0]):
                continue
            found += [("", line[at : part.start()]), (f"class:{part.lastgroup}", part[0])]
            at = part.end()
        return [*found, ("", line[at:])]


_MOST_LINES: Final = 12  # of the message that is written
STYLE: Final = Style.from_dict(
    {
        "rule": "fg:ansibrightblack",
        "prompt": "bold",
        "hint": "dim",
        "chosen": "bold",
        "meaning": "dim",
        "command": "fg:ansicyan",
        "file": "fg:ansicyan",
        "paste": "dim",
        "auto-suggestion": "noinherit dim",
    }
)


class Drawn(Protocol):
    """The content of the lower end: live lines, the line with its hint, the status."""

    line: InputLine
    look: Look
    hint: str
    status: Callable[[int], str]

    @property
    def buffer(self) -> Buffer: ...
    @property
    def width(self) -> int: ...
    @property
    def is_lively(self) -> bool: ...
    @property
    def busy_asking(self) -> bool: ...
    def fragments(self) -> StyleAndTextTuples: ...


def make_layout(terminal: Drawn) -> Layout:
    """Regions, a rule, the line, a rule, suggestions or the status."""
    written = Condition(lambda: bool(terminal.buffer.text))
    hint = AfterInput(lambda: [("class:hint", terminal.hint)])
    tabs = TabsProcessor(char1=" ", char2=" ")
    processors = [tabs, AppendAutoSuggestion(), ConditionalProcessor(hint, ~written)]
    writing = Window(
        BufferControl(terminal.buffer, input_processors=processors, lexer=LineLexer(terminal.line.pastes)),
        height=Dimension(min=1, max=_MOST_LINES),
        dont_extend_height=True,
        wrap_lines=True,
        get_line_prefix=lambda line, wrapped: _prefix(terminal, line, wrapped),
    )
    menu = terminal.line.menu
    suggesting = Condition(lambda: menu.is_open and not terminal.busy_asking)
    suggestions = Window(
        FormattedTextControl(lambda: menu.fragments(terminal.width)), dont_extend_height=True
    )
    status = Window(
        FormattedTextControl(lambda: ANSI(terminal.status(terminal.width))), dont_extend_height=True
    )
    lively = Window(FormattedTextControl(terminal.fragments), dont_extend_height=True, wrap_lines=False)
    container = HSplit(
        [
            ConditionalContainer(lively, Condition(lambda: terminal.is_lively)),
            _rule(terminal),
            writing,
            _rule(terminal),
            ConditionalContainer(suggestions, suggesting),
            ConditionalContainer(status, ~suggesting),
        ]
    )
    return Layout(container, focused_element=writing)


def _rule(terminal: Drawn) -> Window:
    return Window(height=1, char=lambda: terminal.look.glyphs.rule, style="class:rule")


def _prefix(terminal: Drawn, line: int, wrapped: int) -> AnyFormattedText:
    mark = "? " if terminal.busy_asking else ": " if vi_navigation_mode() else "> "
    return [("class:prompt", mark if line == 0 and not wrapped else "  ")]
