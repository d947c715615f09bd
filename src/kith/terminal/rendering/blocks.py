"""Markdown's blocks as they arrive: markdown-it reads the open one again with each line, and no other.

For the parser, what was shown is stood for by stubs: a line for each quote and item that is open, and one for
the paragraph or the code that goes on. So its work does not grow with the text. It is kinder to lists that
are indented too little than CommonMark is, and a line's end stays a line's end, as models mean it.
"""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.terminal.rendering.code import Colours
from kith.terminal.rendering.glyphs import Glyphs
from kith.terminal.rendering.inline import REACH, STUB, Paragraph, read_spans, terminal_parser
from kith.terminal.rendering.spans import Line, Span, columns_of, readable, wrap
from kith.terminal.rendering.tables import Table

if TYPE_CHECKING:
    from markdown_it.token import Token

LONGEST: Final = 4_000  # characters of a line that may be more than words: none waits for its end for ever
_QUOTE: Final = re.compile(r" *> ?")
_ITEM: Final = re.compile(r"( *)([-*+]|\d{1,9}[.)])( {1,4}(?! )| |$)")
_TASK: Final = re.compile(r"\[([ xX])\][ \t]+")
_WORDLESS: Final = re.compile(r"\s*(`{1,}[\w+#-]*|~+|#+|[-*_=+]|\d+\.?|\|?[\s|:-]*)")  # nothing yet
_LEAVES: Final = frozenset(("paragraph_open", "heading_open", "fence", "code_block", "hr", "table_open"))
_LETTER: Final = re.compile(r"[^\W\d_]")


class _Container(Struct, frozen=True, eq=False):
    """A quote or a list item: what its lines begin with in the source, and on the screen."""

    opening: str
    more: str
    mark: Line
    others: Line
    is_item: bool
    edge: int = 0  # blanks before an item's mark

    def leave_out(self, text: str) -> str | None:
        """A line that goes on in this place, without what says so; None for another line."""
        if not self.is_item:
            found = _QUOTE.match(text)
            return text[found.end() :] if found else None
        indent = _indent(text)
        if not text.strip():
            return ""
        return text[min(indent, len(self.more)) :] if indent >= self.edge + 2 else None


class _Code(Struct):
    colours: Colours
    prefix: Line


class _Leaf(Struct):
    """A block without blocks in it: its tokens, its places, and its lines from and to."""

    tokens: list["Token"]
    path: tuple[_Container, ...]
    fresh: int  # how many of the path's last places begin in its first line
    begin: int
    end: int

    @property
    def kind(self) -> str:
        return self.tokens[0].type

    @property
    def words(self) -> list[str]:
        """The lines of a paragraph or a heading that were not shown yet."""
        lines = self.tokens[1].content.split("\n")
        return lines[1:] if lines[0] == STUB else lines

    @property
    def rows(self) -> list[list[str]]:
        """The cells of a table."""
        rows: list[list[str]] = []
        for token in takewhile(lambda token: token.type != "table_close", self.tokens):
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(token.content)
        return rows

    @property
    def is_whole(self) -> bool:
        """True for a block that no line can add to."""
        lines = self.tokens[0].content.count("\n")
        is_closed = self.kind == "fence" and self.end - self.begin > lines + 1
        return is_closed or self.kind in ("heading_open", "hr")


class Blocks(Struct):
    """Takes lines of Markdown, gives lines of a screen; holds only what is not certain yet."""

    width: int
    glyphs: Glyphs
    marks: bool = False
    _places: tuple[_Container, ...] = ()  # that are open, and began before the open lines
    _open: list[str] = field(default_factory=list)
    _path: tuple[_Container, ...] = ()  # of the open leaf
    _shown: tuple[_Container, ...] = ()  # of the last block that was shown
    _current: Paragraph | _Code | Table | None = None  # a block of which something was shown
    _blank: bool = False  # a blank line is due before what comes next
    _any: bool = False  # something was shown
    _out: list[Line] = field(default_factory=list)

    def finished(self) -> list[Line]:
        """The lines that were finished since the last time."""
        lines, self._out = self._out, []
        return lines

    def ghost(self) -> "Blocks":
        """A copy that may be closed, to see how the text looks so far."""
        current = self._current
        if isinstance(current, _Code):
            current = replace(current, colours=current.colours.copy())
        elif current:
            current = current.copy()
        return replace(self, _open=[*self._open], _current=current, _out=[])

    @property
    def in_code(self) -> bool:
        """True inside a block of code."""
        return isinstance(self._current, _Code)

    # --- lines ---------------------------------------------------------------------------------

    def take(self, line: str) -> None:
        """One line of the source that is whole."""
        self._open.append(self._indented(readable(line)))
        self._settle()

    def take_words(self, line: str) -> bool:
        """The beginning of a line, if it is words however it goes on; then its rest comes by `go_on`."""
        head, is_endless = line[: self.width + 1], len(line) > LONGEST
        may_be_row = "|" in head or isinstance(self._current, Table)
        if self.in_code or line.isspace() or not (is_endless or (_LETTER.search(line) and not may_be_row)):
            return False
        line = self._indented(readable(line))
        *_, leaf = [None, *self._read([*self._open, line[:LONGEST]])]
        goes_on = leaf and leaf.kind == "paragraph_open" and leaf.end > len(self._open)
        if goes_on and "|" not in head and len(line) > self.width:
            self._open.append(line[:LONGEST])  # what was read; more of it might make it something else
            self._settle(released=True)
            self.go_on(line[LONGEST:])
        elif is_endless:
            self.close()
            self._add_words((), [line.lstrip()])
            self._open = [STUB]
        else:
            return False
        return True

    def go_on(self, text: str) -> None:
        """More of a line that is in its paragraph already."""
        if isinstance(self._current, Paragraph):
            last = self._current.source[-1:]
            self._out += self._current.add(readable(last + text)[len(last) :], self.width)

    def preview(self, line: str) -> None:
        """A line that may not be whole; what is nothing yet is not shown."""
        if self.in_code or not _WORDLESS.fullmatch(line):
            self.take(line[-LONGEST:] if self.in_code else line[:REACH])

    def close(self, ended: bool = True) -> None:
        """The text is over; or it is looked at before it is."""
        for leaf in self._read(self._open):
            self._draw(leaf, ended=ended)
        self._end_current(ended)
        self._places, self._path, self._open = (), (), []

    def _indented(self, line: str) -> str:
        """A line as CommonMark wants it: what is indented too little for its item still belongs to it."""
        rest = line
        for place in self._path:
            inner = place.leave_out(rest)
            if inner is None:
                break
            if place.is_item and rest.strip() and _indent(rest) < len(place.more):
                return f"{line[: len(line) - len(rest)]}{place.more}{rest.lstrip()}"
            rest = inner
        return line

    # --- what markdown-it reads ----------------------------------------------------------------

    def _read(self, lines: list[str]) -> list[_Leaf]:
        """The leaves of these lines, which stand in the open places."""
        stubs = [
            f"{''.join(outer.more for outer in self._places[:at])}{place.opening}#"
            for at, place in enumerate(self._places)
        ]
        source = [*stubs, *lines]
        parser = terminal_parser()
        tokens: list[Token] = []
        parser.block.parse("".join(f"{line}\n" for line in source), parser, {"width": self.width}, tokens)
        leaves: list[_Leaf] = []
        path: list[_Container] = []
        begins: list[int] = []  # the lines in which they begin
        for number, token in enumerate(tokens):
            begin, end = token.map or (0, 0)
            fresh = begins.count(begin)
            if token.type in ("blockquote_open", "list_item_open"):
                is_stub = begin < len(stubs)
                place = self._places[begin] if is_stub else self._enter(_inside(source[begin], path, fresh))
                path.append(place)
                begins.append(begin)
                fresh += 1
                if tokens[number + 1].nesting >= 0:
                    continue
                end = begin + 1  # there is nothing in it yet
            elif token.type in ("blockquote_close", "list_item_close"):
                path.pop()
                begins.pop()
                continue
            elif token.type not in _LEAVES or begin < len(stubs):
                continue
            leaves.append(_Leaf(tokens[number:], tuple(path), fresh, begin - len(stubs), end - len(stubs)))
        return leaves

    def _enter(self, text: str) -> _Container:
        """The place that begins there."""
        if quote := _QUOTE.match(text):
            bar = (Span(f"{self.glyphs.quote} ", "quote"),)
            return _Container(quote[0], "> ", bar, bar, False)
        item = _ITEM.match(text) or _ITEM.match("-")  # never seen, but nobody's words may end a conversation
        assert item
        bullet = item[2] if item[2][0].isdigit() else self.glyphs.bullet
        opening = f"{item[1]}{item[2]}{item[3] or ' '}"
        return _Container(opening, " " * len(opening), *_item_mark(bullet), True, len(item[1]))

    def _settle(self, released: bool = False) -> None:
        """Draw what is whole, keep what the next line needs. `released`: words do not wait for it."""
        leaves, count = self._read(self._open), len(self._open)
        if not leaves:  # a blank line after another one
            self._open = self._open[-1:]
            return
        for leaf in leaves[:-1]:
            self._draw(leaf)
        last = leaves[-1]
        self._path = last.path
        if last.end < count or last.is_whole:
            self._draw(last)
            self._blank = self._blank or last.end < count
            self._open = self._open[last.end :][-1:]
            self._places = self._path = last.path[:-1] if last.kind == "list_item_open" else last.path
        else:
            self._keep(last, released)

    def _keep(self, leaf: _Leaf, released: bool) -> None:
        """Show what is certain of a block that may go on, and leave a stub of it."""
        source, more = self._open[leaf.begin :], "".join(place.more for place in leaf.path)
        match leaf.kind:
            case "paragraph_open" if released or self._current or len(source) > 1:
                blanks = source[-1][len(source[-1].rstrip()) :]
                words = leaf.words if released else leaf.words[:-1]
                self._add_words(leaf.path, [*words[:-1], words[-1] + blanks] if released else words)
                self._open = [more + STUB, *([] if released else source[-1:])]
            case "table_open":
                self._add_rows(leaf)
                self._open = [f"{more}{cell * len(leaf.rows[0])}|" for cell in ("|x", "|-")]
            case "fence":
                is_new = self._current is None
                self._open = [more + _inside(source[0], leaf.path, leaf.fresh) if is_new else source[0]]
                self._add_code(leaf)
            case "code_block":
                self._add_code(leaf)
                self._open = [f"{more}    {STUB}"]
            case _:
                self._places = leaf.path[: len(leaf.path) - leaf.fresh]
                self._open = source
                return
        self._places = leaf.path

    # --- what is shown -------------------------------------------------------------------------

    def _draw(self, leaf: _Leaf, ended: bool = True) -> None:
        """Show a block that is over, or all of it that is there."""
        match leaf.kind:
            case "paragraph_open":
                self._add_words(leaf.path, leaf.words, is_last=True)
            case "table_open":
                self._add_rows(leaf)
            case "fence" | "code_block":
                self._add_code(leaf)
            case "heading_open":
                self._show_heading(leaf)
            case "hr":
                first, _ = self._begin(leaf.path)
                room = max(min(self.width, 40) - columns_of(first), 3)
                self._out.append((*first, Span(self.glyphs.rule * room, "rule")))
                self._blank = True
            case "list_item_open":
                self._out.append(_bare(self._begin(leaf.path)[0]))
            case _:  # a quote without words
                pass
        self._end_current(ended)

    def _end_current(self, ended: bool) -> None:
        current, self._current = self._current, None
        if isinstance(current, Paragraph):
            self._out += current.end(self.width, ended)
        elif current:
            self._out += current.end(ended) if isinstance(current, Table) else []
            self._blank = True

    def _begin(self, path: tuple[_Container, ...], apart: bool = False) -> tuple[Line, Line]:
        """Begin a block, after a blank line if one is due; returns what its lines begin with."""
        left = [place for place in self._shown if place not in path]
        if self._any and (apart or self._blank or (left and not any(place.is_item for place in left))):
            self._out.append(
                _bare(tuple(span for place in path if place in self._shown for span in place.others))
            )
        first = tuple(
            span for place in path for span in (place.others if place in self._shown else place.mark)
        )
        self._blank, self._any, self._shown = False, True, path
        return first, tuple(span for place in path for span in place.others)

    def _add_words(self, path: tuple[_Container, ...], lines: list[str], is_last: bool = False) -> None:
        if isinstance(self._current, Paragraph):
            lines = ["", *lines]
        else:
            task = (
                _TASK.match(lines[0]) if path and path[-1].is_item and path[-1] not in self._shown else None
            )
            if task:
                sign = self.glyphs.todo if task[1] == " " else self.glyphs.done
                lines = [lines[0][task.end() :], *lines[1:]]
            first, others = self._begin(path)
            if task:
                mark, rest = _item_mark(sign)
                first, others = (*first[:-1], *mark), (*others[:-1], *rest)
            self._current = Paragraph(first, others, self.marks)
        self._out += self._current.add("\n".join(lines), self.width, is_last)

    def _add_rows(self, leaf: _Leaf) -> None:
        head, *rows = leaf.rows
        if not isinstance(self._current, Table):
            first, others = self._begin(leaf.path, apart=True)
            aligns = [str(token.attrGet("style") or "") for token in leaf.tokens if token.type == "th_open"]
            aligns = [style.removeprefix("text-align:") or "left" for style in aligns]
            self._current = Table(head, aligns, self.width, self.glyphs, first, others)
        for row in rows:
            self._out += self._current.take(row)

    def _add_code(self, leaf: _Leaf) -> None:
        token = leaf.tokens[0]
        lines = token.content.split("\n")[:-1]
        if isinstance(self._current, _Code):
            lines = lines[1:] if lines[:1] == [STUB] else lines
        else:
            is_alone = any(place.is_item and place not in self._shown for place in leaf.path)
            first, others = self._begin(leaf.path, apart=not is_alone)
            if is_alone:  # an item that begins with code has its mark on a line of its own
                self._out.append(_bare(first))
            language = token.info.strip().split(" ")[0].strip("{}. ")
            self._current = _Code(Colours(language), (*others, Span("  ")))
        prefix = self._current.prefix
        for line in lines:
            spans = self._current.colours.take(line)
            self._out.append((*prefix, *spans) if line.strip() else _bare(prefix))

    def _show_heading(self, leaf: _Leaf) -> None:
        level = leaf.tokens[0].tag[1:]
        first, others = self._begin(leaf.path, apart=True)
        mark = (Span("#" * int(level) + " ", f"heading{level}"),) if self.marks else ()
        spans = read_spans(leaf.words[0], self.marks) if leaf.words else ()
        titled = [Span(text, f"{role} heading{level}".strip()) for text, role in spans]
        self._out += wrap(titled, self.width, (*first, *mark), others)
        self._blank = True


def _inside(text: str, path: Sequence[_Container], fresh: int) -> str:
    """A line without the marks of its places, the last `fresh` of which begin in it."""
    for number, place in enumerate(path, fresh - len(path)):
        text = text[len(place.opening) :] if number >= 0 else place.leave_out(text) or ""
    return text


def _item_mark(sign: str) -> tuple[Line, Line]:
    mark = Span(f"{sign} ", "item")
    return (mark,), (Span(" " * columns_of((mark,))),)


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
