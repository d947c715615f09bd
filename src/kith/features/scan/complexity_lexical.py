"""The complexity of functions in languages with braces, estimated from their tokens alone."""

import re
from collections.abc import Iterator
from typing import Final

from kith.context.source import blank_out
from kith.features.scan.function_measure import FunctionMeasure

_TOKEN: Final = re.compile(r"[A-Za-z_$][\w$]*|[{}();]|&&|\|\||\?(?![?.:,)>])|\n")
_PREPROCESSOR: Final = re.compile(r"^[ \t]*+\#(?:[^\\\n]++|\\.)*+", re.M | re.S)
_LOOPS_AND_IFS: Final = frozenset({"if", "for", "foreach", "while", "loop", "catch", "guard"})
_CHOICES: Final = frozenset({"switch", "match", "when", "select"})
_LEVELS: Final = _LOOPS_AND_IFS | _CHOICES | {"try", "do"}
_BRANCHES: Final = (_LOOPS_AND_IFS - {"loop"}) | {"case", "&&", "||", "?"}
# What may stand before parentheses without being a function's name.
_NO_NAMES: Final = _LEVELS | {"else", "return", "throw", "function", "fn", "func", "fun", "defined"}
_INNER: Final = r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)"
_HEADER: Final = re.compile(
    r"(?<!\bnew )(?<![\w$])([A-Za-z_$~][\w$]*(?:::~?[A-Za-z_$][\w$]*)*)"
    rf"[ \t\n]*(?:<[^()<>]*>)?[ \t\n]*{_INNER}"
)
_PARAMETERS: Final = re.compile(_INNER)
_ASSIGNED: Final = re.compile(r"([A-Za-z_$][\w$]*)\s*(?::[^=]*)?=\s*(?:async\b|function\b|\(|[\w$]+\s*=>)")
_TYPE: Final = re.compile(
    r"\b(?:class|struct|enum|union|interface|trait|impl|namespace|mod|object|extern)\b[^(]*$"
)
_LONGEST: Final = 1_000  # characters before a brace that may be a function's head
_SELF: Final = frozenset({"", "void", "self", "mut self", "&self", "&mut self"})


class _Open:
    """What a brace opened: a function (which has a name), a control structure, or anything else."""

    def __init__(
        self,
        name: str = "",
        first: int = 0,
        parameters: int = 0,
        *,
        is_level: bool = False,
        before: tuple[int, int] | None = None,
    ) -> None:
        self.name, self.first, self.parameters = name, first, parameters
        self.is_level, self.before = is_level, before
        self.cyclomatic, self.cognitive, self.nesting, self.depth = 1, 0, 0, 0

    def enter(self) -> None:
        self.depth += 1
        self.nesting = max(self.nesting, self.depth)

    def count(self, token: str) -> None:
        self.cyclomatic += token in _BRANCHES
        if token == "?" or token in _LOOPS_AND_IFS or token in _CHOICES:
            self.cognitive += 1 + self.depth
        elif token in ("&&", "||", "else"):
            self.cognitive += 1

    def measured(self, last: int) -> FunctionMeasure:
        first = min(self.first, last)
        size = last - first + 1
        numbers = (self.cyclomatic, self.cognitive, self.nesting, self.parameters)
        return FunctionMeasure(self.name, first, last, size, *numbers)


def measure_braces(path: str, text: str) -> tuple[FunctionMeasure, ...]:
    """The functions of a text: from a name and parentheses before a brace to the brace that closes it."""
    code = _PREPROCESSOR.sub(lambda match: "\n" * match[0].count("\n"), blank_out(path, text))
    return tuple(_Reading(code).read())


class _Reading:
    """One way through the tokens of a text."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.line = 1
        self.head = 0  # where the words before the next brace begin
        self.parentheses = 0  # open since there
        self.opened: list[_Open] = []
        self.functions: list[_Open] = []  # those of `opened` that are functions, the innermost last

    def read(self) -> Iterator[FunctionMeasure]:
        for match in _TOKEN.finditer(self.code):
            token = match[0]
            if token == "\n":
                self.line += 1
            elif token == "{":
                self.open_brace(match.start())
            elif token == "}":
                yield from self.close_brace(match.end())
            elif token in "()":
                self.parentheses = max(0, self.parentheses + (1 if token == "(" else -1))
            elif token == ";":
                if not self.parentheses:
                    self.head = match.end()
            elif self.functions:
                self.functions[-1].count(token)

    def open_brace(self, at: int) -> None:
        head = self.code[max(self.head, at - _LONGEST) : at]
        if self.parentheses and head.rstrip().endswith((*"=:,([",)):
            # A literal among arguments, or a parameter's default: what stands before it goes on after it.
            self.opened.append(_Open(before=(self.head, self.parentheses)))
            return
        here = _open(head, self.line)
        self.opened.append(here)
        if here.name:
            self.functions.append(here)
        elif here.is_level and self.functions:
            self.functions[-1].enter()
        self.head, self.parentheses = at + 1, 0

    def close_brace(self, end: int) -> Iterator[FunctionMeasure]:
        closed = self.opened.pop() if self.opened else _Open()
        if closed.name:
            yield self.functions.pop().measured(self.line)
        elif closed.is_level and self.functions:
            self.functions[-1].depth -= 1
        self.head, self.parentheses = closed.before or (end, 0)


def _open(head: str, line: int) -> _Open:
    """What a brace on this line opens, by the words before it."""
    first_word = re.search(r"\w+", head)
    if first_word and (first_word[0] in _LEVELS or first_word[0] == "else"):
        return _Open(is_level=True)
    stripped = head.rstrip()
    assigned = _ASSIGNED.search(head)
    if assigned and (stripped.endswith("=>") or "function" in stripped):
        named, name, parameters = assigned, assigned[1], head[assigned.start() :]
    else:
        found = next((each for each in _HEADER.finditer(head) if each[1] not in _NO_NAMES), None)
        if found is None or _TYPE.search(head[: found.start()]) or "=" in head[: found.start()]:
            return _Open(is_level=bool(_LEVELS.intersection(re.findall(r"\w+", head[-200:]))))
        if stripped.endswith((",", "=", "(", ":")):
            return _Open()
        named, name, parameters = found, found[1], found[0]
    return _Open(name, line - head.count("\n", named.start()), _count_parameters(parameters))


def _count_parameters(text: str) -> int:
    listed = _PARAMETERS.search(text)
    parts = re.sub(r"\([^()]*\)|<[^<>]*>", "", listed[1]).split(",") if listed else []
    return sum(part.strip() not in _SELF for part in parts)
