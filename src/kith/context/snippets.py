"""Excerpts of files around what a task speaks of, sized to a budget of tokens."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.context.budget import estimate_tokens
from kith.context.explanations import count_leading_comment, find_explanations
from kith.context.symbols import Symbol, find_symbols
from kith.context.task_words import Words, find_words, is_common, named_paths, stem, stems_of

_LONGEST_LINE = 240  # characters; what is longer is generated or data
_LONGEST_SPAN = 80  # lines of one definition, without what explains it
_LONGEST_NAME = 60
_LEAST = 60  # tokens; less holds no excerpt worth reading
_AROUND = 2  # lines before and after a mention
_MENTIONS = 4  # places shown per name
_OFTEN: Final = 8  # lines; of a common word that a file has more often, no place tells more than another
_SHORTEST_HEAD = 6  # lines; less of a definition says nothing
_GAP: Final = "..."
_PIECE: Final = 10  # tokens of a gap, and of the lines' numbers in the heading
_FENCES: Final = 6  # tokens
_HEADING: Final = 30  # tokens
_RESERVED: Final = 40  # lines of a definition that the task names, for which other files leave room
_SHARE: Final = 0.7  # of what is left, for one file
_SMALL: Final = 1 / 3  # of the budget, for a file that the task names and that is shown whole
_OUTLINE, _MEMBERS = 16, 5  # parts of the room: for what a file defines, for the members of a named class
_RARE: Final = 2  # files
_CLASS: Final = 12  # lines of a class, without its members
_TICKS: Final = re.compile("`{3,}")
_NAMED, _SAID, _HELD, _MENTIONED = 10.0, 4.0, 5.0, 6.0  # see `_definitions`
_WORTH = 0.5
_TELLING: Final = 3  # words of a task, of which a body has to hold a part
_SHORT = 25  # lines
_ABOUT_WORDS: Final = frozenset(map(stem, ("comment", "docstring", "document")))  # such a task needs them


class _LineRange(Struct, frozen=True):
    """Lines worth showing, from 1, both ends included; `exact`: with the explanations among them."""

    score: float
    first: int
    last: int
    exact: bool = False


def snippets(task: str, sources: Mapping[str, str], budget: int) -> str:
    """Cut excerpts of `sources` (path to text, most important first), in at most `budget` tokens.

    A small file that the task names is shown whole, so that it can be edited at once. So is any other that
    fits into `_SHARE` of the rest, or as the last one into all of it. Larger ones get as much for definitions
    that the task names, lines that mention it, and an outline. Long docstrings and comments in them give way
    to code. The count of tokens is `estimate_tokens`.
    """
    words, blocks, left = find_words(task), [], budget
    named = named_paths(words.paths, sources)
    small = round(budget * _SMALL)
    files = _keep_rare(
        [_File.of(words, path, text, small if path in named else 0) for path, text in sources.items()]
    )
    share = budget // max(sum(file.named > 0 for file in files), 1)
    kept = sum(min(file.named, share) for file in files)
    for file in files:
        own = min(file.named, share)
        kept -= own
        if left < _LEAST:
            break
        room = max(left - kept, own)
        most = max(round(room * _SHARE), min(room, own)) if file is not files[-1] else room
        block = file.excerpt(words, room, most)
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


class _File(Struct, frozen=True):
    """A file and the definitions in it.

    `own` are names of the task that it defines; `named` is what those definitions cost, in tokens. Of a file
    that is shown `whole`, it is the cost of that.
    """

    path: str
    lines: Sequence[str]
    symbols: tuple[Symbol, ...] | None
    own: frozenset[str] = frozenset()
    named: int = 0
    whole: bool = False

    @classmethod
    def of(cls, words: Words, path: str, text: str, room: int) -> "_File":
        """Look at a file, which is shown whole if it fits into `room` tokens."""
        lines = _lines_of(text)
        if cost := _cost_of_whole(path, lines, room):
            return cls(path, lines, None, named=cost, whole=True)
        if not any(name in text for name in words.names):
            return cls(path, lines, None)
        symbols = find_symbols(path, "\n".join(lines))
        own = [(each, last) for each, last in _own_lines(symbols) if _own_name(each) in words.names]
        pieces = ("\n".join(lines[each.first - 1 : min(last, each.first + _RESERVED)]) for each, last in own)
        cost = sum(estimate_tokens(piece) + _PIECE for piece in pieces)
        known = frozenset(_own_name(each) for each, _ in own)
        return cls(path, lines, symbols, known, cost + _FENCES + _HEADING if cost else 0)

    def excerpt(self, words: Words, room: int, most: int) -> str:
        """The best of the file in about `most` of the `room` tokens, or "" when there is nothing to show."""
        if _cost_of_whole(self.path, self.lines, room if self.whole else most):
            return fenced(self.path, self.lines)
        symbols = find_symbols(self.path, "\n".join(self.lines)) if self.symbols is None else self.symbols
        outline = _outline(words, symbols, room)
        heading = "\n".join([f"{self.path}, in part (of {len(self.lines)} lines)", *outline]) + "\n"
        spare = most - estimate_tokens(heading) - _FENCES
        wordy = frozenset[int]()
        if _ABOUT_WORDS.isdisjoint(words.stems):
            wordy = find_explanations(self.path, self.lines)
        shown = _choose(_spans(words, symbols, self.lines, wordy), self.lines, spare, wordy)
        if not shown:
            return ""
        pieces = [self.lines[first - 1 : last] for first, last in shown]
        listed = ", ".join(f"{first}-{last}" if last > first else f"{first}" for first, last in shown)
        heading = "\n".join([f"{self.path}, lines {listed} of {len(self.lines)}", *outline])
        return fenced(heading, [line for piece in pieces for line in (_GAP, *piece)][1:])


def _keep_rare(files: Sequence[_File]) -> list[_File]:
    """The files; what many of them define (`pop`, `run`) gets no room of its own in any."""
    spread = Counter(name for file in files for name in file.own)
    return [
        file if file.whole or any(spread[name] <= _RARE for name in file.own) else replace(file, named=0)
        for file in files
    ]


def _own_name(symbol: Symbol) -> str:
    """The last part of a definition's name."""
    return re.split(r"::|\.", symbol.name)[-1]


def fenced(heading: str, lines: Sequence[str]) -> str:
    """Lines of a file, unchanged, between fences that none of them can close."""
    longest = max((len(run) for line in lines for run in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join((heading, fence, *lines, fence))


def _cost_of_whole(path: str, lines: Sequence[str], room: int) -> int:
    """The tokens of a file that fits whole into `room` of them; else 0."""
    if 2 * len(lines) > room:  # a line costs two or more, so most files that cannot fit are known at once
        return 0
    cost = estimate_tokens(fenced(path, lines) + "\n")
    return cost if cost <= room else 0


def _choose(
    spans: Sequence[_LineRange], lines: Sequence[str], room: int, wordy: frozenset[int]
) -> list[tuple[int, int]]:
    """The pieces (first and last line) that fit, from the best span down; of one too long, its head.

    The `wordy` lines of a span come last: each run of them if it fits then.
    """
    shown: set[int] = set()
    price = cache(lambda number: estimate_tokens(lines[number - 1] + "\n"))
    later = list[tuple[int, int]]()
    for span in spans:
        inside = range(span.first, span.last + 1)
        wanted = [number for number in inside if span.exact or number not in wordy]
        left, added, before = room, list[int](), 0
        for number in wanted:
            cost = 0 if number in shown else price(number) + _PIECE * (number != before + 1)
            if cost > left:
                break
            left -= cost
            added.append(number)
            before = number
        if len(added) >= min(_SHORTEST_HEAD, len(wanted)) and not shown.issuperset(added):
            shown.update(added)
            room = left
            later += _pieces([number for number in inside if number in wordy])
    for first, last in later:
        missing = [number for number in range(first, last + 1) if number not in shown]
        cost = sum(map(price, missing))
        if cost <= room and first - 1 in shown:
            shown.update(missing)
            room -= cost
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


def _spans(
    words: Words, symbols: Sequence[Symbol], lines: Sequence[str], wordy: frozenset[int]
) -> list[_LineRange]:
    """Choose the spans to show, best first: definitions that the task names, then other mentions."""
    exact, places, top = list[re.Pattern[str]](), list[int](), count_leading_comment(lines)
    for text in words.exact:
        pattern = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)")
        found = [number for number, line in enumerate(lines, 1) if number > top and pattern.search(line)]
        if len(found) <= _OFTEN or not is_common(text):
            exact.append(pattern)
            places += found[:_MENTIONS]
    spans = _definitions(words, exact, symbols, lines, wordy)
    for number in places:
        around = max(1, number - _AROUND), min(len(lines), number + _AROUND)
        spans.append(_LineRange(_MENTIONED, *around, exact=True))
    return sorted(spans, key=lambda span: (-span.score, span.last - span.first, span.first))


def _definitions(
    words: Words,
    exact: Sequence[re.Pattern[str]],
    symbols: Sequence[Symbol],
    lines: Sequence[str],
    wordy: frozenset[int],
) -> list[_LineRange]:
    """The definitions whose name or body has to do with the task.

    In bodies a word counts by how few of the file's definitions have it.
    """
    ends = [
        min(last, symbol.first + _CLASS) if symbol.last > last else _end_of_code(symbol.first, last, wordy)
        for symbol, last in _own_lines(symbols)
    ]
    bodies = ["\n".join(lines[symbol.first - 1 : end]) for symbol, end in zip(symbols, ends, strict=True)]
    held = [[stem for stem in words.stems if stem in lowered] for lowered in map(str.lower, bodies)]
    spread = Counter(stem for stems in held for stem in stems)
    rarity = {stem: math.log2(1 + len(symbols) / number) for stem, number in spread.items()}
    # A word that half of the definitions have is not worth more where the file has no other word of the task.
    total = max(sum(rarity.values()), min(len(words.stems), _TELLING) * math.log2(1 + len(symbols)), 1.0)
    spans = []
    for symbol, end, body, stems in zip(symbols, ends, bodies, held, strict=True):
        own = _own_name(symbol)
        parts = stems_of(own)
        score = _NAMED if own in words.names else 0.0
        score += _SAID * len(set(words.stems).intersection(parts)) / max(len(parts), 1)
        score += _MENTIONED * min(2, sum(bool(pattern.search(body)) for pattern in exact))
        brief = min(1.0, _SHORT / (end - symbol.first + 1))  # a long body holds any word
        score += _HELD * brief * sum(rarity[stem] for stem in stems) / total
        cut = end == symbol.first < symbol.last  # the head of a class alone says nothing
        if score >= _WORTH and not cut:
            spans.append(_LineRange(score, symbol.first, end))
    return spans


def _end_of_code(first: int, last: int, wordy: frozenset[int]) -> int:
    """The last line to show of a definition; what explains it at length does not count as a part of it."""
    code = (number for number in range(first, last + 1) if number not in wordy)
    return next(itertools.islice(code, _LONGEST_SPAN, None), last)


def _own_lines(symbols: Sequence[Symbol]) -> Iterator[tuple[Symbol, int]]:
    """Each definition with its last line; one that holds others ends where the first of them begins."""
    for at, symbol in enumerate(symbols):
        inner = symbols[at + 1].first if at + 1 < len(symbols) else symbol.last + 1
        yield symbol, max(symbol.first, min(symbol.last, inner - 1))


def _outline(words: Words, symbols: Sequence[Symbol], room: int) -> list[str]:
    """List the members of the first class that the task names, else all top-level names, in one line.

    A list that does not fit is left out, since a part of it is useless.
    """
    named = (each for each in symbols if _own_name(each) in words.names)
    for owner in named:
        own = re.compile(rf"{re.escape(owner.name)}(?:\.|::)\w+")
        if inner := [each for each in symbols if own.fullmatch(each.name)]:
            return _listed(f"{owner.name} has", inner, room // _MEMBERS)
    return _listed("defines", [each for each in symbols if _own_name(each) == each.name], room // _OUTLINE)


def _listed(head: str, symbols: Sequence[Symbol], room: int) -> list[str]:
    places = (f"{each.first}-{each.last}" if each.last > each.first else str(each.first) for each in symbols)
    entries = (
        f"{_own_name(each)[:_LONGEST_NAME]} {place}" for each, place in zip(symbols, places, strict=True)
    )
    line = f"{head} {', '.join(entries)}"
    return [line] if symbols and estimate_tokens(line) <= room else []
