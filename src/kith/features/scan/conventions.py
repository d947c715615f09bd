"""Measure a codebase's conventions: only what nearly all of it does is one."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from kith.context.source import NO_CODE, language_of
from kith.context.symbols import parse_python

_MOST: Final = 0.9  # the share from which on something is what people do here
_SHARE: Final = 0.1  # of the text, from which on a language is worth a word
_LINES, _PLACES = 100, 10  # fewer say nothing
_INDENTED: Final = 0.7  # of the lines that go in, since a statement that goes on may do so further
_LIMITS: Final = (72, 79, 80, 88, 90, 96, 99, 100, 110, 120, 132, 140)  # that people set for a line
_WITHIN: Final = 0.998  # of the lines, that keep to the limit
_STRING: Final = re.compile(r"'''|\"\"\"|(?<![\w'\"])[bfru]{0,2}(['\"])(?:(?!\1)[^\\\n])*+\1")
_CONVENTIONAL: Final = re.compile(r"[a-z]+(?:\([^)]+\))?!?: \S")
_TICKET: Final = re.compile(r"^\[?[A-Z][A-Z0-9]+-\d+\b")
_WEBS: Final = frozenset({"JavaScript", "TypeScript"})
_CURLY: Final = frozenset({"C", "C++"})


def find_conventions(texts: Mapping[str, str]) -> tuple[str, ...]:
    """Say in sentences what nearly all of these sources do; each language separately, the largest first."""
    groups: dict[str, dict[str, str]] = defaultdict(dict)
    present = {language_of(path) for path in texts}
    for path, text in texts.items():
        if (language := language_of(path)) and language not in NO_CODE:
            groups[written_in(language, present)][path] = text
    sizes = {language: sum(map(len, sources.values())) for language, sources in groups.items()}
    large = [language for language in sizes if sizes[language] >= _SHARE * sum(sizes.values())]
    told: list[str] = []
    for language in sorted(large, key=lambda language: -sizes[language]):
        sources = groups[language]
        found = [*_layout_of(sources.values()), *_words_of(language, sources)]
        if found:
            told.append(f"{language}: {'; '.join(found)}.")
    return (*told, *_opening_lines(texts.values()))


def written_in(language: str, present: Collection[str]) -> str:
    """The language itself, for headers the one that they belong to among those that are `present`."""
    if not language.endswith(" header"):
        return language
    return "C" if language == "C header" and "C" in present and "C++" not in present else "C++"


# --- any language --------------------------------------------------------------------------------


def _layout_of(texts: Iterable[str]) -> Iterator[str]:
    lines = [line for text in texts for line in text.split("\n")]
    if len(lines) < _LINES:
        return
    if indent := _indent_of(lines):
        yield indent
    if limit := _limit_of(lines):
        yield f"lines of at most {limit} characters"
    if sum(line.endswith("\r") for line in lines) > _MOST * len(lines):
        yield "lines end in CRLF"


def _indent_of(lines: Sequence[str]) -> str:
    """By how much a line goes in where one goes in deeper than the line before: some only continue it."""
    steps: Counter[str] = Counter()
    for before, line in pairwise(line for line in lines if line.strip()):
        outer, inner = (each[: len(each) - len(each.lstrip())] for each in (before, line))
        if len(inner) > len(outer) and inner.startswith(outer):
            steps[inner[len(outer) :]] += 1
    usual = {step: steps[step] for step in ("\t", " " * 2, " " * 4, " " * 8) if steps[step]}
    step = max(usual, key=usual.__getitem__, default="")
    least = _MOST if step == "\t" else _INDENTED
    if not step or usual[step] < max(_PLACES, least * sum(usual.values())):
        return ""
    return "indented with tabs" if step == "\t" else f"indented with {len(step)} spaces"


def _limit_of(lines: Sequence[str]) -> int:
    """The limit that lines keep to and make use of; 0 where they keep to none."""
    lengths = sorted(len(line.rstrip("\r")) for line in lines)
    longest = lengths[int(len(lengths) * _WITHIN) - 1]
    limit = next((each for each in _LIMITS if longest <= each), 0)
    return limit if limit and longest > limit - 10 else 0


def _opening_lines(texts: Iterable[str]) -> Iterator[str]:
    """A line that nearly all files begin with: a licence, most of the time."""
    firsts: Counter[str] = Counter()
    count = 0
    for text in texts:
        if head := [
            line.strip() for line in text.split("\n")[:4] if line.strip() and not line.startswith("#!")
        ]:
            count += 1
            firsts[head[0]] += 1
    line, times = firsts.most_common(1)[0] if firsts else ("", 0)
    if count >= _PLACES and times > 0.8 * count and len(line) > 10:
        yield f"Each file begins with `{line}`."


# --- one language --------------------------------------------------------------------------------


def _words_of(language: str, sources: Mapping[str, str]) -> Iterator[str]:
    if language == "Python":
        yield from _python(sources)
    elif language in _WEBS:
        yield from _web(sources.values())
    elif language in _CURLY:
        yield from _curly(sources)


def _python(sources: Mapping[str, str]) -> Iterator[str]:
    trees = [tree for text in sources.values() if (tree := parse_python(text))]
    functions = [
        node
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    public = [node for node in functions if not node.name.startswith(("_", "test"))]
    if _mostly(node.returns is not None for node in functions):
        yield "functions are annotated with types"
    if _mostly(ast.get_docstring(node) is not None for node in public):
        yield "public functions have docstrings"
    if quotes := _quotes(sources.values()):
        yield quotes
    imports = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    own = {path.split("/")[-2] for path in sources if "/" in path} | {path.split("/")[0] for path in sources}
    inside = [node for node in imports if node.level or (node.module or "").split(".")[0] in own]
    if _mostly(node.level > 0 for node in inside):
        yield "imports inside the package are relative"
    elif _mostly(node.level == 0 for node in inside):
        yield "imports inside the package are absolute"
    future = (
        any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
        for tree in trees
        if tree.body
    )
    if _mostly(future):
        yield "modules begin with `from __future__ import annotations`"


def _web(texts: Iterable[str]) -> Iterator[str]:
    held = list(texts)
    if quotes := _quotes(held):
        yield quotes
    ends = [line.rstrip()[-1] for text in held for line in text.split("\n") if _ends_statement(line)]
    if _mostly(end == ";" for end in ends):
        yield "statements end in semicolons"
    elif _mostly(end != ";" for end in ends):
        yield "no semicolons"
    modules = [
        "import " in line
        for text in held
        for line in text.split("\n")
        if re.match(r"(?:import\b.*\bfrom\b|(?:const|var|let) .*= require\()", line)
    ]
    if _mostly(not each for each in modules):
        yield "modules are loaded with require"


def _ends_statement(line: str) -> bool:
    return bool(
        re.match(r"\s*(?:return\b|const |let |var |import |[\w.]+\()[^{]*[;\w)'\"`\]]$", line.rstrip())
    )


def _curly(sources: Mapping[str, str]) -> Iterator[str]:
    headers = [text for path, text in sources.items() if re.search(r"\.h(?:h|pp|xx)?$", path)]
    if _mostly("#pragma once" in text for text in headers):
        yield "headers begin with #pragma once"
    elif _mostly(bool(re.search(r"^#ifndef \w+\s*\n#define ", text, re.M)) for text in headers):
        yield "headers have include guards"
    braces = [
        line.strip() == "{"
        for text in sources.values()
        for line in text.split("\n")
        if line.strip() == "{" or re.search(r"\)\s*(?:const\s*)?\{$", line)
    ]
    if _mostly(braces):
        yield "opening braces are on a line of their own"
    elif _mostly(not each for each in braces):
        yield "opening braces end the line"


def _quotes(texts: Iterable[str]) -> str:
    marks: Counter[str] = Counter(found[1] for text in texts for found in _STRING.finditer(text) if found[1])
    total = marks["'"] + marks['"']
    for mark, name in (('"', "double"), ("'", "single")):
        if total >= _PLACES and marks[mark] >= _MOST * total:
            return f"strings in {name} quotes"
    return ""


def _mostly(answers: Iterable[bool]) -> bool:
    """Tell whether nearly all of enough answers are yes."""
    held = list(answers)
    return len(held) >= _PLACES and sum(held) >= _MOST * len(held)


# --- commits -------------------------------------------------------------------------------------


def find_commit_style(messages: Sequence[str]) -> tuple[str, ...]:
    """Say in sentences what nearly all messages of commits have in common."""
    subjects = [message.strip().partition("\n")[0] for message in messages if message.strip()]
    told = []
    if _mostly(bool(_CONVENTIONAL.match(each)) for each in subjects):
        kinds = Counter(re.split(r"[(!:]", each)[0] for each in subjects if _CONVENTIONAL.match(each))
        common = ", ".join(f"{kind}:" for kind, _ in kinds.most_common(4))
        told.append(f"Subjects of commits begin with a kind ({common}).")
    elif _mostly(bool(_TICKET.match(each)) for each in subjects):
        told.append("Subjects of commits begin with the number of an issue.")
    elif _mostly(each[:1].isupper() and not each.endswith(".") for each in subjects):
        told.append("Subjects of commits begin with a capital and end without a full stop.")
    if _mostly("\nSigned-off-by: " in message for message in messages):
        told.append("Commits are signed off (`git commit -s`).")
    return tuple(told)
