"""List every command, option and setting with the page and the test that name it first.

python tools/coverage_table.py    # prints a table: name, page, test
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kith.settings.check import KEYS, keys_in_tables
from kith.terminal.command_table import TALK, commands
from kith.terminal.shell_completion import choices_of

ROOT: Final = Path(__file__).parent.parent
_WORD: Final = re.compile(r"(?<![\w-])(?:--)?\w[\w-]*")


def names() -> Iterator[tuple[str, str]]:
    """Each name as people write it, and the words to search for."""
    for command in (TALK, *commands().values()):
        program = f"kith {command.name}".strip()
        yield program, program
        for option in choices_of(command).options:
            if option.startswith("--"):
                yield f"{program} {option}", option
    for key in (*KEYS, *keys_in_tables()):
        yield key, key.rpartition(".")[2]


def places(pattern: str) -> dict[str, str]:
    """Map each word of these files, and each command, to the first file that has it."""
    found: dict[str, str] = {}
    wanted = {word for _, word in names()}
    several = {word.removeprefix("kith ") for word in wanted if " " in word}
    for file in sorted(ROOT.glob(pattern)):
        if file.name == "test_coverage_table.py":
            continue
        text = file.read_text(encoding="utf-8").replace('", "', " ")
        words = {*_WORD.findall(text), *(each for each in several if each in text)}
        for word in words:
            found.setdefault(word, file.relative_to(ROOT).as_posix())
    return found


def rows() -> list[tuple[str, str, str]]:
    """The name, page and test of each; "" where there is none."""
    docs, tests = places("docs/**/*.md"), places("tests/**/*.py")
    found = ((name, word.removeprefix("kith ")) for name, word in names())
    return [(name, docs.get(word, ""), tests.get(word, "")) for name, word in found]


if __name__ == "__main__":
    sys.stdout.writelines(f"| `{name}` | {page} | {test} |\n" for name, page, test in rows())
