"""The tests of a file for jest and vitest: titles, tables, and which row of a table a report means."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from kith.core.patterns import lazy_pattern
from kith.gates.suites import Part

JS_ENDINGS: Final = (".js", ".jsx", ".ts", ".tsx", ".cjs", ".mjs", ".cts", ".mts")
BETWEEN: Final = " > "  # the titles of suites and test, as vitest prints them
_ROW: Final = ", "  # the values of a row, behind its test's name

_CALL: Final = lazy_pattern(
    r"(?<![\w.$])(?P<kind>test|it|fit|xit|xtest|describe|fdescribe|xdescribe|suite)(?P<how>(?:\.\w+)*)"
    r"\s*(?:<[^()\n;]{0,200}>\s*)?(?=[(`])"
)
_TITLE: Final = lazy_pattern(
    r"\(\s*(?:(?P<quote>['\"])(?P<text>(?:\\.|(?!(?P=quote))[^\\\n])*)(?P=quote)"
    r"|`(?P<shape>(?:\\.|[^`\\])*)`|(?:\w+\.)*(?P<name>[A-Za-z_$][\w$]*)\s*,)",
    re.S,
)
# What brackets must not be counted in, then the brackets.
_TOKEN: Final = lazy_pattern(
    r"//[^\n]*|/\*(?:.*?\*/|.*)|\"(?:\\.|[^\"\\\n]){0,2000}+\"|'(?:\\.|[^'\\\n]){0,2000}+'|`(?:\\.|[^`\\])*+`?|[()]",
    re.S,
)
_VALUE: Final = lazy_pattern(r"%[psdifjoOc#$]|\$\{[^}]*\}|\$#|\$[A-Za-z_]\w*(?:\.\w+)*")
_SPACE: Final = lazy_pattern(r"\s*")
_ASSERTING: Final = lazy_pattern(r"\b(?:expect|assert)\w*\s*[.(]")


class _Call(Struct, frozen=True):
    """One `test`, `it` or `describe` with the whole call, from its word to its last bracket.

    Its title is between `body` and `inside`: a table is before that.
    """

    title: str
    start: int
    body: int
    inside: int
    end: int
    is_test: bool


def is_js(path: str) -> bool:
    """True for a source of JavaScript or TypeScript."""
    return path.lower().endswith(JS_ENDINGS)


def find_js(source: bytes) -> tuple[Part, ...]:
    """Each test under the titles of its suites, its text without its own title; a table is one test."""
    text = source.decode("utf-8", "replace")
    found, around = list[Part](), list[_Call]()
    done = place = 0
    for call in _calls(text):
        while around and around[-1].end < call.start:
            around.pop()
        if not call.is_test:
            around.append(call)
            continue
        place += len(text[done : call.start].encode())
        done = call.start
        name = BETWEEN.join(each.title for each in (*around, call))
        end = place + len(text[call.start : call.end].encode())
        asserts = bool(_ASSERTING.search(text, call.start, call.end))
        said = text[call.start : call.body] + text[call.inside : call.end]
        found.append(Part(name, place, end, asserts, said))
    return tuple(found)


def beside_tests(source: bytes | None) -> str:
    """The text of a file around its tests: what they share, and tables of whole suites."""
    text = (source or b"").decode("utf-8", "replace")
    for call in reversed(list(_calls(text))):
        if call.is_test:
            text = text[: call.start] + text[call.end :]
    return text


def find_templates(source: bytes) -> tuple[str, ...]:
    """The titles of a file that hold values: those of tables, and of tests made in loops."""
    titles = {call.title for call in _calls(source.decode("utf-8", "replace")) if _VALUE.search(call.title)}
    return tuple(sorted(titles, key=len, reverse=True))


def name_test(titles: Sequence[str], templates: Iterable[str]) -> str:
    """A test's name by its reported titles; of a row `sums > adds %i and %i[1, 2]`."""
    names, values = list[str](), list[str]()
    for title in titles:
        name, found = next(_rows(title, templates), (title, ()))
        names.append(name)
        values += found
    return BETWEEN.join(names) + (f"[{_ROW.join(values)}]" if values else "")


def pattern_of(name: str) -> str:
    """A pattern for `-t` of a test by its name here; of a row it takes the whole table."""
    table, values = _split(name)
    parts = (re.sub(r"([.^$*+?()\[\]{}|\\])", r"\\\1", each) for each in _VALUE.split(table))
    unsure = "" if table == name or values else ".*"
    return ".*".join(parts).replace(BETWEEN, " (?:> )?") + unsure


def title_of(name: str) -> str:
    """The last title as the runner prints it, with the values of a row."""
    table, values = _split(name)
    rest = iter(values)
    return _VALUE.sub(lambda value: next(rest, value[0]), table).rpartition(BETWEEN)[2]


def _split(name: str) -> tuple[str, Sequence[str]]:
    """A name without its row, and the values; these are not told apart where one holds a comma."""
    places = [each.start() for each in re.finditer(r"\[", name)] if name.endswith("]") else []
    tables = [place for place in places if _VALUE.search(name, 0, place)]
    for place in tables:
        values = name[place + 1 : -1].split(_ROW)
        if len(_VALUE.findall(name, 0, place)) == len(values):
            return name[:place], values
    return (name[: tables[0]] if tables else name), ()


def _rows(title: str, templates: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for template in templates:
        values = _values(title, _VALUE.split(template))
        if values is not None:
            yield template, values


def _values(title: str, parts: Sequence[str]) -> tuple[str, ...] | None:
    """The texts between the parts of a template, each as short as can be; None where they do not fit."""
    first, *between, last = parts
    place, end = len(first), len(title) - len(last)
    if not title.startswith(first) or not title.endswith(last) or end < place:
        return None
    values = []
    for part in between:
        at = title.find(part, place, end)
        if at < 0:
            return None
        values.append(title[place:at])
        place = at + len(part)
    return (*values, title[place:end])


def _calls(text: str) -> Iterator[_Call]:
    """Each call in the order of the text; what is commented out or quoted is none."""
    ends, quiet = _read_tokens(text)
    spans = iter([*quiet, (len(text) + 1, len(text) + 1)])
    begin, end = next(spans)
    for found in _CALL.finditer(text):
        while end <= found.start():
            begin, end = next(spans)
        if begin <= found.start():
            continue
        opening = found.end()
        if found["how"].endswith((".each", ".for")):
            behind = _SPACE.match(text, ends[opening]) if opening in ends else None
            opening = behind.end() if behind else len(text)
        title = _TITLE.match(text, opening) if opening in ends else None
        if title:
            told = title["text"] or title["shape"] or title["name"] or ""
            plain = re.sub(r"\\(.)", r"\1", told, flags=re.S)
            kind = found["kind"].removeprefix("f").removeprefix("x")
            is_test = kind in ("test", "it")
            yield _Call(plain, found.start(), opening, title.end(), ends[opening], is_test)


def _read_tokens(text: str) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """The end of each pair of brackets and of each template by its start; comments and strings."""
    ends, quiet, waiting = dict[int, int](), list[tuple[int, int]](), list[int]()
    for token in _TOKEN.finditer(text):
        if token[0] == "(":
            waiting.append(token.start())
        elif token[0] == ")":
            if waiting:
                ends[waiting.pop()] = token.end()
        else:
            quiet.append(token.span())
            if token[0][0] == "`":
                ends[token.start()] = token.end()
    return ends, quiet
