"""The shape of a repository in a few lines: its folders and files, opened as far as there is room."""

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from kith.context.budget import estimate_tokens

_AFTER_SLASH = chr(ord("/") + 1)


def show_layout(files: Sequence[str], room: int) -> str:
    """The folders and files of a tree (`files` sorted), one to a line, in at most `room` tokens.

    Larger folders are opened first; one that stays closed says how many files it holds. What of the top
    does not fit is left out and counted.
    """
    shown = _entries(files, "")
    left = room - _cost(map(_line, shown.items()))
    if left < 0:
        return _beginning([_line(entry) for entry in shown.items()], room)
    closed = [(-size, folder) for folder, size in shown.items() if size]
    heapq.heapify(closed)
    while closed:
        size, folder = heapq.heappop(closed)
        opened = _entries(files, folder)
        cost = _cost(map(_line, opened.items())) - _cost([_line((folder, -size))])
        if cost <= left:
            left -= cost
            del shown[folder]
            shown |= opened
            for entry, number in opened.items():
                if number:
                    heapq.heappush(closed, (-number, entry))
    return "\n".join(_line(entry) for entry in sorted(shown.items()))


def _entries(files: Sequence[str], folder: str) -> dict[str, int]:
    """What lies directly in a folder (its name ends with a slash, the root's is empty).

    Folders come with the number of files in them, at any depth, files with 0. The files below a folder lie
    side by side in a sorted list, so nothing but the answer is looked at.
    """
    entries, at = {}, bisect_left(files, folder)
    while at < len(files) and files[at].startswith(folder):
        slash = files[at].find("/", len(folder))
        if slash < 0:
            entries[files[at]] = 0
            at += 1
        else:
            end = bisect_left(files, files[at][:slash] + _AFTER_SLASH, at)
            entries[files[at][: slash + 1]] = end - at
            at = end
    return entries


def _line(entry: tuple[str, int]) -> str:
    name, size = entry
    shown = name if name.isprintable() else ascii(name)
    return f"{shown} ({size} file{'s' * (size > 1)})" if size else shown


def _cost(lines: Iterable[str]) -> int:
    return sum(estimate_tokens(line + "\n") for line in lines)


def _beginning(lines: Sequence[str], room: int) -> str:
    """As many lines as fit, and how many more there are."""
    shown: list[str] = []
    left = room - estimate_tokens(f"... and {len(lines)} more\n")
    for line in lines:
        left -= _cost([line])
        if left < 0:
            break
        shown.append(line)
    return "\n".join([*shown, f"... and {len(lines) - len(shown)} more"]) if shown else ""
