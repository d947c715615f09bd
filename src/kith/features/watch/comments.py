"""AI comments in source text: comments of one line that begin or end with `AI!`, `AI?` or `AI`."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final, Literal

from msgspec import Struct

from kith.context.source import DASHED, HASHED, MARKED_UP, language_of

Kind = Literal["do", "ask", "note"]
_KINDS: Final[dict[str, Kind]] = {"!": "do", "?": "ask", "": "note"}
_LONGEST: Final = 2_000  # characters of a line: a longer one is generated
_ENDS: Final = r"(?:-->|--\}\}|\*+/|\*\)|#\}|\})?"  # of comments that have an end on the same line
_MAY_HOLD: Final = re.compile(rb"\bai\b", re.IGNORECASE)
_BEGINS: Final = re.compile(r"(?:ai ?(?P<sign>[!?])(?![!?])|(?-i:AI:))\s*", re.IGNORECASE)
_FINISHES: Final = re.compile(r"(?<![\w-])(?:ai ?(?P<sign>[!?])|(?-i:AI))$", re.IGNORECASE)


class AiComment(Struct, frozen=True):
    """One AI comment: `text` is all of it, as it is in the file; `words` are those without the sign."""

    path: str
    line: int
    kind: Kind
    text: str
    words: str

    @property
    def key(self) -> tuple[str, str]:
        """The comment, wherever in the file it has moved to."""
        return self.path, self.text

    @property
    def meaning(self) -> str:
        """The comment without its form, which a formatter may change."""
        return f"{self.kind} {' '.join(self.words.casefold().split())}"


def find_comments(path: str, content: bytes) -> tuple[AiComment, ...]:
    """The AI comments of a file, from top to bottom."""
    if not _MAY_HOLD.search(content) or b"\0" in content:
        return ()
    lines = content.decode("utf-8", "replace").split("\n")
    pattern = _comment_in(language_of(path, lines[0]))
    found = []
    for number, line in enumerate(lines, 1):
        if len(line) > _LONGEST or "ai" not in line.lower():
            continue
        if (comment := pattern.search(line)) and (read := _read(comment["body"])):
            kind, words = read
            found.append(AiComment(path, number, kind, comment["all"].strip(), words))
    return tuple(found)


def _read(body: str) -> tuple[Kind, str] | None:
    """The kind of a comment and its words; None for one that is not for kith."""
    if begin := _BEGINS.match(body):
        return _KINDS[begin["sign"] or ""], body[begin.end() :].strip()
    if end := _FINISHES.search(body):
        return _KINDS[end["sign"] or ""], body[: end.start()].rstrip(" \t,;:-")
    return None


@cache
def _comment_in(language: str) -> re.Pattern[str]:
    """A comment that is all of a line, or its end."""
    marks = [re.escape(mark) + f"{re.escape(mark[-1])}*" for mark in _comment_marks(language)]
    if not marks:
        return re.compile(r"(?!)(?P<all>)(?P<body>)")
    return re.compile(
        rf"(?:^|(?<=[\s;,(){{}}\[\]]))(?P<all>(?:{'|'.join(marks)})\s*(?P<body>.*?)\s*{_ENDS}\s*)$"
    )


def task_words(comments: Iterable[AiComment]) -> str:
    """A task for a model, from comments with one `AI!` at least; its first line is the session's title."""
    own = tuple(comments)
    asked = [each for each in own if each.kind != "note"]
    title = "; ".join(each.words for each in asked if each.words) or "do what the AI comments ask"
    return (
        f"{title}\n\nThis comes from comments that were saved in files:\n{_listed(own)}\n\n"
        f"{_request(own)}Remove these {len(own)} comments with the change, and nothing else that is not "
        "asked for. A comment is removed when its whole text is gone from the file."
    )


def _request(comments: Iterable[AiComment]) -> str:
    if not any(each.kind == "ask" for each in comments):
        return "Do what they ask at these places. "
    return (
        "Answer each comment that asks (AI?) in a comment in its place: short, in the style of the file. "
        "Do what the others ask. "
    )


def question_words(comments: Iterable[AiComment]) -> str:
    """A question for a model, from comments with one `AI?` at least."""
    own = tuple(comments)
    title = "; ".join(each.words for each in own if each.kind == "ask" and each.words)
    return (
        f"{title or 'answer the AI comments'}\n\nThis was asked in comments in files:\n{_listed(own)}\n\n"
        "Answer in a few sentences. Change nothing."
    )


def _listed(comments: Iterable[AiComment]) -> str:
    return "\n".join(f"- {each.path}:{each.line}: {each.text}" for each in comments)


# How comments begin in each language.

_MARKS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(HASHED.split(), ("#",)),
    **dict.fromkeys(DASHED, ("--",)),
    **dict.fromkeys(MARKED_UP, ("<!--",)),
    **dict.fromkeys(("HTML", "Svelte", "Vue"), ("<!--", "{#", "{{--", "//", "/*")),
    **dict.fromkeys(("Clojure", "Lisp", "Assembly"), (";", "#")),
    **dict.fromkeys(("Erlang", "LaTeX"), ("%",)),
    "CSS": ("/*", "//"),
    "Fortran": ("!",),
    "INI": ("#", ";"),
    "Nix": ("#", "/*"),
    "OCaml": ("(*",),
    "PHP": ("//", "#", "/*"),
    "Pascal": ("//", "{", "(*"),
    "SQL": ("--", "/*", "#"),
    "Text": ("#",),
    "HCL": ("#", "//", "/*"),
    "Visual Basic": ("'",),
    "reStructuredText": ("..",),
    "Jupyter": (),
    "": ("#", "//", "--", ";", "/*", "<!--"),
}
_SLASHES: Final = ("//", "/*")


def _comment_marks(language: str) -> tuple[str, ...]:
    """The beginnings of comments in a language ("": unknown, then the usual ones)."""
    return _MARKS.get(language, _SLASHES)
