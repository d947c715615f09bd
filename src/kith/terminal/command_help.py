"""Help of the command line: what kith is, its commands by group, the parts of one, and exit codes."""

import shutil
from collections.abc import Iterable, Iterator
from typing import Final

from kith.terminal.command_table import commands, groups, parts_of
from kith.view.lines import paragraph

_ABOUT: Final = (
    "A local-first coding agent. It tries a change in a copy of your project, tests it, and asks before it "
    "applies it. Words that are no command open a conversation with that task."
)
_EXIT_CODES: Final = (
    "exit codes: 0 done, 1 failed, 2 usage, 3 rejected, 4 limit reached, 5 no model, 6 held back, 7 partly "
    "done, 8 half done, 74 applied but not recorded, 75 try again later, 130 interrupted, 143 terminated"
)
_ENDS: Final = ("", "run", "build", "apply")  # commands whose exit codes tell more than success
_WIDEST: Final = 80
_INDENT: Final = "  "
_COLUMN: Final = len("kith completion")  # by which the groups stand in line


def describe(name: str) -> tuple[str, str]:
    """The text above the options of a command, and the text below them; "" is kith itself."""
    parts = [f"{name} {part}" for part in parts_of(name)]
    above = f"{commands()[name].meaning}." if name else "\n".join([*_lines(_ABOUT), *_every_group()])
    below = _rows((part, commands()[part].meaning) for part in parts)
    ends = _lines(_EXIT_CODES) if name in _ENDS else []
    return above, "\n".join([*(["commands:", *below] if below else []), *ends])


def _every_group() -> Iterator[str]:
    for group, members in groups().items():
        yield f"\n{group.lower()}:"
        yield from _rows((f"kith {each.name}".strip(), each.meaning) for each in members)
    yield f"\n{_INDENT}kith COMMAND --help tells more."


def _rows(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Names and meanings in two columns, within the width of the terminal."""
    shown = list(rows)
    column = max(_COLUMN, *(len(name) for name, _ in shown)) if shown else _COLUMN
    return [
        line
        for name, meaning in shown
        for line in paragraph(
            meaning, f"{_INDENT}{name:{column}}{_INDENT}", " " * (column + 4), width=_width()
        )
    ]


def _lines(text: str) -> list[str]:
    return paragraph(text, width=_width())


def _width() -> int:
    return min(shutil.get_terminal_size().columns, _WIDEST)
