"""Foreign words on a forge: they mention nobody, close nothing, draw nothing, and give no command."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kith.view.evidence import evidence_lines, read_evidence
from kith.view.lines import count
from kith.view.printing import printable

_REQUEST: Final = 4_000
_WORDS: Final = 8_000
_EVIDENCE: Final = 12_000
_FILES: Final = 50
_BREAK: Final = "\u200b"  # a space of no width: people read the same, a forge finds nothing to act on
# Mentions and references (`@name`, `#1`, `!1`, `&1`, `~label`, `%milestone`, `$snippet`, `GH-1`); words that
# close issues; lines with a command of GitLab (`/merge`).
_ACTING: Final = re.compile(
    r"(?<=[@#!&~%$])(?=\w)|(?<=\bGH)(?=-\d)|^(?=\s*/\w)", re.IGNORECASE | re.MULTILINE
)
_CLOSING: Final = re.compile(r"\b([cfri])(los|ix|esolv|mplement)(?=(?:e[sd]?|ing|ed|s)?\b)", re.IGNORECASE)
_LINKS: Final = re.compile(r"(?<=:)(?=//)|(?<=\bwww)(?=\.)", re.IGNORECASE)
_MARKS: Final = re.compile(r"([\\`*_\[\]<>&~$|])")  # in the middle of a line


def make_title(request: str, unproven: bool, most: int) -> str:
    """The first line of a request as a title, in at most so many characters."""
    lines = request.strip().splitlines()
    title = printable(" ".join(lines[0].split())) if lines else "Change"
    return cut(f"{'Unproven: ' if unproven else ''}{title}", most)


def tell_change(report: Mapping[str, Any]) -> Iterator[str]:
    """The parts of a text about a task's change: evidence, files, and the words of the model."""
    evidence = read_evidence(report) if report.get("receipt") else None
    if evidence:
        yield f"Evidence, as kith saw it:\n\n{fenced(chr(10).join(evidence_lines(evidence)), _EVIDENCE)}"
    if changes := report.get("changes"):
        lines = [f"{each['path']}  +{each['added']} -{each['removed']}" for each in changes[:_FILES]]
        lines += [f"and {len(changes) - _FILES} more"] if len(changes) > _FILES else []
        yield f"{count(len(changes), 'file')}:\n\n{fenced(chr(10).join(lines), _EVIDENCE)}"
    if words := str(report.get("text") or "").strip():
        held = report.get("status") == "held"  # then kith says why
        whose = "The reason" if held else "The model's own words, which nobody has checked"
        yield f"{whose}:\n\n{fenced(words, _WORDS)}"


def tell_request(request: str) -> str:
    """The request, as a part of such a text."""
    return f"Task:\n\n{fenced(request, _REQUEST)}"


def neutral(text: str) -> str:
    """Text that mentions nobody, closes nothing and gives no command, and reads the same."""
    text = _CLOSING.sub(rf"\1{_BREAK}\2", printable(text))
    return _ACTING.sub(_BREAK, text)


def plain(text: str) -> str:
    """Foreign text for the middle of a line: neutral, and without Markdown, HTML or links."""
    marks = _MARKS.sub(r"\\\1", " ".join(printable(text).split()))
    return _LINKS.sub(_BREAK, neutral(marks))


def fenced(text: str, most: int) -> str:
    """Foreign text as a block of code: no forge reads Markdown or HTML in it."""
    return block("text", neutral(cut(text.strip(), most)))


def block(kind: str, text: str) -> str:
    """A block of code of this kind, which no line of the text ends."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}"


def code(text: str) -> str:
    """Foreign text as code in the middle of a line."""
    return f"`{neutral(' '.join(text.split())).replace('`', chr(39))}`"


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 4]} ..."
