"""Build the answers of tools: a result with a line for people, a refusal, and numbered lines of text."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from kith.core.errors import AbsentError, TreeError
from kith.core.run import Run
from kith.core.values import Fault, ToolResult

_LISTED = 4  # names in a line
Fn = Callable[[Mapping[str, Any], Run], Awaitable[ToolResult]]


def told(text: str, line: str, **detail: Any) -> ToolResult:
    """An answer; `line` is its one line for people. The loop fills in the call's id."""
    return ToolResult("", text, detail={"line": line, **detail})


def refused(text: str, fault: Fault = "", why: str = "") -> ToolResult:
    """Report a mistake that the model can correct: the error, and what to do instead.

    `why` is the reason alone, for a person, where it is known apart from the advice.
    """
    detail = {"line": text.split("\n", 1)[0]} | ({"why": why} if why else {})
    return ToolResult("", text, ok=False, detail=detail, fault=fault)


def fault_of(error: TreeError) -> Fault:
    """Return the cause of a refusal by the tree, where a reader needs it."""
    return "absent" if isinstance(error, AbsentError) else ""


def in_words(fn: Fn) -> Fn:
    """A tool in which refusals of the tree, and text that no file can hold, become answers to the model."""

    @wraps(fn)
    async def answer(args: Mapping[str, Any], run: Run) -> ToolResult:
        try:
            return await fn(args, run)
        except TreeError as error:
            return refused(sentence(error), fault_of(error))
        except UnicodeEncodeError as error:
            half = error.object[error.start]
            return refused(f"The arguments hold half a character ({half!a}): send whole characters only.")

    return answer


def sentence(error: Exception) -> str:
    """An error's words, closed with a full stop."""
    return f"{str(error).rstrip('.')}."


# Text as tools show it: decoded, split into lines, numbered, clipped and counted.

# Colours and cursor movements (CSI), titles and links (OSC).
_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


def decode(data: bytes) -> tuple[str, bool]:
    """Text of a file without its byte order mark, and whether it is UTF-8 (else it is read as Latin-1)."""
    try:
        return data.decode("utf-8-sig"), True
    except UnicodeDecodeError:
        return data.decode("latin-1"), False


def split_lines(text: str) -> list[str]:
    r"""Lines without their ends. Only `\n` and `\r\n` end a line; anything else belongs to it."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def lines_of(data: bytes) -> list[str]:
    """The lines of a file."""
    return split_lines(decode(data)[0])


def clip(line: str, width: int) -> str:
    """A line of at most `width` characters, and how many are missing."""
    return line if len(line) <= width else f"{line[:width]}… {left_out(len(line) - width, 'character')}"


def left_out(number: int, noun: str, how: str = "") -> str:
    """Say what an answer lacks, and how to get it: "[9 lines left out: read a.py:251-]"."""
    return f"[{count(number, noun)} left out{how and f': {how}'}]"


def numbered(number: int, line: str) -> str:
    """A line as every tool shows it: its number, a tab, its text."""
    return f"{number}\t{line}"


def count(number: int, noun: str) -> str:
    """A number and its noun, as in "1 line", "2 matches" or "1,200 lines"."""
    if noun.endswith("ry") and number != 1:
        noun = f"{noun.removesuffix('y')}ie"
    ending = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{ending}"


def listed(names: Iterable[str]) -> str:
    """Names in one line: the first ones, and how many more; "a.py b.py"."""
    every = tuple(names)
    more = [f"and {len(every) - _LISTED} more"] if len(every) > _LISTED + 1 else []
    return " ".join([*(every[:_LISTED] if more else every), *more])


def plain_output(output: str) -> str:
    """A command's output without terminal codes, and without what a progress bar drew over."""
    lines = _TERMINAL_CODES.sub("", output).split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines).strip("\n")
