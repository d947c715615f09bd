"""Find prose that has to be read twice: docstrings, and the help of commands.

python tools/prose.py           # how much of each sort there is, against what is allowed
python tools/prose.py --list    # every place
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kith.terminal.command_table import commands
from kith.terminal.conversation.slash_commands import slash_commands

SOURCE: Final = Path(__file__).parent.parent / "src" / "kith"
_OPENING: Final = re.compile(r"^(?:What|Whether|How|Which|Where|Who|Whose|When|Why)\b")
_RIDDLES: Final = re.compile(
    r"\b(?:brings? along|brought along|a way up|by the word of|what could be cached"
    r"|mends?|mended|wish(?:es)?)\b",
    re.IGNORECASE,
)
_METAPHORS: Final = re.compile(
    r"\b(?:in turn|whose turn|by (?:itself|themselves)|the word of|(?:tak(?:e|es|en|ing)|took) back"
    r"|(?:tells?|telling) of|(?:go|goes|going|gone) on with|brings?|brought|anew|speaks? (?:for|against)"
    r"|(?<!Hugging )faces?|letters? to the model|cut short|passed over|stands?(?!-in| for)|stood|whoever)\b",
    re.IGNORECASE,
)
_LONGEST: Final = 25  # words of a sentence
_HELP: Final = 8  # words that say what a command of the command line does
_SLASH_HELP: Final = 10  # the same in a conversation
# What there is today. A change may lower a number, never raise one.
ALLOWED: Final = {"opening": 0, "riddle": 0, "metaphor": 63, "long sentence": 10, "long help": 0}


@dataclass(frozen=True, slots=True)
class Finding:
    """One place whose words should change: what is wrong with them, where, and the words."""

    sort: str
    place: str
    words: str


def find_prose() -> Iterator[Finding]:
    """Every place in the sources, then every command's help."""
    for file in sorted(SOURCE.rglob("*.py")):
        for line, text in docstrings(file):
            yield from judge(f"{file.relative_to(SOURCE)}:{line}", text)
    helps = [(f"kith {each.name}", each.meaning, _HELP) for each in commands().values()]
    helps += [(f"/{each.name}", each.meaning, _SLASH_HELP) for each in slash_commands().values()]
    for place, words, most in helps:
        if len(words.split()) > most:
            yield Finding("long help", place, words)
        if riddle := _RIDDLES.search(words):
            yield Finding("riddle", place, riddle[0])


def docstrings(file: Path) -> Iterator[tuple[int, str]]:
    """The docstrings of a file, each with the line of what it describes."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and (text := ast.get_docstring(node)):
            yield getattr(node, "lineno", 1), text


def judge(place: str, text: str) -> Iterator[Finding]:
    """What is wrong with one docstring."""
    first = text.partition("\n")[0]
    if _OPENING.match(text):
        yield Finding("opening", place, first)
    if riddle := _RIDDLES.search(text):
        yield Finding("riddle", place, riddle[0])
    if metaphor := _METAPHORS.search(text):
        yield Finding("metaphor", place, metaphor[0])
    prose = re.sub(r"^(?: {4,}|\|).*$", "", text, flags=re.MULTILINE)  # no code, no tables
    for sentence in re.split(r"(?<=[.!?])\s+|\n\n|\n(?=- |\d+\. )", prose):
        if len(sentence.split()) > _LONGEST:
            yield Finding("long sentence", place, sentence.replace("\n", " "))


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
