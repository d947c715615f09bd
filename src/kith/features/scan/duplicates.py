"""Find duplicated code: equal runs of tokens, found by fingerprints in linear time."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct, field

from kith.features.scan.source_text import Tokens, tokenise

LEAST_TOKENS: Final = 50  # about six lines
_64_BITS: Final = (1 << 64) - 1
_SMALL: Final = -(1 << 63) + (1 << 61)  # one hash in eight is smaller
_LEAST_WORDS: Final = 8  # different tokens; what has fewer is a table or a ruler, and nobody's copy


class CopyPlace(Struct, frozen=True):
    """Some lines of a file, from 1, the last included."""

    path: str
    first: int
    last: int


class Duplicate(Struct, frozen=True):
    """The same tokens in two places; comments, white space and imports are none."""

    place: CopyPlace
    other: CopyPlace
    tokens: int

    @property
    def lines(self) -> int:
        return self.place.last - self.place.first + 1


class Prints(Struct, frozen=True):
    """The fingerprints of a text: some runs of its tokens, each as a hash, and its place.

    `at` counts tokens, `first` and `last` lines. All four are equally long, in the order of the text.
    """

    hashes: "array[int]" = field(default_factory=lambda: array("Q"))
    at: "array[int]" = field(default_factory=lambda: array("I"))
    first: "array[int]" = field(default_factory=lambda: array("I"))
    last: "array[int]" = field(default_factory=lambda: array("I"))


class Match(Struct, frozen=True):
    """A duplicate as the prints tell it, and at which token it begins in each file."""

    duplicate: Duplicate
    at: int
    other_at: int


def find_duplicates(texts: Mapping[str, str], least_tokens: int = LEAST_TOKENS) -> tuple[Duplicate, ...]:
    """The pairs of places that share at least `least_tokens` tokens, the longest first.

    Code in n places gives n - 1 pairs, each with the next place. Every such run is found, but for
    those that repeat themselves or have hardly any words. Time and memory are linear in the texts' length.
    """
    tokens = {path: tokenise(path, text) for path, text in texts.items()}
    prints = {path: choose_prints(each, least_tokens) for path, each in tokens.items()}
    return refine(match_prints(prints, least_tokens), tokens, least_tokens)


# --- fingerprints ------------------------------------------------------------------------------


def choose_prints(tokens: Tokens, least_tokens: int) -> Prints:
    """The prints of a text: two texts that share a run of `least_tokens` tokens share one of them.

    A print hashes half of the run. In every window of places the one is kept whose next four tokens have
    the smallest hash (after Schleimer, Wilkerson and Aiken, Winnowing, 2003).
    """
    length = _run_length(least_tokens)
    ids, lines, prints = tokens.ids, tokens.lines, Prints()
    if len(ids) < least_tokens:
        return prints
    # The hash of a tuple of numbers is the same in every process (that of a text is not).
    values = list(map(hash, zip(ids, ids[1:], ids[2:], ids[3:], strict=False)))[: len(ids) - length + 1]
    for at in _choose_places(values, least_tokens - length + 1):
        run = tuple(ids[at : at + length])
        if len(set(run)) >= _LEAST_WORDS:
            prints.hashes.append(hash(run) & _64_BITS)
            prints.at.append(at)
            prints.first.append(lines[at])
            prints.last.append(lines[at + length - 1])
    return prints


def _run_length(least_tokens: int) -> int:
    """Tokens that a print hashes; what is left is the window, and prints that follow each other overlap."""
    return max(4, least_tokens // 2 + 1)


def _choose_places(values: Sequence[int], window: int) -> Iterator[int]:
    """Yield the place of the smallest value of every window; the first of equal ones.

    A value is the smallest of some window when the next smaller ones to both sides are far enough apart.
    """
    open_places: list[int] = []  # of values that rise: each has the next smaller one before it
    for at in _small_places(values, window):
        while open_places and values[open_places[-1]] > values[at]:
            place = open_places.pop()
            if at - (open_places[-1] if open_places else -1) > window:
                yield place
        open_places.append(at)
    for number, place in enumerate(open_places):
        if len(values) - (open_places[number - 1] if number else -1) > window:
            yield place


def _small_places(values: Sequence[int], window: int) -> list[int]:
    """Places that hold the smallest value of each window, and not many others: that saves the time."""
    small = [at for at, value in enumerate(values) if value < _SMALL]
    gaps = [(a, b) for a, b in pairwise([-1, *small, len(values)]) if b - a > window]
    if not gaps:
        return small
    return sorted({*small, *(at for a, b in gaps for at in range(a + 1, b))})


# --- matches -----------------------------------------------------------------------------------


def match_prints(prints: Mapping[str, Prints], least_tokens: int) -> list[Match]:
    """The runs that the prints of two places have in common, from half of `least_tokens` on."""
    paths = sorted(prints)
    repeated = _find_repeated(prints)
    places: dict[int, list[tuple[int, int]]] = defaultdict(list)  # hash to (number of the path, of the print)
    for number, path in enumerate(paths):
        hashes = prints[path].hashes
        if not repeated.isdisjoint(hashes):
            for index, value in enumerate(hashes):
                if value in repeated:
                    places[value].append((number, index))
    aligned: dict[tuple[int, int, int], list[tuple[int, int]]] = defaultdict(list)
    for found in places.values():
        for (number, index), (other, other_index) in pairwise(found):
            distance = prints[paths[other]].at[other_index] - prints[paths[number]].at[index]
            aligned[number, other, distance].append((index, other_index))
    length = _run_length(least_tokens)
    matches: list[Match] = []
    for (number, other, distance), pairs in aligned.items():
        if number != other or distance >= length:
            pair = (paths[number], paths[other])
            matches += _join(pair, (prints[pair[0]], prints[pair[1]]), sorted(pairs), length)
    return matches


def _find_repeated(prints: Mapping[str, Prints]) -> set[int]:
    """The hashes that occur in more than one place."""
    seen: set[int] = set()
    repeated: set[int] = set()
    for each in prints.values():
        own = set(each.hashes)
        repeated |= own & seen
        if len(own) < len(each.hashes):
            in_order = sorted(each.hashes)
            repeated.update(value for value, following in pairwise(in_order) if value == following)
        seen |= own
    return repeated


def _join(
    paths: tuple[str, str], prints: tuple[Prints, Prints], pairs: Sequence[tuple[int, int]], length: int
) -> Iterator[Match]:
    """The matches of two files at one distance: prints that overlap in both make one run."""
    mine, theirs = prints
    begin = 0
    for end in range(1, len(pairs) + 1):
        last = pairs[end - 1]
        if end < len(pairs) and mine.at[pairs[end][0]] <= mine.at[last[0]] + length:
            continue
        first, begin = pairs[begin], end
        places = (
            CopyPlace(paths[0], mine.first[first[0]], mine.last[last[0]]),
            CopyPlace(paths[1], theirs.first[first[1]], theirs.last[last[1]]),
        )
        tokens = mine.at[last[0]] - mine.at[first[0]] + length
        yield Match(Duplicate(*places, tokens), mine.at[first[0]], theirs.at[first[1]])


# --- exact places ------------------------------------------------------------------------------


def refine(
    matches: Iterable[Match], tokens: Mapping[str, Tokens], least_tokens: int
) -> tuple[Duplicate, ...]:
    """The matches at their full length, those of at least `least_tokens`, the longest first."""
    found: set[Duplicate] = set()
    for match in matches:
        mine, theirs = tokens[match.duplicate.place.path], tokens[match.duplicate.other.path]
        start, other, length = _extend(mine.ids, theirs.ids, match)
        if mine is theirs:
            length = min(length, other - start)  # what overlaps itself is no copy
        if length >= least_tokens:
            found.add(
                Duplicate(
                    _place(match.duplicate.place.path, mine, start, length),
                    _place(match.duplicate.other.path, theirs, other, length),
                    length,
                )
            )
    return tuple(sorted(found, key=lambda each: (-each.tokens, _key(each.place), _key(each.other))))


def _extend(mine: Sequence[int], theirs: Sequence[int], match: Match) -> tuple[int, int, int]:
    """Find where a run begins in both files, and how many tokens are equal from there on."""
    start, other = match.at, match.other_at
    end, other_end = start + match.duplicate.tokens, other + match.duplicate.tokens
    while start and other and mine[start - 1] == theirs[other - 1]:
        start, other = start - 1, other - 1
    while end < len(mine) and other_end < len(theirs) and mine[end] == theirs[other_end]:
        end, other_end = end + 1, other_end + 1
    return start, other, end - start


def _place(path: str, tokens: Tokens, at: int, length: int) -> CopyPlace:
    return CopyPlace(path, tokens.lines[at], tokens.lines[at + length - 1])


def _key(place: CopyPlace) -> tuple[str, int, int]:
    return (place.path, place.first, place.last)
