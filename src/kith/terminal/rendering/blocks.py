"""Markdown's blocks, a source line at a time: paragraphs, headings, lists, quotes, code, tables, rules.

Source: CommonMark 0.31.2, "Blocks", and GitHub's tables and task lists. It is kinder to lists that are
indented too little, and a line's end stays a line's end, as models mean it.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Final

from kith.terminal.rendering.code import Colours
from kith.terminal.rendering.glyphs import Glyphs
from kith.terminal.rendering.paragraph import Paragraph
from kith.terminal.rendering.spans import Line, Span, columns_of, readable
from kith.terminal.rendering.tables import Table, is_delimiter

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([^`]*)$")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_RULE: Final = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_QUOTE: Final = re.compile(r" {0,3}> ?")
_ITEM: Final = re.compile(r"( {0,3})([-*+]|\d{1,9}[.)])(?:([ \t]+)|$)")
_TASK: Final = re.compile(r"^\[([ xX])\][ \t]+")
_DEEPEST: Final = 12  # quotes and items within each other; deeper ones are words
_INDENTED: Final = " " * 4
LONGEST: Final = 4_000  # characters of a line that may be more than words: none waits for its end for ever
_HELD: Final = re.compile(r"[ ]{0,3}(?:[|#]|`{3}|~{3}|[-*_=\s]*$)")  # what only a line's end decides


@dataclass(slots=True)
class _Place:
    """A quote or a list item around the text; `edge` and `inner` are the columns of its mark and words."""

    mark: Line
    others: Line
    edge: int = 0
    inner: int = 0
    is_item: bool = False
    begun: bool = False  # its mark was shown


@dataclass(slots=True)
class _Fence:
    """A block of code; "" as its mark is code by indentation."""

    mark: str
    indent: int
    colours: Colours
    prefix: Line


@dataclass(slots=True)
class Blocks:
    """Takes lines of Markdown, gives lines of a screen; holds only what is not certain yet."""

    width: int
    glyphs: Glyphs
    marks: bool = False
    _places: list[_Place] = field(default_factory=list)
    _paragraph: Paragraph | None = None
    _fence: _Fence | None = None
    _table: Table | None = None
    _blank: bool = False  # a blank line is due before what comes next
    _shared: Line = ()  # what that line begins with: the places that were there before
    _any: bool = False  # something was shown
    _out: list[Line] = field(default_factory=list)

    def finished(self) -> list[Line]:
        """The lines that were finished since the last time."""
        lines, self._out = self._out, []
        return lines

    def ghost(self) -> "Blocks":
        """A copy that may be closed, to see how the text looks so far."""
        return replace(
            self,
            _places=[replace(place) for place in self._places],
            _paragraph=self._paragraph.copy() if self._paragraph else None,
            _fence=replace(self._fence, colours=self._fence.colours.copy()) if self._fence else None,
            _table=self._table.copy() if self._table else None,
            _out=[],
        )

    @property
    def in_code(self) -> bool:
        """True inside a block of code."""
        return self._fence is not None

    # --- lines ---------------------------------------------------------------------------------

    def take(self, line: str, ended: bool = True) -> None:
        """One line of the source; not `ended`: its rest comes by `go_on`."""
        if self._fence is None and self._is_endless(line):
            self._take_endless(readable(line), ended)
            return
        line = readable(line)
        rest, matched = self._match_places(line)
        if self._fence is not None and self._take_code(rest, matched):
            return
        if not rest.strip():
            self._take_blank(rest, matched)
            return
        if matched < len(self._places) and self._is_lazy(rest):
            matched = len(self._places)
        if matched < len(self._places):
            self._leave(matched)
        rest = self._enter_places(rest)
        self._take_leaf(rest, ended)

    def go_on(self, text: str) -> None:
        """More of a line that is in its paragraph already."""
        if self._paragraph:
            last = self._paragraph.source[-1:] or self._paragraph.before
            self._paragraph.add(readable(last + text)[len(last) :])
            self._show_certain()

    def preview(self, line: str) -> None:
        """A line that may not be whole; what is nothing yet is not shown."""
        if self.in_code or not re.fullmatch(r"\s*(`{1,}[\w+#-]*|~+|#+|[-*_=+]|\d+\.?|\|?[\s|:-]*)", line):
            self.take(line[-4_000:] if self.in_code else line)

    def close(self, ended: bool = True) -> None:
        """The text is over; or it is looked at before it is."""
        self._end_leaf(ended)
        self._fence = None

    def is_open_text(self, line: str) -> bool:
        """True for the beginning of a line that is words in a paragraph, however it goes on."""
        return self._fence is None and (self._begins_words(line[:LONGEST]) or self._is_endless(line))

    def _is_endless(self, line: str) -> bool:
        """True for a line of which nobody knows what it is, and whose end is not waited for any more."""
        return len(line) > LONGEST and not (line.isspace() or self._begins_words(line[:LONGEST]))

    def _begins_words(self, line: str) -> bool:
        if self._table is not None or len(line) <= self.width:
            return False
        rest, matched = self._match_places(readable(line))
        for _ in range(_DEEPEST - matched):
            place = _QUOTE.match(rest) or _ITEM.match(rest)
            if not place or _HELD.match(rest):
                break
            rest = _TASK.sub("", rest[place.end() :])
        return not _HELD.match(rest) and not rest.startswith(_INDENTED)

    # --- places: quotes and list items ---------------------------------------------------------

    def _match_places(self, line: str) -> tuple[str, int]:
        """The line without the marks of the places it goes on in, and how many these are."""
        rest = line
        for number, place in enumerate(self._places):
            if not place.is_item:
                mark = _QUOTE.match(rest)
                if not mark:
                    return rest, number
                rest = rest[mark.end() :]
            elif rest.strip():
                indent = _indent(rest)
                if indent < place.edge + 2:
                    return rest, number
                rest = rest[min(indent, place.inner) :]
        return rest, len(self._places)

    def _is_lazy(self, rest: str) -> bool:
        """True for a line that goes on a paragraph without the marks of its places."""
        if self._paragraph is None:
            return False
        begins = (_FENCE, _HEADING, _RULE, _QUOTE, _ITEM)
        return not any(rule.match(rest) for rule in begins) and not rest.startswith("|")

    def _leave(self, matched: int) -> None:
        self._end_leaf()
        if self._places[matched:] and not any(place.is_item for place in self._places[matched:]):
            self._blank = True
        del self._places[matched:]

    def _enter_places(self, rest: str) -> str:
        while len(self._places) < _DEEPEST:
            if quote := _QUOTE.match(rest):
                self._end_leaf()
                bar = (Span(f"{self.glyphs.quote} ", "quote"),)
                self._places.append(_Place(bar, bar))
                rest = rest[quote.end() :]
            elif (item := _ITEM.match(rest)) and self._may_begin(item, rest):
                self._end_leaf()
                rest = self._enter_item(item, rest)
            else:
                break
        return rest

    def _may_begin(self, item: re.Match[str], rest: str) -> bool:
        if _RULE.match(rest):
            return False
        if self._paragraph is None:
            return True
        return bool(rest[item.end() :].strip()) and item[2].rstrip(".)") in ("-", "*", "+", "1")

    def _enter_item(self, item: re.Match[str], rest: str) -> str:
        gap = len((item[3] or " ").expandtabs(4))
        gap = gap if gap <= 4 else 1
        edge = len(item[1])
        bullet = item[2] if item[2][0].isdigit() else self.glyphs.bullet
        mark: Line = (Span(f"{bullet} ", "item"),)
        inside = rest[item.end() :]
        if task := _TASK.match(inside):
            sign = self.glyphs.todo if task[1] == " " else self.glyphs.done
            mark, inside = (Span(f"{sign} ", "item"),), inside[task.end() :]
        others = (Span(" " * columns_of(mark)),)
        self._places.append(_Place(mark, others, edge, edge + len(item[2]) + gap, True))
        return inside

    def _prefixes(self) -> tuple[Line, Line]:
        """What the first line of a block begins with, and the others."""
        first = tuple(
            span for place in self._places for span in (place.others if place.begun else place.mark)
        )
        self._shared = tuple(span for place in self._places if place.begun for span in place.others)
        for place in self._places:
            place.begun = True
        return first, tuple(span for place in self._places for span in place.others)

    # --- leaves --------------------------------------------------------------------------------

    def _take_blank(self, rest: str, matched: int) -> None:
        self._end_leaf()
        self._blank = True
        quotes = [number for number, place in enumerate(self._places) if not place.is_item]
        if any(number >= matched for number in quotes):
            del self._places[matched:]

    def _take_leaf(self, rest: str, ended: bool) -> None:
        paragraph = self._paragraph
        if self._table is not None:
            if "|" in rest:
                self._table.take(rest)
                self._show(self._table.finished(), block=False)
                return
            self._end_leaf()
        if fence := _FENCE.match(rest):
            self._begin_code(fence[1], _indent(rest), fence[2].split(" ")[0].strip("{}. "))
        elif paragraph and paragraph.is_single and self._turn(paragraph, rest):
            return
        elif heading := _HEADING.match(rest):
            self._heading(heading[2] or "", len(heading[1]))
        elif _RULE.match(rest):
            self._rule()
        elif rest.startswith(_INDENTED) and paragraph is None:
            self._begin_code("", 4, "")
            self._take_code(rest, len(self._places))
        else:
            self._take_words(rest, ended)

    def _turn(self, paragraph: Paragraph, rest: str) -> bool:
        """A line below a single one may make a table or a heading of it."""
        source = paragraph.source.strip()
        if "|" in source and is_delimiter(rest, source):
            self._paragraph = None
            self._blank = True
            self._table = Table(source, rest, self.width, self.glyphs, paragraph.first, paragraph.others)
            return True
        if (line := _UNDERLINE.match(rest)) and len(source) <= self.width:
            self._paragraph = None
            self._heading(source, 1 if line[1][0] == "=" else 2, paragraph)
            return True
        return False

    def _heading(self, source: str, level: int, paragraph: Paragraph | None = None) -> None:
        self._end_leaf()
        first, others = (paragraph.first, paragraph.others) if paragraph else self._prefixes()
        self._blank = True
        mark = (Span("#" * level + " ", f"heading{level}"),) if self.marks else ()
        self._paragraph = Paragraph(source, (*first, *mark), others, f"heading{level}")
        self._end_leaf()
        self._blank = True

    def _rule(self) -> None:
        self._end_leaf()
        first, _ = self._prefixes()
        room = max(min(self.width, 40) - columns_of(first), 3)
        self._show([(*first, Span(self.glyphs.rule * room, "rule"))])
        self._blank = True

    def _take_endless(self, line: str, ended: bool) -> None:
        """Words, whatever they would have become; what they stand in is over."""
        self._leave(0)
        self._take_words(line, ended)
        if self._paragraph:
            self._paragraph.is_single = False

    def _take_words(self, rest: str, ended: bool) -> None:
        text = rest.lstrip() + ("\n" if ended else "")
        if self._paragraph and not rest.lstrip().startswith("|"):
            self._paragraph.add(text, new_line=True)
        else:
            self._end_leaf()
            self._paragraph = Paragraph(text, *self._prefixes())
        self._show_certain()

    def _end_leaf(self, ended: bool = True) -> None:
        if paragraph := self._paragraph:
            lines = paragraph.take_all(self.width, self.marks, ended)
            self._show(lines, block=not paragraph.is_begun)
            self._paragraph = None
        if self._table is not None:
            self._show(self._table.close(ended))
            self._table, self._blank = None, True

    def _show_certain(self) -> None:
        """The lines of the paragraph that nothing can change any more."""
        if paragraph := self._paragraph:
            is_begun = paragraph.is_begun
            self._show(paragraph.take_certain(self.width, self.marks), block=not is_begun)

    # --- code ----------------------------------------------------------------------------------

    def _begin_code(self, mark: str, indent: int, language: str) -> None:
        self._end_leaf()
        _, others = self._first_alone()
        self._blank = True
        self._fence = _Fence(mark, indent, Colours(language), (*others, Span("  ")))

    def _first_alone(self) -> tuple[Line, Line]:
        """An item that begins with code has its mark on a line of its own."""
        fresh = any(place.is_item and not place.begun for place in self._places)
        first, others = self._prefixes()
        if fresh:
            self._show([first])
        return first, others

    def _take_code(self, rest: str, matched: int) -> bool:
        """True when the line belongs to the block of code; False when the block is over before it."""
        fence = self._fence
        assert fence is not None
        left_quote = any(not place.is_item for place in self._places[matched:])
        if not fence.mark:
            if rest.strip() and (not rest.startswith(_INDENTED) or matched < len(self._places)):
                self._fence, self._blank = None, True
                return False
        elif left_quote:
            self._fence, self._blank = None, True
            return False
        closing = _FENCE.match(rest)
        if fence.mark and closing and closing[1].startswith(fence.mark) and not closing[2].strip():
            self._fence, self._blank = None, True
            return True
        if not fence.mark and not rest.strip():
            self._blank = True
            return True
        code = rest[min(_indent(rest), fence.indent) :]
        self._show([(*fence.prefix, *fence.colours.take(code))] if code.strip() else [_bare(fence.prefix)])
        return True

    def _show(self, lines: list[Line], block: bool = True) -> None:
        if not lines:
            return
        if self._blank and self._any and block:
            self._out.append(_bare(self._shared))
        self._blank = False
        self._any = True
        self._out += lines


def _bare(prefix: Line) -> Line:
    """A prefix without blanks at its end, for a line that holds nothing else."""
    spans = list(prefix)
    while spans and not spans[-1].text.strip():
        spans.pop()
    if spans:
        spans[-1] = Span(spans[-1].text.rstrip(), spans[-1].role)
    return tuple(spans)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))
