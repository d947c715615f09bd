"""The uses of a name: each line that a rename, a move or another signature may have to change."""

import asyncio
import re
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby, islice
from posixpath import basename, splitext
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.context.budget import estimate_tokens
from kith.context.find_lines import Hit, Query, find_lines
from kith.context.rank_files import kind_of
from kith.context.symbols import find_defined
from kith.context.task_words import find_words, named_paths, stems_of
from kith.core.patterns import lazy_pattern
from kith.core.run import Run
from kith.core.workspace import ExecLimits

# What a task wants renamed, removed, moved, or called in another way.

_MOST: Final = 4  # names
_SHORTEST: Final = 3  # letters; shorter names are everywhere
_REACH, _FAR = 7, 200  # words, and characters, between a verb and what it changes
_SENTENCE: Final = lazy_pattern(r"(?<=[.!?;])\s+|\n\s*\n|\n(?=\s*[-*\d])")
_TOKEN: Final = lazy_pattern(r"\.?\w++(?:[./]++\w++)*+")
_TURNS = "as at because by for from if in into on so that to when where which with"
_AWAY: Final = frozenset(_TURNS.split())
_VERB: Final = lazy_pattern(
    r"\b(?:renam|remov|delet|eliminat|mov|inlin|relocat|integrat|replac|deprecat|drop)(?:e|p?ing)?\b"
    r"|\bget(?:ting)? rid of\b|\bchang(?:e|ing) the (?:name|signature) of\b"
    r"|\b(?:all|any|each|every|existing|other)\b[^.\n]{0,30}"
    r"\b(?:call|caller|import|invocation|occurrence|reference|usage|use)s? (?:of|to)\b",
    re.I,
)
_BECOMES: Final = lazy_pattern(r"\b(\w+)(?:\(\))?[`'\"”’]? (?:as|into|to|with) [`'\"“‘]?(\w+)")
_RENAMED: Final = lazy_pattern(r"\brenam(?:e|ing) (?:the )?(?:\w+ )?(\w{3,}) (?:as|into|to) \w", re.I)
_WANTED: Final = lazy_pattern(
    r"\b(?:must|needs? to|should|to) be (?:\w+ly )?(?:deleted|dropped|moved|removed|renamed|replaced)\b", re.I
)
_SIGNATURE: Final = r"(?:argument|flag|kwarg|option|parameter)s?"
_CALLED_ANEW: Final = lazy_pattern(
    rf"\b(?:accept|add|adding|additional|another|extra|give|more|new|remove|takes?)\b.{{0,200}}\b{_SIGNATURE}\b"
    rf"|\b{_SIGNATURE}\b.{{0,200}}\b(?:added|removed)\b|\bsignature\b",
    re.I | re.S,
)
_PARAMETER: Final = lazy_pattern(
    rf"\b{_SIGNATURE}(?: called| named| of)?:? [`'\"“‘]?(\w+)|[`'\"“‘](\w+)[`'\"”’] {_SIGNATURE}\b", re.I
)


def names_to_change(task: str) -> tuple[str, ...]:
    """The names of code, and the paths of files, whose every use a task is about."""
    words = find_words(task)
    known = {*words.names, *words.paths}.difference(*_PARAMETER.findall(task))
    found = list[str]()
    for sentence in _SENTENCE.split(task):
        begun = len(found)
        for verb in _VERB.finditer(sentence):
            found += _objects(sentence[verb.end() : verb.end() + _FAR], known)
        found += [old for old, new in _BECOMES.findall(sentence) if old in known and new in known]
        found += [name for name in _RENAMED.findall(sentence) if stems_of(name)]
        for verb in _WANTED.finditer(sentence):
            found += _known(sentence[max(0, verb.start() - _FAR) : verb.start()], known)[-1:]
        if len(found) == begun and _CALLED_ANEW.search(sentence):
            found += _known(sentence, known)[:1]
    return tuple(islice(dict.fromkeys(name for name in found if len(name) >= _SHORTEST), _MOST))


def _objects(rest: str, known: Iterable[str]) -> list[str]:
    """The first known names behind a verb, up to where the words turn to something else."""
    found = list[str]()
    for token in islice(_TOKEN.findall(rest), _REACH):
        last = token.rpartition(".")[2]
        name = last if last in known else token
        if token.lower() in _AWAY or (found and token != "and" and name not in known):
            break
        found += [name] if name in known else []
    return found


def _known(text: str, known: Iterable[str]) -> list[str]:
    return [token for token in _TOKEN.findall(text) if token in known]


# The lines that hold these names, and what of them is shown.

USES: Final = "# Uses"
_IMPORTS: Final = r"(?:from|import|include|mod|require|use|using)"
_LIMITS: Final = ExecLimits(seconds=1.0, output=400_000)
_WIDEST: Final = 160  # characters of a line
_MANY: Final = 400  # lines; what nothing here defines and more use is a word, or another library's
_KINDS: Final = ("source", "test", "docs", "data")
_ASSIGNED: Final = lazy_pattern(r"\s*(?:(?:const|export|final|let|static|var) )*([\w.]+)\s*(?::[^=]+)?=(?!=)")


class Uses(Struct, frozen=True):
    """The lines that use some names, those of one file together, the most useful files first.

    `whole`: they are all.
    """

    names: tuple[str, ...] = ()
    hits: tuple[Hit, ...] = ()
    whole: bool = True


async def find_uses(run: Run, task: str, files: Sequence[str]) -> Uses:
    """Find the lines that use what a task wants changed everywhere, with one search and within a second.

    A line uses a file if it holds the file's name, or imports that name without its ending.
    """
    names = names_to_change(task)
    patterns = {name: _pattern_of(name) for name in names if "." not in name or named_paths([name], files)}
    if not patterns:
        return Uses()
    query = Query("|".join(pattern.pattern for pattern in patterns.values()), in_order=False)
    try:
        every, whole = await asyncio.wait_for(_search(run, query, files), 2 * _LIMITS.seconds)
    except TimeoutError:  # without an engine, in a large tree
        return Uses()
    hits = [hit for hit in every if kind_of(hit.path) != "secret"]
    lines = {name: [hit for hit in hits if pattern.search(hit.text)] for name, pattern in patterns.items()}
    held = tuple(
        name
        for name, own in lines.items()
        if 0 < len(own) <= _MANY or any(_defines(hit, [name]) for hit in own)
    )
    defining = {hit.path for hit in hits if _defines(hit, held)}
    kept = sorted(
        {hit for name in held for hit in lines[name]},
        key=lambda hit: (hit.path not in defining, _KINDS.index(kind_of(hit.path)), hit.path, hit.line),
    )
    return Uses(held, tuple(kept), whole)


async def _search(run: Run, query: Query, files: Sequence[str]) -> tuple[list[Hit], bool]:
    """The lines and whether these are all, quickly; of too many the first ones, the same at each search."""
    hits, whole = await find_lines(run, query, files, _LIMITS)
    if whole or len(hits) <= _MANY:
        return hits, whole
    return await find_lines(run, replace(query, in_order=True), files, _LIMITS)


def _pattern_of(name: str) -> re.Pattern[str]:
    """The pattern of the lines that use a name, or a file by its path, in the dialects of all engines."""
    base = basename(name)
    stem = splitext(base)[0]
    if stem == base:
        return re.compile(rf"\b{re.escape(name)}\b")
    return re.compile(rf"\b{re.escape(base)}\b|\b{_IMPORTS}\b.*\b{re.escape(stem)}\b")


def _defines(hit: Hit, names: Sequence[str]) -> bool:
    assigned = _ASSIGNED.match(hit.text)
    defined = {*find_defined(hit.text), assigned[1].rpartition(".")[2] if assigned else ""}
    return not defined.isdisjoint(names)


def show_uses(uses: Uses, room: int, below: Collection[str] = ()) -> str:
    """The lines, below the path of their file, in at most `room` tokens; what does not fit is counted.

    `below`: files that follow as a whole, so that their lines need not be repeated.
    """
    every = {path: tuple(hits) for path, hits in groupby(uses.hits, key=lambda hit: hit.path)}
    files = {_shown(path): hits for path, hits in every.items() if path not in below}
    number = len(uses.hits)
    follow = number - sum(map(len, files.values()))
    names, total = ", ".join(uses.names), _count(number) if uses.whole else f"at least {_count(number)}"
    counts = f"{number} shown" + (f", {number} below" if follow else "")
    left = room - _cost(f"{USES} ({names}: {total}, {counts})") - _cost(_others(number, number))
    listed = list[str]()
    spare = left // 2  # the other half is for lines
    for path, hits in files.items():
        spare -= _cost(_counted(path, hits))
        if spare < 0:
            break
        listed.append(path)
    if not listed:
        return ""
    left -= sum(_cost(_counted(path, files[path])) for path in listed)
    told, shown = list[str](), 0
    for path in listed:
        hits = files[path]
        fitting = _that_fit(sorted(hits, key=lambda hit: not _defines(hit, uses.names)), left)
        left -= sum(_cost(_row(hit)) for hit in fitting)
        shown += len(fitting)
        told += [path if len(fitting) == len(hits) else _counted(path, hits), *map(_row, fitting)]
    if more := [path for path in files if path not in listed]:
        told.append(_others(len(more), sum(len(files[path]) for path in more)))
    every_one = shown + follow == number > 1 and uses.whole
    extent = f"all {total}" if every_one else f"{total}, {shown} shown"
    extent += f", {follow} below" if follow else ""
    return "\n".join((f"{USES} ({names}: {extent})", *told))


def _that_fit(hits: Iterable[Hit], room: int) -> list[Hit]:
    """The first of the lines, as many as fit, in the order of the file."""
    fitting = list[Hit]()
    for hit in hits:
        room -= _cost(_row(hit))
        if room < 0:
            break
        fitting.append(hit)
    return sorted(fitting, key=lambda hit: hit.line)


def _shown(path: str) -> str:
    return path if path.isprintable() else ascii(path)


def _row(hit: Hit) -> str:
    return f"{hit.line}: {hit.text if len(hit.text) <= _WIDEST else f'{hit.text[:_WIDEST]}...'}"


def _count(lines: int) -> str:
    return f"{lines} line{'s' * (lines != 1)}"


def _counted(path: str, hits: Sequence[Hit]) -> str:
    return f"{path} ({_count(len(hits))})"


def _others(files: int, lines: int) -> str:
    return f"... {_count(lines)} in {files} more file{'s' * (files != 1)}"


def _cost(row: str) -> int:
    return estimate_tokens(row + "\n")
