"""Code in colour, line by line as it arrives: pygments' rules, whose state is kept from line to line."""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any, Final

from kith.terminal.rendering.spans import Line, Span, merged

_LONGEST: Final = 1_000  # characters of a line; beyond it a text was written by no person
_DOCSTRING: Final = '"""'
_STANDSTILL: Final = 50  # rules in a row that match nothing: a language's own fault
_ALIASES: Final = {
    **dict.fromkeys(("py", "python3", "pyi"), "python"),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs", "node"), "javascript"),
    **dict.fromkeys(("ts", "tsx"), "typescript"),
    **dict.fromkeys(("sh", "shell", "zsh"), "bash"),
    **dict.fromkeys(("c++", "cc", "cxx", "hpp", "hh", "h"), "cpp"),
    **dict.fromkeys(("yml",), "yaml"),
    **dict.fromkeys(("htm", "svg"), "html"),
    **dict.fromkeys(("md",), "markdown"),
    **dict.fromkeys(("jsonc", "json5"), "json"),
    **dict.fromkeys(("patch",), "diff"),
    **dict.fromkeys(("cfg", "conf"), "ini"),
    **dict.fromkeys(("mk",), "make"),
    "rs": "rust",
    "rb": "ruby",
    "kt": "kotlin",
    "cs": "csharp",
    "dockerfile": "docker",
}
_PLAIN: Final = frozenset(("", "text", "txt", "plain", "plaintext", "output", "none", "markdown", "md"))
_ROLES: Final = (
    ("Comment", "code.comment"),
    ("Keyword", "code.keyword"),
    ("Word", "code.keyword"),
    ("String", "code.string"),
    ("Number", "code.number"),
    ("Inserted", "diff.added"),
    ("Deleted", "diff.removed"),
    ("Subheading", "diff.place"),
)
_DEFINES: Final = ("Name.Function", "Name.Class", "Name.Tag", "Name.Decorator")
_C_LIKE: Final = (
    *("c", "cpp", "java", "javascript", "typescript", "go", "csharp", "css", "scss"),
    *("sql", "swift", "scala", "php"),
)
_COMMENTS: Final = dict.fromkeys(_C_LIKE, ("/*", "*/")) | {
    "html": ("<!--", "-->"),
    "xml": ("<!--", "-->"),
}


class Colours:
    """The colours of one text, given a line at a time; a copy goes its own way."""

    def __init__(self, language: str) -> None:
        name = _ALIASES.get(language.lower(), language.lower())
        self._lexer = _lexer_of(name)
        self._stack: list[str] = ["root"]
        self._opening, self._closing = _COMMENTS.get(name, ("", ""))
        self._in_comment = False

    def copy(self) -> "Colours":
        """The same state, to go on from twice."""
        other = Colours.__new__(Colours)
        other._lexer, other._stack = self._lexer, list(self._stack)
        other._opening, other._closing = self._opening, self._closing
        other._in_comment = self._in_comment
        return other

    def take(self, line: str) -> Line:
        """One line, without its end, as spans with the roles of code."""
        if self._lexer is None or len(line) > _LONGEST:
            return (Span(line, "code.text"),) if line else ()
        head: list[Span] = []
        if self._in_comment:
            inside, mark, line = line.partition(self._closing)
            head, self._in_comment = [Span(inside + mark, "code.comment")], not mark
            if not mark:
                return merged(head)
        before = list(self._stack)
        spans = list(self._lex(line))
        at = self._opened(spans)
        if at is not None:
            self._stack, self._in_comment = before, True
            spans = [*self._lex(line[:at]), Span(line[at:], "code.comment")]
        return merged([*head, *spans])

    def _opened(self, spans: list[Span]) -> int | None:
        """The start of a comment that does not end in this line."""
        at = 0
        line = "".join(span.text for span in spans)
        while self._opening and (at := line.find(self._opening, at)) >= 0:
            end = line.find(self._closing, at + len(self._opening))
            if not self._is_quoted(spans, at):
                if end < 0:
                    return at
                at = end
            at += 1
        return None

    def _is_quoted(self, spans: list[Span], at: int) -> bool:
        """True inside a string, and behind the beginning of a comment that ends with its line."""
        begin = 0
        for span in spans:
            if at < begin + len(span.text):
                in_comment = span.role == "code.comment" and not span.text.startswith(self._opening)
                return span.role == "code.string" or (in_comment and self._opening not in span.text[:2])
            begin += len(span.text)
        return False

    def _lex(self, line: str) -> Iterator[Span]:
        for kind, word in _tokens(self._lexer, self._stack, f"{line}\n"):
            if word := word.rstrip("\n"):
                yield Span(word, _role_of(kind))


def colour_lines(lines: Sequence[str], language: str) -> list[Line]:
    """Lines that follow one another, each in its colours; they may be a part of a file."""
    read = _read(lines, language)
    if _ALIASES.get(language, language) == "python" and sum(line.count(_DOCSTRING) for line in lines) % 2:
        # A part may begin inside a docstring: right is the reading that finds more code.
        read = max(read, _read((_DOCSTRING, *lines), language)[1:], key=_count_code)
    return read


def language_of(path: str) -> str:
    """A language's name for `Colours`, by the file's name; "" for what has none."""
    name = PurePosixPath(path).name.lower()
    if name in ("dockerfile", "containerfile"):
        return "docker"
    return "make" if name == "makefile" else PurePosixPath(name).suffix[1:]


def _read(lines: Sequence[str], language: str) -> list[Line]:
    colours = Colours(language)
    return [colours.take(line) for line in lines]


def _count_code(lines: Sequence[Line]) -> int:
    return sum(span.role in ("code.keyword", "code.name") for line in lines for span in line)


def _tokens(lexer: Any, stack: list[str], line: str) -> Iterator[tuple[Any, str]]:
    """The tokens of one line; `stack` is read, and left as the line leaves it."""
    regex = import_module("pygments.lexer")
    if not isinstance(lexer, regex.RegexLexer) or isinstance(lexer, regex.ExtendedRegexLexer):
        yield from ((kind, word) for _, kind, word in lexer.get_tokens_unprocessed(line))
        return
    at = still = 0
    while at < len(line):
        match, action, following = _first_rule(lexer, stack[-1], line, at)
        still = 0 if match and match.end() > at else still + 1
        if match is None or still > _STANDSTILL:
            yield "", line[at]
            stack[:] = ["root"] if line[at] == "\n" else stack
            at += 1
            continue
        if callable(action) and not isinstance(action, tuple):
            yield from ((kind, word) for _, kind, word in action(lexer, match))
        elif action is not None:
            yield action, match[0]
        at = match.end()
        _follow(stack, following)


def _first_rule(lexer: Any, state: str, line: str, at: int) -> tuple[re.Match[str] | None, Any, Any]:
    """The first rule of a state that matches there: the match, what it means, and the state that follows."""
    for rule, action, following in lexer._tokens[state]:
        if match := rule(line, at):
            return match, action, following
    return None, None, None


def _follow(stack: list[str], following: Any) -> None:
    """Pygments' ways to name the next state: states to enter, a number of them to leave, `#push`, `#pop`."""
    if following is None:
        return
    if isinstance(following, int):
        del stack[max(len(stack) + following, 1) :]
        return
    for state in (following,) if isinstance(following, str) else following:
        if state != "#pop":
            stack.append(stack[-1] if state == "#push" else state)
        elif len(stack) > 1:
            stack.pop()


@cache
def _lexer_of(name: str) -> Any:
    """Pygments' lexer; None for a language that it does not know, and where it is not there."""
    if name in _PLAIN:
        return None
    try:
        lexers, util = import_module("pygments.lexers"), import_module("pygments.util")
    except ModuleNotFoundError:
        return None
    try:
        return lexers.get_lexer_by_name(name)
    except util.ClassNotFound:
        return None


@lru_cache(512)
def _role_of(kind: Any) -> str:
    """The role for pygments' kind of token, which is called `Token.Name.Function`."""
    name = str(kind).removeprefix("Token.")
    if name.startswith(_DEFINES):
        return "code.name"
    parts = name.split(".")
    return next((role for word, role in _ROLES if word in parts), "code.text")
