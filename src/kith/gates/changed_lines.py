"""Which lines of a file a change added or changed."""

from kith.core.values import Change
from kith.edits.rows import opcodes


def rows_of(content: bytes | None) -> list[str]:
    """A file's lines as the tools count them, without their ends."""
    text = (content or b"").decode("utf-8", "replace").replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n") if text else []


def changed_lines(change: Change) -> frozenset[int]:
    """The numbers, from 1, of the lines after the change that were not there before it."""
    codes = opcodes(rows_of(change.before), rows_of(change.after))
    return frozenset(at + 1 for tag, _, _, begin, end in codes if tag != "equal" for at in range(begin, end))


def touched_lines(change: Change) -> frozenset[int]:
    """The changed lines, and both neighbours of each place where lines were only taken out."""
    codes = opcodes(rows_of(change.before), rows_of(change.after))
    seams = (begin for tag, _, _, begin, _ in codes if tag == "delete")
    return changed_lines(change) | {line for at in seams for line in (at, at + 1) if line}


def show_lines(numbers: frozenset[int]) -> str:
    """Line numbers as ranges: `3, 7-9`."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ", ".join(str(begin) if begin == end else f"{begin}-{end}" for begin, end in ranges)
