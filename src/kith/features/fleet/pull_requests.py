"""The words of a pull request: a title, and a body with the receipt, in which a model's words do nothing."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kith.features.fleet.publications import Publication
from kith.view.evidence import evidence_lines, read_evidence
from kith.view.lines import count
from kith.view.printing import printable

_TITLE: Final = 200  # characters; GitLab takes 255 with its prefix
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


def title_of(publication: Publication) -> str:
    """The first line of what was asked for; a change that no check supports is marked."""
    return neutral(make_title(publication.task.request, publication.verdict == "unproven", _TITLE))


def make_title(request: str, unproven: bool, most: int) -> str:
    """The same for a request, in at most so many characters."""
    lines = request.strip().splitlines()
    title = printable(" ".join(lines[0].split())) if lines else "Change"
    return _cut(f"{'Unproven: ' if unproven else ''}{title}", most)


def body_of(publication: Publication, report: Mapping[str, Any]) -> str:
    """The task, the evidence, the changed files, and the words of the model."""
    return "\n\n".join(_parts(publication, report)) + "\n"


def _parts(publication: Publication, report: Mapping[str, Any]) -> Iterator[str]:
    yield "A change by kith. Nobody has read it yet."
    if publication.verdict == "unproven":
        yield "**Unproven: kith held this change back.**"
    yield f"Task:\n\n{_fenced(publication.task.request, _REQUEST)}"
    evidence = read_evidence(report) if report.get("receipt") else None
    if evidence:
        yield f"Evidence, as kith saw it:\n\n{_fenced(chr(10).join(evidence_lines(evidence)), _EVIDENCE)}"
    if changes := report.get("changes"):
        lines = [f"{each['path']}  +{each['added']} -{each['removed']}" for each in changes[:_FILES]]
        lines += [f"and {len(changes) - _FILES} more"] if len(changes) > _FILES else []
        yield f"{count(len(changes), 'file')}:\n\n{_fenced(chr(10).join(lines), _EVIDENCE)}"
    if words := str(report.get("text") or "").strip():
        held = report.get("status") == "held"  # then kith says why
        whose = "The reason" if held else "The model's own words, which nobody has checked"
        yield f"{whose}:\n\n{_fenced(words, _WORDS)}"
    model = f", model {_code(str(report['model']))}" if report.get("model") else ""
    where = f"Batch {_code(publication.batch)}, task {_code(publication.task.key)}"
    yield f"{where}{model}, base {publication.base[:12]}"


def neutral(text: str) -> str:
    """Text that mentions nobody, closes nothing and gives no command, and reads the same."""
    text = _CLOSING.sub(rf"\1{_BREAK}\2", printable(text))
    return _ACTING.sub(_BREAK, text)


def _fenced(text: str, most: int) -> str:
    """Foreign text as a block of code: no forge reads Markdown or HTML in it."""
    text = neutral(_cut(text.strip(), most))
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _code(text: str) -> str:
    return f"`{neutral(' '.join(text.split())).replace('`', chr(39))}`"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 4]} ..."
