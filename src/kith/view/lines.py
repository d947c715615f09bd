"""Text for people: counts and figures, lines that fit, paths from home."""

import os
import shutil
import sys
import textwrap
import time
from typing import IO, Final

from kith.view.printing import printable

WIDTH: Final = 80  # columns that any terminal has


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def first_line(text: str) -> str:
    """The first line of a text; one that only announces the next ones ends before that."""
    head, _, more = text.strip().partition("\n")
    if not more or not head.rstrip().endswith(":"):
        return head
    told, stop, _ = head.rpartition(". ")
    return f"{told}." if stop else f"{head.rstrip(': ')} ..."


def shortened(text: str, most: int) -> str:
    """The text, or its beginning with dots, in at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 4].rstrip()} ..."


def wrapped(text: str, stream: IO[str], indent: str = "") -> str:
    """Foreign text for a stream: made printable and broken between words on a terminal, else as it is.

    What is broken goes on at `indent`, or where its line began if that is deeper.
    """
    if not stream.isatty():
        return text
    return broken(printable(text), shutil.get_terminal_size().columns, indent)


def broken(text: str, width: int, indent: str = "") -> str:
    """Printable text, its long lines broken between words."""
    return "\n".join(part for line in text.split("\n") for part in _broken(line, width, indent))


def brief(task: str, beside: int, least: int = 30) -> str:
    """The beginning of a task, as much of it as fits on the line; `beside` are the columns already taken."""
    room = shutil.get_terminal_size().columns - beside if sys.stdout.isatty() else 0
    return textwrap.shorten(printable(task), max(room, least) if room else 60, placeholder=" ...")


def paragraph(
    text: str, first: str = "", others: str = "", *, width: int = WIDTH, most: int | None = None
) -> list[str]:
    """Text on at most so many lines, begun with `first` and gone on at `others`; a path stays whole."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=others,
        max_lines=most,
        placeholder=" ...",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _broken(line: str, width: int, indent: str) -> list[str]:
    """One line on as many as it takes; a word such as a command's option or a path stays whole."""
    if len(line) <= width:
        return [line]
    own = line[: len(line) - len(line.lstrip(" "))]
    return textwrap.wrap(
        line.lstrip(" "),
        width,
        initial_indent=own,
        subsequent_indent=max(indent, own, key=len),
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )


def from_home(path: str) -> str:
    """A path with `~` for the person's own folder."""
    home = os.path.expanduser("~/")  # noqa: PTH111  (Path.home() raises for users without a name)
    return f"~/{path[len(home) :]}" if path.startswith(home) else path


def figure(value: float | None) -> str:
    """Three digits or so: `0.34`, `2.1`, `27.1`, `612`; `-` for none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def tokens(number: float) -> str:
    """`812`, `4k`, `1.2M`."""
    if number < 1_000:
        return f"{number:.0f}"
    if number < 1_000_000:
        return f"{number / 1_024:.0f}k" if number % 1_024 == 0 else f"{number / 1_000:.0f}k"
    return f"{number / 1_000_000:.1f}M"


def day(at: float) -> str:
    """The day of a moment (seconds since the epoch), by this machine's clock: `2026-11-21`."""
    return time.strftime("%Y-%m-%d", time.localtime(at))
