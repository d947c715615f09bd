"""Which words of a changed line are new: two versions of a line held against each other."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

Spans = list[tuple[int, int]]  # from, to: characters of a line

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST = 600  # characters of a line that is looked into
_ALIKE = 0.4  # of a line's characters that must have stayed, else it is another line


def changed_words(old: str, new: str) -> tuple[Spans, Spans]:
    """The places of an old and a new line that differ; nothing where the lines have little in common."""
    if old == new or max(len(old), len(new)) > _LONGEST:
        return [], []
    a, b = _WORD.findall(old), _WORD.findall(new)
    head = _same(a, b)
    tail = _same(a[head:][::-1], b[head:][::-1])
    middle = SequenceMatcher(None, a[head : len(a) - tail], b[head : len(b) - tail], autojunk=False)
    gone: list[tuple[int, int]] = []
    come: list[tuple[int, int]] = []
    for tag, i, j, k, n in middle.get_opcodes():
        if tag != "equal":
            gone.append((i + head, j + head))
            come.append((k + head, n + head))
    found = _places(a, gone), _places(b, come)
    stayed = len(old) - sum(end - begin for begin, end in found[0])
    return found if stayed >= _ALIKE * max(len(old), len(new)) else ([], [])


def _same(a: Sequence[str], b: Sequence[str]) -> int:
    """How many words two lists begin with alike."""
    count = 0
    for one, other in zip(a, b, strict=False):
        if one != other:
            break
        count += 1
    return count


def _places(words: Sequence[str], ranges: Spans) -> Spans:
    """Ranges of words as ranges of characters; what only blanks part becomes one."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    found: Spans = []
    for begin, end in ranges:
        if begin == end:
            continue
        if found and not "".join(words[starts.index(found[-1][1]) : begin]).strip():
            found[-1] = (found[-1][0], starts[end])
        else:
            found.append((starts[begin], starts[end]))
    return found
