"""Excerpts of files around what a task speaks of, sized to a budget of tokens."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kith.context.budget import estimate_tokens
from kith.context.symbols import Symbol, find_symbols
from kith.context.words import Words, find_words, stems_of

_LONGEST_LINE = 240  # characters; what is longer is generated or data
_LONGEST_SPAN = 80  # lines of one definition
_LONGEST_NAME = 60
_LEAST = 60  # tokens; less holds no excerpt worth reading
_AROUND = 2  # lines before and after a mention
_MENTIONS = 4  # places shown per name
_SHORTEST_HEAD = 6  # lines; less of a definition says nothing
_GAP: Final = "..."
_PIECE: Final = 10  # tokens of a gap, and of the lines' numbers in the heading
_FENCES: Final = 6  # tokens
_SHARE: Final = 0.7  # of what is left, for one file
_OUTLINE: Final = 16  # part of the room that the outline may take
_TICKS: Final = re.compile("`{3,}")
_DEFINES: Final = "defines "
_NAMED, _SAID, _HELD, _MENTIONED = 10.0, 4.0, 3.0, 4.0  # see `_definitions`
_WORTH = 1.0
_SHORT = 25  # lines


@dataclass(frozen=True, slots=True)
class _Span:
    """Lines worth showing, from 1, both ends included."""

    score: float
    first: int
    last: int


def snippets(task: str, sources: Mapping[str, str], budget: int) -> str:
    """Excerpts of `sources` (path to text, the most important first) in at most `budget` tokens.

    A file that fits into what is left is shown whole. Of a larger one the definitions whose names the task
    uses are shown, the lines that mention names or quotes of the task, and an outline of the rest; it gets at
    most `_SHARE` of what is left. The count of tokens is `estimate_tokens`.
    """
    words, blocks, left = find_words(task), [], budget
    for path, text in sources.items():
        if left < _LEAST:
            break
        block = _excerpt(words, path, _lines_of(text), left)
        cost = estimate_tokens(block + "\n")
        if block and cost <= left:
            blocks.append(block)
            left -= cost
    return "\n".join(blocks)


def fit_blocks(blocks: Iterable[str], budget: int) -> str:
    """Those of the blocks that fit into `budget` tokens, in their order; empty ones are left out."""
    fitting, left = list[str](), budget
    for block in filter(None, blocks):
        cost = estimate_tokens(block + "\n")
        if cost <= left:
            fitting.append(block)
            left -= cost
    return "\n".join(fitting)


def _lines_of(text: str) -> list[str]:
    """The lines of a text, whatever ends them; overlong ones are cut."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    return [line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + " [...]" for line in lines]


def _excerpt(words: Words, path: str, lines: Sequence[str], room: int) -> str:
    """The best of one file in about `room` tokens, or an empty string when there is nothing to show."""
    # A line costs two tokens or more, so most files that cannot fit are known at once.
    if 2 * len(lines) <= room:
        whole = fenced(path, lines)
        if estimate_tokens(whole + "\n") <= room:
            return whole
    symbols = find_symbols(path, "\n".join(lines))
    outline = _outline(symbols, room // _OUTLINE)
    heading = "\n".join([f"{path}, in part (of {len(lines)} lines)", *outline]) + "\n"
    spare = round(room * _SHARE) - estimate_tokens(heading) - _FENCES
    shown = _choose(_spans(words, symbols, lines), lines, spare)
    if not shown:
        return ""
    pieces = [lines[first - 1 : last] for first, last in shown]
    listed = ", ".join(f"{first}-{last}" if last > first else f"{first}" for first, last in shown)
    heading = "\n".join([f"{path}, lines {listed} of {len(lines)}", *outline])
    return fenced(heading, [line for piece in pieces for line in (_GAP, *piece)][1:])


def fenced(heading: str, lines: Sequence[str]) -> str:
    """Lines of a file as they stand there, between fences that none of them can close."""
    longest = max((len(run) for line in lines for run in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join((heading, fence, *lines, fence))


def _choose(spans: Sequence[_Span], lines: Sequence[str], room: int) -> list[tuple[int, int]]:
    """The pieces (first and last line) that fit, from the best span down; of one too long, its head."""
    shown: set[int] = set()
    for span in spans:
        left, added = room - _PIECE, []
        for number in range(span.first, span.last + 1):
            cost = 0 if number in shown else estimate_tokens(lines[number - 1] + "\n")
            if cost > left:
                break
            left -= cost
            added.append(number)
        if len(added) >= min(_SHORTEST_HEAD, span.last - span.first + 1) and not shown.issuperset(added):
            shown.update(added)
            room = left
    return _pieces(sorted(shown))


def _pieces(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending numbers as runs without gaps."""
    pieces = list[tuple[int, int]]()
    for number in numbers:
        if pieces and number == pieces[-1][1] + 1:
            pieces[-1] = (pieces[-1][0], number)
        else:
            pieces.append((number, number))
    return pieces


def _spans(words: Words, symbols: Sequence[Symbol], lines: Sequence[str]) -> list[_Span]:
    """What to show, best first: definitions by what the task says of them, then other mentions."""
    exact = [
        re.compile(rf"(?<!\w){re.escape(text)}(?!\w)") for text in dict.fromkeys(words.names + words.quoted)
    ]
    spans = _definitions(words, exact, symbols, lines)
    for pattern in exact:
        places = [number for number, line in enumerate(lines, 1) if pattern.search(line)]
        for number in places[:_MENTIONS]:
            spans.append(_Span(_MENTIONED, max(1, number - _AROUND), min(len(lines), number + _AROUND)))
    return sorted(spans, key=lambda span: (-span.score, span.last - span.first, span.first))


def _definitions(
    words: Words, exact: Sequence[re.Pattern[str]], symbols: Sequence[Symbol], lines: Sequence[str]
) -> list[_Span]:
    """The definitions whose name or body has to do with the task.

    In bodies a word counts by how few of the file's definitions have it.
    """
    ends = [min(last, symbol.first + _LONGEST_SPAN) for symbol, last in _own_lines(symbols)]
    bodies = ["\n".join(lines[symbol.first - 1 : end]) for symbol, end in zip(symbols, ends, strict=True)]
    held = [[stem for stem in words.stems if stem in lowered] for lowered in map(str.lower, bodies)]
    spread = Counter(stem for stems in held for stem in stems)
    rarity = {stem: math.log2(1 + len(symbols) / number) for stem, number in spread.items()}
    spans = []
    for symbol, end, body, stems in zip(symbols, ends, bodies, held, strict=True):
        own = re.split(r"::|\.", symbol.name)[-1]
        parts = stems_of(own)
        score = _NAMED if own in words.names else 0.0
        score += _SAID * len(set(words.stems).intersection(parts)) / max(len(parts), 1)
        score += _MENTIONED * min(2, sum(bool(pattern.search(body)) for pattern in exact))
        brief = min(1.0, _SHORT / (end - symbol.first + 1))  # a long body holds any word
        score += _HELD * brief * sum(rarity[stem] for stem in stems) / max(sum(rarity.values()), 1.0)
        if score >= _WORTH:
            spans.append(_Span(score, symbol.first, end))
    return spans


def _own_lines(symbols: Sequence[Symbol]) -> Iterator[tuple[Symbol, int]]:
    """Each definition with its last line; one that holds others ends where the first of them begins."""
    for at, symbol in enumerate(symbols):
        inner = symbols[at + 1].first if at + 1 < len(symbols) else symbol.last + 1
        yield symbol, max(symbol.first, min(symbol.last, inner - 1))


def _outline(symbols: Sequence[Symbol], room: int) -> list[str]:
    """Where everything is, in one line of at most `room` tokens; as a list, empty when there is nothing."""
    shown: list[str] = []
    left = room - estimate_tokens(_DEFINES)
    for symbol in symbols:
        lines = f"{symbol.first}-{symbol.last}" if symbol.last > symbol.first else str(symbol.first)
        entry = f"{symbol.name[:_LONGEST_NAME]} {lines}"
        left -= estimate_tokens(entry + ", ")
        if left < 0:
            break
        shown.append(entry)
    return [_DEFINES + ", ".join(shown)] if shown else []
