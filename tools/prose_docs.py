"""Find sentences of the documents that have to be read twice: long ones, and riddles.

python tools/prose_docs.py           # how much of each sort there is, against what is allowed
python tools/prose_docs.py --list    # every place
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
PAGES: Final = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))),
]
_RIDDLES: Final = re.compile(
    r"\b(?:brings? along|brought along|a way up|by the word of|the word of|words? of yours|could be cached"
    r"|mends?|mended|wish(?:es|ed)?|runs? by (?:itself|themselves)|gone on with|in (?:the|its) place of"
    r"|held against|holds? against|is told of|are told of|comes? in anew|said to be|dear to)\b",
    re.IGNORECASE,
)
_LONGEST: Final = 25  # words of a sentence; a span of code is one word
# What there is today. A change may lower a number, never raise one.
ALLOWED: Final = {"riddle": 0, "long sentence": 1}

_FENCED: Final = re.compile(r"^( *)(`{3,}).*?^ *\2`*$", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"(`+).+?\1", re.DOTALL)
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_BEGINS: Final = re.compile(r"^\s*(?:[-*+]|\d+\.|>)\s+|^#+ ")


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence that should change: its fault, its place, and the words."""

    sort: str
    place: str
    words: str


def find_prose() -> Iterator[Finding]:
    """Every finding in the pages."""
    for page in PAGES:
        for line, sentence in sentences(page.read_text(encoding="utf-8")):
            place = f"{page.relative_to(ROOT)}:{line}"
            if riddle := _RIDDLES.search(sentence):
                yield Finding("riddle", place, f"{riddle[0]}: {sentence}")
            if len(re.findall(r"[^\s–]*\w[^\s]*", sentence)) > _LONGEST:
                yield Finding("long sentence", place, sentence)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a page with their lines, without code blocks and markup."""
    for line, block in blocks(_FENCED.sub(lambda match: "\n" * match[0].count("\n"), text)):
        plain = _LINK.sub(r"\1", _CODE.sub("CODE", block)).replace("*", "")
        for sentence in re.split(r"(?<=[.!?:])\s+", " ".join(plain.split())):
            yield line, sentence


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, list items, headings and cells of tables, each with its first line."""
    start, gathered = 1, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        is_row = line.lstrip().startswith("|")
        if gathered and (is_row or not line.strip() or _BEGINS.match(line)):
            yield start, " ".join(gathered)
            gathered = []
        if is_row:
            yield from ((number, cell) for cell in re.split(r"(?<!\\)\|", line) if cell.strip(" -:"))
        elif line.strip():
            start = start if gathered else number
            gathered.append(_BEGINS.sub("", line))


def main() -> int:
    """Print what was found; exit code 1 where there is more than is allowed."""
    found = list(find_prose())
    if "--list" in sys.argv:
        for each in found:
            print(f"{each.place}: {each.sort}: {each.words}")
    counts = {sort: sum(each.sort == sort for each in found) for sort in ALLOWED}
    for sort, count in counts.items():
        print(f"{sort:14} {count:5}  (at most {ALLOWED[sort]})")
    return int(any(count > ALLOWED[sort] for sort, count in counts.items()))


if __name__ == "__main__":
    raise SystemExit(main())
