"""Words of Markdown as spans, and a paragraph shown row by row before it is over."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.terminal.rendering.parser import make_parser
from kith.terminal.rendering.spans import WIDE, Line, Span, columns_of, merged, shown, wrap

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token


REACH: Final = 1_000  # characters that are read at once; so long the end of a mark is waited for
STUB: Final = "\x01"  # words that were shown already, for the parser; no readable text has this character
_CLOSED: Final = 8  # marks that are open at once; what opens more of them is no text
_SIGN: Final = re.compile(r"[\n`*_~\[\]!<&\\:]")  # where words may end
_ADDRESS: Final = re.compile(r"https?://[^\s<>`*\"']{1,1000}")
_SENTENCE_END: Final = ".,;:!?)]"
_ROLES: Final = {"em_open": "emphasis", "strong_open": "strong", "s_open": "struck"}
# Where a word is whole; `;` and `>` may end an entity that is a blank, and a line's end.
_CUT: Final = re.compile(rf"(?<=[^\s;>])(?=\s)|(?<={WIDE})(?={WIDE})")


class _Notes(Struct):
    """The starts of markdown-it's steps through a text, and the results of its marks."""

    text: str
    begins: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)  # the first one that each step made
    pairs: list[tuple[int, int]] = field(default_factory=list)  # the tokens of marks that belong together
    unpaired: list[int] = field(default_factory=list)  # the tokens of marks that may still find an end
    ticks: list[tuple[int, str]] = field(default_factory=list)  # backticks that close nowhere

    @property
    def steps(self) -> list[tuple[int, int]]:
        """From where to where each step went."""
        return list(pairwise([*self.begins, len(self.text)]))

    def place_of(self, token: int) -> tuple[int, int]:
        """From where to where the step went that made a token."""
        number = bisect_right(self.tokens, token)
        return self.begins[number - 1], [*self.begins[number : number + 1], len(self.text)][0]

    @property
    def certain(self) -> int:
        """Up to where no mark waits for its end."""
        waiting = [
            *(self.place_of(token)[0] for token in self.unpaired[:1]),
            *(at for at, _ in self.ticks[:1]),
        ]
        return min([len(self.text), *waiting])


@cache
def terminal_parser() -> "MarkdownIt":
    """The parser for lines that are shown for good: it knows no references, whose ends may come later.

    It takes the width of the screen from `env`: a line that is longer was shown before its end, and is words.
    """
    from markdown_it.rules_block import lheading, table
    from markdown_it.rules_inline import backtick, link

    def heading_below(state: "StateBlock", line: int, end: int, silent: bool) -> bool:
        source = _source_line(state, line)
        fits = len(source) <= state.env["width"] and STUB not in source
        return fits and lheading(state, line, min(end, line + 2), silent)

    def bounded_table(state: "StateBlock", line: int, end: int, silent: bool) -> bool:
        head = _source_line(state, line)[: state.env["width"] + 1]
        return "|" in head and table(state, line, end, silent)

    def possible_link(state: "StateInline", silent: bool) -> bool:
        return state.src.find("](", state.pos) >= 0 and link(state, silent)

    def noted_ticks(state: "StateInline", silent: bool) -> bool:
        begin, count, notes = state.pos, len(state.tokens), state.env["notes"]
        if not backtick(state, silent):
            return False
        if not silent and len(state.tokens) == count and state.src is notes.text:
            notes.ticks.append((begin, state.src[begin : state.pos]))
        return True

    parser = make_parser().disable("reference")
    parser.inline.terminator_re = _SIGN
    parser.block.ruler.at("lheading", heading_below)
    parser.block.ruler.at("table", bounded_table, {"alt": ["paragraph"]})
    parser.inline.ruler.before("text", "step", _note_step)
    parser.inline.ruler.at("link", possible_link)
    parser.inline.ruler.at("backticks", noted_ticks)
    parser.inline.ruler.before("newline", "address", _take_address)
    # Addresses are shown as they were written.
    parser.normalizeLink = parser.normalizeLinkText = str  # type: ignore[method-assign,assignment]
    parser.inline.ruler2.after("balance_pairs", "pairs", _note_pairs)
    return parser


def read_spans(text: str, marks: bool = False) -> Line:
    """A printable text as spans. `marks` keeps Markdown's signs, for terminals without styles."""
    spans: list[Span] = []
    while len(text) > REACH:
        at = forced_cut(text[:REACH])
        spans += _read_part(text[:at], marks)
        text = text[at:]
    return merged([*spans, *_read_part(text, marks)])


def forced_cut(text: str) -> int:
    """The place to break a text that is not waited for any more."""
    return find_cut(text) or max((found.start() for found in _CUT.finditer(text)), default=len(text))


def find_cut(text: str) -> int:
    """The last place where both parts read as the whole does, whatever follows it; 0 for none."""
    notes = _read(text)[1]
    certain, held = notes.certain, bytearray(len(text) + 1)
    spans = [(notes.place_of(opening)[0], notes.place_of(closing)[1]) for opening, closing in notes.pairs]
    brackets: list[int] = []
    for begin, end in notes.steps:
        match text[begin]:
            case "[" if end == begin + 1:
                brackets.append(begin)
            case "]" if brackets:
                opened = brackets.pop()
                if end == len(text) or text[end] == "(":  # it may become a link
                    certain = min(certain, opened)
            case "!" if "`" in text[begin:end]:  # its words are read apart
                certain = min(certain, begin)
            case "`" | "[" | "!" | "<" | "&" | "\\" | "_":
                spans.append((begin, end))
            case _:
                pass
    for begin, end in spans:
        held[begin + 1 : end] = b"\1" * max(end - begin - 1, 0)
    certain = min([certain, *brackets[:1]])
    for found in reversed(list(_CUT.finditer(text, 0, certain + 1))):
        at = found.start()
        if at <= certain and not held[at] and (text[at].isspace() or "://" not in text[:at].split()[-1]):
            return at
    return 0


def with_ends(text: str) -> str:
    """An unfinished text with the marks that would close what is open at its end."""
    text = text.rstrip()
    notes = _read(text)[1]
    if len(notes.unpaired) > _CLOSED:
        return text
    before, ticks = notes.ticks[0] if notes.ticks else (len(text), "")
    opened = [notes.place_of(token)[0] for token in notes.unpaired]
    marks = "".join(text[at] * (2 if text[at] == "~" else 1) for at in reversed(opened) if at < before)
    return f"{text}{ticks}{marks}"


@lru_cache(2)  # what is drawn was looked through just before
def _read(text: str) -> tuple[list["Token"], _Notes]:
    notes, parser = _Notes(text), terminal_parser()
    tokens: list[Token] = []
    parser.inline.parse(text, parser, {"notes": notes}, tokens)
    return tokens, notes


def _read_part(text: str, marks: bool) -> list[Span]:
    return _spans(_read(text)[0], marks) if text else []


def _spans(tokens: Sequence["Token"], marks: bool) -> list[Span]:
    spans: list[Span] = []
    roles: list[str] = []
    links: list[tuple[int, str]] = []

    def add(text: str, *more: str) -> None:
        spans.append(Span(text, " ".join(sorted({*roles, *more}))))

    for token in tokens:
        match token.type:
            case "softbreak" | "hardbreak":
                add("\n")
            case "code_inline":
                mark = token.markup if marks else ""
                add(f"{mark}{shown(token.content)}{mark}", "code")
            case "address":
                add(shown(token.content), "link.url")
            case "image":
                links.append((len(spans), str(token.attrGet("src") or "")))
                add(shown(token.content), "link")
                spans += _target(spans, *links.pop())
            case "link_open":
                links.append((len(spans), str(token.attrGet("href") or "")))
                roles.append("link.url" if token.info == "auto" else "link")
            case "link_close":
                roles.pop()
                spans += _target(spans, *links.pop())
            case "em_open" | "strong_open" | "s_open":
                add(token.markup if marks else "")
                roles.append(_ROLES[token.type])
            case "em_close" | "strong_close" | "s_close":
                roles.pop()
                add(token.markup if marks else "")
            case _:
                add(shown(token.markup if marks and token.info == "escape" else token.content))
    return spans


def _target(spans: Sequence[Span], begin: int, address: str) -> list[Span]:
    """The target of a link: an address is never hidden behind words."""
    said, address = "".join(span.text for span in spans[begin:]), shown(address)
    if not address or said in (address, address.removeprefix("mailto:")):
        return []
    return [Span(f" ({address})" if said else address, "link.url")]


# --- rules ---------------------------------------------------------------------------------------------


def _source_line(state: "StateBlock", line: int) -> str:
    return state.src[state.src.rfind("\n", 0, state.bMarks[line]) + 1 : state.eMarks[line]]


def _note_step(state: "StateInline", silent: bool) -> bool:
    notes: _Notes = state.env["notes"]
    if not silent and state.level == 0 and state.src is notes.text:  # the words of an image are read apart
        notes.begins.append(state.pos)
        notes.tokens.append(len(state.tokens) + bool(state.pending))
    return False


def _note_pairs(state: "StateInline") -> None:
    notes: _Notes = state.env["notes"]
    if state.src is notes.text:
        found = state.delimiters
        notes.pairs = [(one.token, found[one.end].token) for one in found if one.end >= 0]
        notes.unpaired = [one.token for one in found if one.end < 0 and one.open]


def _take_address(state: "StateInline", silent: bool) -> bool:
    """An address without marks around it is a link as it stands."""
    if state.src[state.pos] != ":" or not state.src.startswith("://", state.pos) or state.linkLevel:
        return False
    scheme = next((name for name in ("https", "http") if state.pending.endswith(name)), "")
    begin = state.pos - len(scheme)
    found = _ADDRESS.match(state.src, begin, state.posMax) if scheme else None
    if found is None:
        return False
    address = _trim(found[0])
    if not silent:
        state.pending = state.pending[: -len(scheme)]
        state.push("address", "", 0).content = address
    state.pos = begin + len(address)
    return True


def _trim(address: str) -> str:
    """An address without the punctuation of the sentence around it."""
    while address[-1] in _SENTENCE_END:
        if address[-1] == ")" and address.count("(") >= address.count(")"):
            break
        address = address[:-1]
    return address


# A paragraph that is not over yet: each row of it is shown once nothing that may come can change it.


class Paragraph(Struct):
    """Words that are read for good but fill no row yet, and the source that is not certain."""

    first: Line  # what its first row begins with, and the others
    others: Line
    marks: bool
    source: str = ""
    _read: Line = ()
    _enough: int = 0  # characters of the source that make another look at it worth while

    def copy(self) -> "Paragraph":
        """The same words, to be ended before their end."""
        return replace(self)

    def add(self, text: str, width: int, is_last: bool = False) -> list[Line]:
        """More of its source; returns the rows that are certain now, unless the end follows at once."""
        self.source += text
        rows: list[Line] = []
        while len(self.source) > REACH:
            rows += self._advance(forced_cut(self.source[:REACH]), width)
            self._enough = 0
        fills = "\n" in self.source or columns_of(self._read) + len(self.source) > width // 2
        if fills and not is_last and len(self.source) > self._enough:
            at = find_cut(self.source)
            self._enough = 0 if at else len(self.source) * 5 // 4
            rows += self._advance(at, width)
        return rows

    def end(self, width: int, ended: bool = True) -> list[Line]:
        """The rows that are left; not `ended`: as they look so far."""
        source = self.source if ended else with_ends(self.source)
        line = merged([*self._read, *read_spans(source, self.marks)])
        return wrap(line, width, self.first, self.others)

    def _advance(self, at: int, width: int) -> list[Line]:
        """Read the source up to there, and keep its last row."""
        if not at:
            return []
        line = merged([*self._read, *read_spans(self.source[:at], self.marks)])
        self.source = self.source[at:]
        *rows, self._read = wrap(line, width - columns_of(self.first))
        lines = [merged([*(self.others if number else self.first), *row]) for number, row in enumerate(rows)]
        if rows:
            self.first = self.others
        return lines
