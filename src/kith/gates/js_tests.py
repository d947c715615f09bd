"""The tests of a file for jest and vitest: titles, tables, and which row of a table a report means."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, field

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
# What brackets must not be counted in, then the brackets; a slash alone may begin a regular expression.
_TOKEN: Final = lazy_pattern(
    r"//[^\n]*|/\*(?:.*?\*/|.*)|\"(?:\\.|[^\"\\\n]){0,2000}+\"|'(?:\\.|[^'\\\n]){0,2000}+'|`(?:\\.|[^`\\])*+`?|[()/]",
    re.S,
)
_REGEX: Final = lazy_pattern(r"/(?:\\[^\n]|\[(?:\\[^\n]|[^\]\\\n]){0,120}+\]|[^/\\\n\[]){1,2000}+/")
_BEFORE_REGEX: Final = "(,=:[!&|?{;"
_NOT_AT_BEGIN: Final = " =>"  # of a regular expression where one may also divide, or a tag of JSX may end
_MOST_BRACKETS: Final = 50  # of a name, that may begin its row
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
    is_template: bool


class _Template(Struct, frozen=True):
    """A title with values, as the texts between them. `fixed`: how much of it is always the same."""

    title: str
    parts: tuple[str, ...]
    fixed: int
    inside: "_Titles"


class _Titles(Struct):
    """Titles of one level by their text, each with those inside it. `ends`: a test may end here."""

    plain: dict[str, "_Titles"] = field(default_factory=dict)
    templates: dict[str, _Template] = field(default_factory=dict)
    ends: bool = False

    def add(self, call: _Call) -> "_Titles":
        if not call.is_template:
            return self.plain.setdefault(call.title, _Titles())
        if call.title not in self.templates:
            parts = tuple(_VALUE.split(call.title))
            fixed = _fixed("".join(parts))
            self.templates[call.title] = _Template(call.title, parts, fixed, _Titles())
        return self.templates[call.title].inside

    def sort(self) -> None:
        """Let the templates that say most come first."""
        self.templates = dict(sorted(self.templates.items(), key=lambda each: -each[1].fixed))


class FileTitles(Struct):
    """The titles of a file: from suite to test as the file has them, and those of all suites and tests."""

    nested: _Titles = field(default_factory=_Titles)
    suites: _Titles = field(default_factory=_Titles)
    tests: _Titles = field(default_factory=_Titles)


def is_js(path: str) -> bool:
    """True for a source of JavaScript or TypeScript."""
    return path.lower().endswith(JS_ENDINGS)


def find_js(source: bytes) -> tuple[Part, ...]:
    """Each test under the titles of its suites, its text without its own title; a table is one test."""
    text = source.decode("utf-8", "replace")
    found = list[Part]()
    done = place = 0
    for *around, call in _tests(text):
        place += len(text[done : call.start].encode())
        done = call.start
        name = BETWEEN.join(each.title for each in (*around, call) if each.title)
        end = place + len(text[call.start : call.end].encode())
        asserts = bool(_ASSERTING.search(text, call.start, call.end))
        said = text[call.start : call.body] + text[call.inside : call.end]
        found.append(Part(name, place, end, asserts, said))
    return tuple(found)


def _tests(text: str) -> Iterator[list[_Call]]:
    """Each test behind the suites around it."""
    around = list[_Call]()
    for call in _calls(text):
        while around and around[-1].end < call.start:
            around.pop()
        if call.is_test:
            yield [*around, call]
        else:
            around.append(call)


def beside_tests(source: bytes | None) -> str:
    """The text of a file around its tests: what they share, and tables of whole suites, without titles."""
    text = (source or b"").decode("utf-8", "replace")
    said, done = list[str](), 0
    for call in _calls(text):
        if call.start >= done:
            start, end = (call.start, call.end) if call.is_test else (call.body, call.inside)
            said.append(text[done:start])
            done = end
    return "".join([*said, text[done:]])


def find_titles(source: bytes) -> FileTitles:
    """The titles of a file. Those that hold values are of tables, or of tests made in loops."""
    found = FileTitles()
    levels = {id(each): each for each in (found.nested, found.suites, found.tests)}
    for *around, call in _tests(source.decode("utf-8", "replace")):
        level = found.nested
        for each in (*around, call):
            level = level.add(each) if each.title else level
            levels[id(level)] = level
            (found.tests if each.is_test else found.suites).add(each)
        level.ends = True
    for level in levels.values():
        level.sort()
    return found


def name_test(titles: Sequence[str], known: FileTitles) -> str:
    """A test's name by its reported titles; of a row `sums > adds %i and %i[1, 2]`.

    A title that the file holds as it is comes before a template. Where the file does not show how titles
    belong together, a template must hold some text of its own.
    """
    steps = _walk(known.nested, titles)
    if steps is None:
        levels = (*(known.suites for _ in titles[1:]), known.tests)
        steps = [_alone(level, title) for level, title in zip(levels, titles, strict=False)]
    name = BETWEEN.join(title for title, _ in steps)
    if not any(values for _, values in steps):
        return name
    return f"{name}[{_ROW.join(each for title, values in steps for each in values or _VALUE.findall(title))}]"


def _walk(level: _Titles, titles: Sequence[str]) -> list[tuple[str, Sequence[str]]] | None:
    """The way through the titles of a file that fits the reported ones, the most literal one."""
    if not titles:
        return [] if level.ends else None
    title, rest = titles[0], titles[1:]
    if title in level.plain and (way := _walk(level.plain[title], rest)) is not None:
        return [(title, ()), *way]
    for each in level.templates.values():
        values = _values(title, each.parts)
        if values is not None and (way := _walk(each.inside, rest)) is not None:
            return [(each.title, values), *way]
    return None


def _alone(level: _Titles, title: str) -> tuple[str, Sequence[str]]:
    if title not in level.plain:
        for each in level.templates.values():
            if each.fixed and (values := _values(title, each.parts)) is not None:
                return each.title, values
    return title, ()


def _fixed(text: str) -> int:
    return len(re.sub(r"[\s>]", "", text))


def selects_all(name: str) -> bool:
    """True for the name of a row whose table has a title without any text of its own, in no other suite."""
    table, _ = _split(name)
    return not _fixed(_VALUE.sub("", table))


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
    if not name.endswith("]"):
        return name, ()
    ends = [each.end() for each in _VALUE.finditer(name)]
    first = name.find("[", ends[0]) if ends else -1
    place = first
    for _ in range(_MOST_BRACKETS):
        if place < 0:
            break
        if name.count(_ROW, place + 1, -1) + 1 == bisect_right(ends, place):
            return name[:place], name[place + 1 : -1].split(_ROW)
        place = name.find("[", place + 1)
    return (name if first < 0 else name[:first]), ()


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
        is_table = found["how"].endswith((".each", ".for"))
        if is_table:
            behind = _SPACE.match(text, ends[opening]) if opening in ends else None
            opening = behind.end() if behind else len(text)
        title = _TITLE.match(text, opening) if opening in ends else None
        if title:
            told = title["text"] or title["shape"] or title["name"] or ""
            plain = re.sub(r"\\(.)", r"\1", told, flags=re.S)
            kind = found["kind"].removeprefix("f").removeprefix("x")
            holds = title["shape"] is not None and "${" in plain
            is_template = (holds or is_table) and bool(_VALUE.search(plain))
            place = found.start(), opening, title.end(), ends[opening]
            yield _Call(plain, *place, kind in ("test", "it"), is_template)


def _read_tokens(text: str) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """The end of each pair of brackets and of each template by its start; comments, strings and the like."""
    ends, quiet, waiting = dict[int, int](), list[tuple[int, int]](), list[int]()
    place = 0
    while token := _TOKEN.search(text, place):
        place = token.end()
        if token[0] == "/":
            regex = _REGEX.match(text, token.start()) if _may_be_regex(text, token.start()) else None
            if regex:
                quiet.append(regex.span())
                place = regex.end()
        elif token[0] == "(":
            waiting.append(token.start())
        elif token[0] == ")":
            if waiting:
                ends[waiting.pop()] = token.end()
        else:
            quiet.append(token.span())
            if token[0][0] == "`":
                ends[token.start()] = token.end()
    return ends, quiet


def _may_be_regex(text: str, slash: int) -> bool:
    """True for a slash where a value may begin: behind a sign, `return`, or at the begin of a line."""
    at = slash
    while at and text[at - 1] in " \t\r":
        at -= 1
    if not at or text[at - 1] in "\n}":
        return text[slash + 1 : slash + 2] not in _NOT_AT_BEGIN
    return text[at - 1] in _BEFORE_REGEX or text.endswith(("=>", "return"), 0, at)
