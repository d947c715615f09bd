"""Extract the words of a task: plain words, code names, quotes and paths."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from posixpath import dirname
from typing import Final

from msgspec import Struct

from kith.core.patterns import lazy_pattern

_PLAIN: Final = """
    a able about add added adding after again all also always an and another any are as at be because been
    before being both but by call called can cannot change changed code correct could cpp create did do does
    doing don done down each either ensure every example file files fix fixed fixes following for from
    function functions get gets given gives good had has have he her here his how however hpp i if implement
    in instead into is it its js just keep let lib like line lines make makes many may md me method methods
    more most must my name need needs never new no not now of off old on once one only or other our out over
    please problem put py raise raises remove return returned returns same see set she should show so some
    src still such take than that the their them then there these they this those to too ts two txt up
    update updated us use used uses using value values very want was way we were what when where whether
    which while who why will with without work works would wrong you your
"""
_STOP_WORDS: Final = frozenset(_PLAIN.split())
_GENERAL: Final = """
    app bug bugs build bye check clean codebase commit compile continue describe everything explain folder
    go great hallo hello help hey hi hola improve issue look morning nice ok overview program project
    refactor repo repository review run start summarise summarize summary tell test tests thank thanks there
    tidy fail failing fails
"""  # words that name nothing unless another one stands beside them
# Endings that are dropped so that "parser", "parsing" and "parsed" meet; the longest first.
_ENDINGS: Final = (
    "ations",
    "ation",
    "ings",
    "ing",
    "ers",
    "ors",
    "ies",
    "er",
    "or",
    "ed",
    "es",
    "s",
    "e",
    "y",
)
_DOUBLING: Final = frozenset({"ings", "ing", "ers", "ors", "er", "or", "ed"})
_DOUBLED: Final = lazy_pattern(r"[a-z]{2}([bdfgmnprt])\1$")
_QUOTED: Final = lazy_pattern(r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”|(?<!\w)'([^'\n]+)'(?!\w)|‘([^’\n]+)’")
_PATH: Final = lazy_pattern(
    r"(?<![\w/.@+-])(?:\.{0,2}/)?(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.\w{1,8}(?!\w)|(?<![\w.@+-])(?:[\w.@+-]+/)+"
)
# Behind the name of a file: `__init__.py` speaks of no method.
_ENDING: Final = lazy_pattern(
    r"\.(?:cc|cfg|cpp|cs|css|cxx|[chmr]|go|hpp|html|ini|java|jsx?|json|kt|lua|md|php|pyi?|rb|rs|rst|scala|sh|sql"
    r"|swift|toml|tsx?|txt|xml|ya?ml)(?![\w(])"
)
_NAMED: Final = lazy_pattern(
    r"\b(?:attribute|class|constant|enum|field|function|macro|member|method|struct|variable)\s+([^\W\d]\w*)",
    re.I,
)
_ABOUT_TESTS: Final = lazy_pattern(
    r"\b(?:add|cover|create|debug|extend|failing|fix|flaky|generate|improve|missing|more|new|unit|write)\b"
    r"[^.\n]{0,40}\btests?\b|\btests? (?:case|fail|for|is failing)",
    re.I,
)
_CODE_SHAPE: Final = lazy_pattern(r"[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z][0-9]")
_COMMON: Final = lazy_pattern(r"[a-z]+(?:\(\))?|[A-Z][a-z]+")
_NAME: Final = lazy_pattern(r"[^\W\d]\w*")
_RUN: Final = lazy_pattern(r"[^\W\d_]+|\d+")
_CAMEL: Final = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class Words(Struct, frozen=True):
    """The words of a task, in four readings; each keeps the order of first mention.

    `stems` are its words without endings. `names` can only be code (parse_args, HttpClient, run()).
    `quoted` is the text between quotes, `paths` looks like a file or folder. `about_tests`: the task asks
    to write or fix tests.
    """

    stems: tuple[str, ...]
    names: tuple[str, ...]
    quoted: tuple[str, ...]
    paths: tuple[str, ...]
    about_tests: bool

    @property
    def exact(self) -> tuple[str, ...]:
        """Names and quotes to look for verbatim; names of files are none."""
        files = frozenset(self.paths)
        return tuple(each for each in dict.fromkeys(self.names + self.quoted) if each not in files)

    @property
    def is_general(self) -> bool:
        """True for a greeting, or a request that names no part of the project."""
        return not (self.exact or self.paths) and all(each in _general() for each in self.stems)


@lru_cache(maxsize=1)
def _general() -> frozenset[str]:
    return frozenset(map(stem, _GENERAL.split()))


def find_words(task: str) -> Words:
    """Read a task. Pure and deterministic; a task of 10 kB takes a few milliseconds."""
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(task)]
    paths = [path.removeprefix("./") for path in _PATH.findall(task)]
    names = [match.group() for match in _NAME.finditer(task) if _is_code(match)]
    names += [name for name in _NAMED.findall(task) if name.lower() not in _STOP_WORDS]
    names += [match.group() for text in quoted for match in _NAME.finditer(text) if _is_in_code(match, text)]
    stems = [stem for name in _NAME.findall(task) for stem in stems_of(name)]
    about_tests = bool(_ABOUT_TESTS.search(task))
    if not about_tests:  # "all tests must pass" is no reason to read them first
        stems = [stem for stem in stems if stem != "test"]
    return Words(_once(stems), _once(names), _once(quoted), _once(paths), about_tests)


def _is_code(match: re.Match[str]) -> bool:
    """True when a word's form, or what follows it, says that it is a name in code."""
    name = match.group()
    if _ENDING.match(match.string, match.end()):
        return False
    if "_" in name:
        return bool(name.strip("_"))
    follows = match.string[match.end() : match.end() + 2]
    return bool(_CODE_SHAPE.search(name)) or follows.startswith("(") or follows == "::"


def _is_in_code(match: re.Match[str], quoted: str) -> bool:
    """True for an identifier that is a whole quotation, or part of one that looks like an expression."""
    name = match.group()
    if _ENDING.match(quoted, match.end()):
        return False
    whole = quoted.removesuffix("()") == name
    return whole or (
        len(name) > 2 and not _STOP_WORDS.issuperset([name]) and bool(re.search(r"\w[.(]\w?|::", quoted))
    )


_TEST: Final = lazy_pattern(r"(?:^|/)tests?/|(?:^|/)test_[^/]*$|[._]test\.\w+$")


def named_paths(paths: Sequence[str], files: Iterable[str]) -> dict[str, bool]:
    """The files that a task's `paths` name: True for a whole path, False for the last parts of one.

    Where a name fits several files, those in the folder with most of the named ones are meant.
    """
    if not paths:
        return {}
    whole, endings = frozenset(paths), tuple(f"/{path}" for path in paths)
    found = {path: path in whole for path in files if path in whole or path.endswith(endings)}
    if len(paths) < 2 or len(found) <= len(paths):
        return found
    fitting: list[list[str]] = []
    for name in sorted(paths, key=len, reverse=True):  # `sansio/app.py` is not meant by `app.py` once more
        group = [path for path in found if f"/{path}".endswith(f"/{name}")]
        fitting.append([path for path in group if [path] not in fitting] or group)
    # Tests may lie in a folder of their own, beside other files with the names of those that they test.
    tested = [group for group in fitting if not all(map(_TEST.search, group))]
    homes = Counter(folder for group in tested for folder in {dirname(path) for path in group})
    meant = {path for group in fitting for path in _at_home(group, homes)}
    return {path: is_whole for path, is_whole in found.items() if is_whole or path in meant}


def _at_home(group: Sequence[str], homes: Mapping[str, int]) -> list[str]:
    most = max((homes[dirname(path)] for path in group), default=0)
    return [path for path in group if homes[dirname(path)] == most]


def is_common(exact: str) -> bool:
    """True for a name that is a plain word, too: `name`, `get()`."""
    return _COMMON.fullmatch(exact) is not None


def split_name(name: str) -> tuple[str, ...]:
    """The words inside an identifier, lower case: parseHTTPHeader_v2 -> parse, http, header, v, 2.

    Capitals divide words of ASCII letters only.
    """
    runs = [_CAMEL.findall(run) if run.isascii() else [run] for run in _RUN.findall(name)]
    return tuple(piece.lower() for run in runs for piece in run)


@lru_cache(maxsize=65_536)
def stems_of(name: str) -> tuple[str, ...]:
    """The stems of the words inside an identifier or a file name, stop words and digits left out."""
    words = (word for word in split_name(name) if len(word) > 1 and not word.isdigit())
    return tuple(stem(word) for word in words if word not in _STOP_WORDS)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A lower-case word without its ending, where at least three letters remain.

    A consonant that the ending doubled is single again, so that "splitter" and "split" meet (Porter, An
    algorithm for suffix stripping, 1980, step 1b).
    """
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            short = word.removesuffix(ending)
            return short[:-1] if ending in _DOUBLING and _DOUBLED.search(short) else short
    return word


def _once(items: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))
