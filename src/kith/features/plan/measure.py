"""Measure how well files are found: a commit's message is a request, the files it changed are the answer."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice
from statistics import fmean
from typing import Final

from msgspec import Struct

from kith.context.rank_files import Scored, kind_of
from kith.context.task_words import find_words
from kith.core.git import Commit

_MOST_FILES: Final = 3  # a commit that changes more is more than one request
_FEWEST_WORDS: Final = 3  # stems; "fix lint" is no request
_TOP: Final = 5
_TRAILER: Final = re.compile(
    r"^(?:signed-off-by|co-authored-by|reviewed-by|acked-by|change-id|closes|fixes|refs?|see|pr-url|cc)\b[:\s].*$",
    re.I | re.M,
)
_REFERENCE: Final = re.compile(r"\(?#\d+\)?|\bGH-\d+|https?://\S+")
# Nobody asks for these: they are what a release or a merge says.
_ROUTINE: Final = re.compile(
    r"(?:merge|revert|release|bump|prepare|version|cut|changelog|update changelog|v?\d+\.\d+|chore\(deps"
    r"|build\(deps|\[?pre-commit|update dependenc)",
    re.I,
)
_PATH: Final = re.compile(
    r"(?<![\w@])(?:[\w.-]+/)+[\w.-]+|\b[\w-]+\.(?:[a-z]{1,3}|[a-z]?html|java|json|toml|yaml)\b"
)


class Request(Struct, frozen=True):
    """The request in a commit's message, and the source files that the commit changed."""

    commit: str
    at: int
    words: str
    files: frozenset[str]


class Found(Struct, frozen=True):
    """The number of requests, the share with a right file in the top five, the mean reciprocal rank."""

    requests: int
    top: float
    reciprocal: float


def choose_requests(commits: Sequence[Commit], files: Container[str], most: int) -> tuple[Request, ...]:
    """Up to `most` requests of the newest commits that changed one to three source files of `files`."""
    return tuple(islice(_requests(commits, files), most))


def _requests(commits: Sequence[Commit], files: Container[str]) -> Iterator[Request]:
    for each in commits:
        words = request_of(each.message)
        sources = frozenset(path for path in each.paths if kind_of(path) == "source")
        there = frozenset(path for path in sources if path in files)
        if words and there and len(sources) <= _MOST_FILES:
            yield Request(each.name, each.at, words, there)


def request_of(message: str) -> str:
    """A commit's message as a request; "" where it is routine, says too little, or names a path."""
    words = _REFERENCE.sub("", _TRAILER.sub("", message)).strip()
    named = _PATH.search(words) or find_words(words).paths
    if _ROUTINE.match(message) or named or len(find_words(words).stems) < _FEWEST_WORDS:
        return ""
    return words


def place_of(order: Sequence[str], wanted: frozenset[str]) -> int:
    """The place of the first right file, from 1; 0 where none is listed."""
    return next((place for place, path in enumerate(order, 1) if path in wanted), 0)


def order_of(ranked: Sequence[Scored]) -> tuple[str, ...]:
    """The source files of a ranking, best first."""
    return tuple(each.path for each in ranked if kind_of(each.path) == "source")


def order_by(amounts: Mapping[str, float]) -> tuple[str, ...]:
    """The source files that one signal finds, best first."""
    return tuple(
        sorted(
            (path for path in amounts if kind_of(path) == "source"), key=lambda path: (-amounts[path], path)
        )
    )


def summarise(places: Sequence[int]) -> Found:
    """The places of the first right files, in two figures."""
    top = fmean(0 < place <= _TOP for place in places) if places else 0.0
    reciprocal = fmean(1 / place if place else 0.0 for place in places) if places else 0.0
    return Found(len(places), top, reciprocal)
