"""Markdown inside a paragraph: emphasis, code, links, and how much of an unfinished text is certain already.

Source: CommonMark 0.31.2, "Inlines", and GitHub's strikethrough; names such as `__init__` stay what they are.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Final

from kith.terminal.rendering.spans import Atom, shown

REACH: Final = (
    1_000  # characters between the marks of one emphasis, code or link; so long an end is waited for
)

_TOKEN: Final = re.compile(
    r"""(?P<escape>\\[!-/:-@\[-`{-~])|(?P<ticks>`+)|(?P<link>!?\[)|(?P<name>\b__\w{1,60}?__(?!\w))|(?P<delimiter>\*+|_+|~~)|(?P<br><br/?>)
    |(?P<auto><(?:https?://|mailto:)[^\s<>]{1,1000}>)|(?P<url>https?://[^\s<>`*"']{1,1000})
    |(?P<entity>&(?:amp|lt|gt|quot|nbsp|\#[0-9]{1,6});)""",
    re.VERBOSE,
)
_LABEL: Final = r"\[((?:[^\[\]\\\n]|\\.|\[[^\[\]\n]{0,200}\]){0,500})\]"
_LINK: Final = re.compile(
    rf"""{_LABEL}\(\s?((?:[^()\s\[]|\([^()\s\[]*\)){{0,1000}})(?:\s+["'][^"'\n()\[]{{0,200}}["'])?\s?\)"""
)
_LINK_SO_FAR: Final = re.compile(rf"(?:{_LABEL}(?:\([^)\[]*)?|\[[^\]]*)\Z")
_DEEPEST: Final = 8  # marks that are open at once; what opens more of them is no text
_SENTENCE_END: Final = ".,;:!?)]"


@dataclass(slots=True)
class _Mark:
    """A run of `*`, `_` or `~` that may open or close an emphasis."""

    char: str
    count: int
    at: int
    index: int  # of its atom
    opens: bool
    closes: bool


@dataclass(slots=True)
class Inline:
    """A text taken apart. `certain`: up to there nothing that may still come changes it."""

    atoms: list[Atom] = field(default_factory=list)
    certain: int = 0
    _ranges: list[tuple[int, int]] = field(default_factory=list)

    def may_part(self, at: int) -> bool:
        """True where the text can be cut in two that are taken apart alike."""
        return at <= self.certain and not any(begin < at < end for begin, end in self._ranges)


def parse_inline(text: str, before: str = " ", ended: bool = True, marks: bool = False) -> Inline:
    """Take a printable text apart. `before` is the character before it; not `ended`: more is to come.

    What an unfinished text has opened is shown as if it closed at its end. `marks` keeps the signs of
    Markdown in the text, for terminals without styles.
    """
    return _Parser(text, before, ended, marks).parse()


class _Parser:
    """One pass over a text, with a stack of the marks that are open."""

    def __init__(self, text: str, before: str, ended: bool, marks: bool) -> None:
        self.text, self.before, self.ended, self.marks = text, before, ended, marks
        self.found = Inline(certain=len(text))
        self.stack: list[_Mark] = []
        self.styled: list[tuple[int, int, str]] = []  # atoms from, to, and what they are

    def parse(self) -> Inline:
        at = 0
        while match := _TOKEN.search(self.text, at):
            self.add(self.text[at : match.start()], at)
            at = self._take(match)
        self.add(self.text[at:], at)
        if not self.ended:
            self._close_open()
        self._style()
        return self.found

    def add(self, text: str, at: int, role: str = "") -> None:
        if text:
            self.found.atoms.append(Atom(text, role, at))

    def _take(self, match: re.Match[str]) -> int:
        """Take one token in; returns where the text goes on."""
        begin, end = match.span()
        match match.lastgroup:
            case "escape":
                self.add(match[0] if self.marks else match[0][1], begin)
                self._hold(begin, end)
            case "entity":
                self.add(shown(unescape(match[0]).replace("\xa0", " ")), begin)
                self._hold(begin, end)
            case "br":
                self.add("\n", begin)
            case "auto":
                self.add(match[0][1:-1], begin, "link.url")
                self._hold(begin, end)
            case "url":
                end -= len(match[0]) - len(_trim_url(match[0]))
                self.add(self.text[begin:end], begin, "link.url")
                self._hold(begin, end)
            case "ticks":
                return self._code(begin, match[0])
            case "link":
                return self._link(begin, end)
            case "name":
                self.add(match[0], begin)
            case _:
                self._delimiter(begin, end)
        return end

    def _hold(self, begin: int, end: int) -> None:
        self.found._ranges.append((begin, end))

    def _doubt(self, at: int) -> None:
        self.found.certain = min(self.found.certain, at)

    def _is_awaited(self, at: int) -> bool:
        """True when what began there may still find its end."""
        return not self.ended and len(self.text) - at <= REACH

    def _code(self, begin: int, ticks: str) -> int:
        after = begin + len(ticks)
        closing = re.compile(rf"(?<!`){ticks}(?!`)").search(self.text, after, begin + REACH)
        awaited = self._is_awaited(begin)
        if closing is None and not awaited:
            self.add(ticks, begin)
            return after
        if awaited and (closing is None or closing.end() == len(self.text)):
            self._doubt(begin)
        inner = self.text[after : closing.start() if closing else len(self.text)]
        shift = after
        if len(inner) > 2 and inner[0] == inner[-1] == " " and inner.strip():
            inner, shift = inner[1:-1], after + 1
        mark = "`" if self.marks else ""
        self.add(mark, begin, "code")
        self.add(inner, shift, "code")
        self.add(mark, after, "code")
        end = closing.end() if closing else len(self.text)
        self._hold(begin, end)
        return end

    def _link(self, begin: int, end: int) -> int:
        """`[words](address)` shows both; an address is never hidden behind words."""
        window = self.text[end - 1 : begin + REACH]
        link = _LINK.match(window) if "](" in window else None
        if link is None:
            if self._is_awaited(begin) and _may_be_link(window):
                self._doubt(begin)
            self.add(self.text[begin:end], begin)
            return end
        label, address = link[1], link[2]
        inner = parse_inline(label, marks=self.marks).atoms
        for atom in inner:
            self.add(atom.text, end + atom.at, f"{atom.role} link".strip())
        said = "".join(atom.text for atom in inner)
        if address and said not in (address, address.removeprefix("mailto:")):
            self.add(f" ({address})" if said else address, end - 3 + link.start(2), "link.url")
        self._hold(begin, end - 1 + link.end())
        return end - 1 + link.end()

    def _delimiter(self, begin: int, end: int) -> None:
        char, count = self.text[begin], end - begin
        previous = self.text[begin - 1] if begin else self.before
        following = self.text[end] if end < len(self.text) else " "
        opens, closes = _flanks(char, previous, following)
        if end == len(self.text) and self._is_awaited(begin):
            self._doubt(begin)
        mark = _Mark(char, count, begin, len(self.found.atoms), opens, closes)
        self.add(self.text[begin:end], begin, "mark")
        if closes:
            self._close(mark)
        if mark.count and mark.opens:
            self.stack = [*self.stack[1 - _DEEPEST :], mark]

    def _close(self, closing: _Mark) -> None:
        for number in range(len(self.stack) - 1, -1, -1):
            opening = self.stack[number]
            if not closing.count or closing.at - opening.at > REACH:
                break
            if opening.char != closing.char:
                continue
            used = 2 if min(opening.count, closing.count) >= 2 else 1
            while used and min(opening.count, closing.count) >= used:
                self._pair(opening, closing, used)
                used = min(2, opening.count, closing.count)
            del self.stack[number + bool(opening.count) :]

    def _pair(self, opening: _Mark, closing: _Mark, used: int) -> None:
        role = "struck" if opening.char == "~" else "strong" if used == 2 else "emphasis"
        self.styled.append((opening.index, closing.index, role))
        self._hold(opening.at, closing.at + closing.count)
        opening.count -= used
        closing.count -= used
        for mark in (opening, closing):
            left = mark.char * (mark.count if not self.marks else len(self.found.atoms[mark.index].text))
            self.found.atoms[mark.index] = Atom(left, "mark", mark.at)

    def _close_open(self) -> None:
        """What is open may still be closed: it is shown so, and counts as uncertain."""
        for mark in self.stack:
            if self._is_awaited(mark.at):
                self._doubt(mark.at)
                last = len(self.found.atoms) - 1
                if mark.count <= 3 and last > mark.index:
                    closing = _Mark(mark.char, mark.count, len(self.text), last, False, True)
                    role = "struck" if mark.char == "~" else "strong" if mark.count > 1 else "emphasis"
                    self.styled.append((mark.index, closing.index + 1, role))
                    left = mark.char * mark.count if self.marks else ""
                    self.found.atoms[mark.index] = Atom(left, "mark", mark.at)

    def _style(self) -> None:
        roles: list[set[str]] = [set() for _ in self.found.atoms]
        for begin, end, role in self.styled:
            for number in range(begin, min(end, len(roles))):
                roles[number].add(role)
        self.found.atoms = list(_joined(self.found.atoms, roles))


def _joined(atoms: Sequence[Atom], roles: Sequence[set[str]]) -> Iterator[Atom]:
    """The atoms with all of their roles; neighbours that are alike become one."""
    last: Atom | None = None
    for atom, more in zip(atoms, roles, strict=True):
        if not atom.text:
            continue
        role = " ".join(sorted(more | ({atom.role} - {"", "mark"})))
        if last and last.role == role and last.at + len(last.text) == atom.at:
            last = Atom(last.text + atom.text, role, last.at)
            continue
        if last:
            yield last
        last = Atom(atom.text, role, atom.at)
    if last:
        yield last


def _flanks(char: str, previous: str, following: str) -> tuple[bool, bool]:
    """Whether a run of marks may open and close an emphasis, by what stands on its sides."""
    left = not following.isspace() and (following.isalnum() or _is_edge(previous) or following in "`[_*~(\"'")
    right = not previous.isspace() and (previous.isalnum() or _is_edge(following) or previous in "`])_*~\"'.")
    if char == "_":
        return left and not previous.isalnum(), right and not following.isalnum()
    return left, right


def _is_edge(char: str) -> bool:
    return char.isspace() or not char.isalnum()


def _may_be_link(window: str) -> bool:
    """True for the beginning of a link; its words hold brackets only in pairs."""
    return ("]" in window or window.count("[") <= 2) and _LINK_SO_FAR.match(window) is not None


def _trim_url(url: str) -> str:
    """An address without the punctuation of the sentence around it."""
    while url and url[-1] in _SENTENCE_END:
        if url[-1] == ")" and url.count("(") >= url.count(")"):
            break
        url = url[:-1]
    return url
