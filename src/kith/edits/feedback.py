"""Explain to the model why an edit does not fit: the real text nearby, and what to send again."""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches

from kith.edits.edit_types import Create, Delete, Edit, EditError, Patch, Replace, ReplaceString

LISTED = 10  # lines that are named at most
FAULTS = 20  # after so many, nothing more is looked for
MANY = 100  # places of the same text; more are not looked for
QUOTED_ROWS = 24
QUOTED_WIDTH = 400
_COMPARED_ROWS, _COMPARED_WIDTH = 12, 120
_LARGEST_FILE = 20_000  # rows; beyond it no nearest text is looked for
_FEW = 3  # lines, or names, that are told one by one
_ALIKE = 55.0  # per cent; text less alike than this is no help


def missing(keys: Sequence[str], old: Sequence[str], sent: str = "lines to change") -> str:
    """The lines are not in the file; the nearest real ones are quoted, with their line numbers."""
    text = f"the {sent} are not in the file exactly as sent."
    at = nearest(keys, old)
    if at is None:
        return f"{text} Nothing in the file is like them; read the file again."
    first, last = max(0, at - 1), min(len(keys), at + len(old) + 1)
    quote = numbered(keys, first, last)
    return f"{text} Copy them from there; the nearest text is:\n{quote}{_difference(keys, old, at)}"


def _difference(keys: Sequence[str], old: Sequence[str], at: int) -> str:
    """Name the lines that differ, where they are few, or where only blanks differ."""
    pairs = [(row, key, sent) for row, (key, sent) in enumerate(zip(keys[at:], old, strict=False), at)]
    apart = [(row, key, sent) for row, key, sent in pairs if key != sent]
    if apart and all(key.split() == sent.split() for _, key, sent in apart):
        return "\nOnly blanks differ: tabs, spaces, or how deep the lines are indented."
    if 0 < len(apart) <= _FEW:
        return "".join(f"\nYou sent line {row + 1} as {clip(sent)!r}." for row, _, sent in apart)
    return ""


def ambiguous(keys: Sequence[str], positions: Sequence[int]) -> str:
    """The lines occur in several places (rows from 0)."""
    times = f"{len(positions)} times" if len(positions) < MANY else f"{MANY} times or more"
    above = [clip(keys[row - 1].strip()) for row in positions if row and keys[row - 1].strip()]
    advice = "Add lines from above or below them, so that they are found only once."
    if len(set(above)) == len(positions) <= _FEW:
        advice = f"Begin with the line above the place you mean: {' or '.join(map(repr, above))}."
    return f"these lines stand in the file {times}, at lines {listed(positions)}. {advice}"


def far(positions: Sequence[int], line: int) -> str:
    """Explain why text was not changed that is at other lines than the named one."""
    return (
        f"you named line {line}, but these lines stand at {listed(positions)}. Name the right line, or none."
    )


def no_file(path: str, known: Collection[str] = ()) -> str:
    """There is no file of that name; one that is called much like it is named."""
    name = path.rpartition("/")[2]
    close = [each for each in sorted(known) if each.rpartition("/")[2] == name][:_FEW]
    close = close or get_close_matches(path, known, _FEW)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    return f"there is no such file.{hint}"


def no_anchor(keys: Sequence[str], anchor: str) -> str:
    """The line below which a hunk is to be looked for is not there."""
    text = f"the line {anchor!r}, below which to look, is not in the file."
    at = nearest(keys, [anchor])
    return text if at is None else f"{text} The nearest one is line {at + 1}: {clip(keys[at].strip())!r}."


ALREADY = "the file already says this; the change seems to be made. Read the file again before you go on."
NO_CONTEXT = "there are no lines to find the place by. Add the lines above and below the new ones."


def listed(positions: Sequence[int]) -> str:
    """Rows from 0 as line numbers in words, at most ten."""
    numbers = [str(position + 1) for position in positions[:LISTED]]
    if len(positions) > LISTED:
        return ", ".join(numbers) + ", ..."
    return " and ".join((", ".join(numbers[:-1]), numbers[-1])) if len(numbers) > 1 else numbers[0]


def numbered(keys: Sequence[str], first: int, last: int) -> str:
    """Rows `first` to `last` (from 0, the end excluded) with their line numbers, cut when long."""
    last = min(last, first + QUOTED_ROWS)
    width = len(str(last))
    return "\n".join(f"{row + 1:>{width}} | {clip(keys[row])}" for row in range(first, last))


def clip(line: str) -> str:
    """A line, cut when it is very long."""
    return line if len(line) <= QUOTED_WIDTH else line[:QUOTED_WIDTH] + "..."


def nearest(keys: Sequence[str], old: Sequence[str]) -> int | None:
    """Find the row (from 0) where the text most like `old` begins; None when nothing is similar."""
    wanted = [line[:_COMPARED_WIDTH] for line in old[:_COMPARED_ROWS]]
    if not any(line.strip() for line in wanted) or not keys or len(keys) > _LARGEST_FILE:
        return None
    from rapidfuzz import fuzz, process

    rows = [key[:_COMPARED_WIDTH] for key in keys]
    size = min(len(wanted), len(rows))
    windows = ["\n".join(rows[row : row + size]) for row in range(len(rows) - size + 1)]
    best = process.extractOne("\n".join(wanted), windows, scorer=fuzz.ratio, score_cutoff=_ALIKE)
    return best[2] if best else None


def compose(edits: Sequence[Edit], faults: Mapping[int, EditError]) -> str:
    """The whole message to the model, from the faults by index of edit."""
    tried = len(edits) if len(faults) < FAULTS else max(faults) + 1
    fit = [index + 1 for index in range(tried) if index not in faults]
    if len(edits) == 1:
        opening = "Nothing was changed, because the edit does not fit."
    else:
        verb = "does" if len(faults) == 1 else "do"
        opening = f"Nothing was changed, because {len(faults)} of your {len(edits)} edits {verb} not fit."
    parts = [opening]
    for index, fault in sorted((index, str(error)) for index, error in faults.items()):
        parts.append(
            f"Edit {index + 1} ({describe(edits[index])}):{'' if fault.startswith(chr(10)) else ' '}{fault}"
        )
    if fit:
        numbers = listed([number - 1 for number in fit])
        parts.append(f"{'Edit' if len(fit) == 1 else 'Edits'} {numbers} would have fitted.")
    if tried < len(edits):
        parts.append(f"The edits after number {tried} were not tried.")
    what = "it" if len(edits) == 1 else "both edits" if len(edits) == 2 else f"all {len(edits)} edits"
    if not all(error.already for error in faults.values()):
        parts.append(f"Send {what} again, corrected.")
    elif fit:
        parts.append("Leave out what the files say already, and send the rest again.")
    return "\n\n".join(parts)


def describe(edit: Edit) -> str:
    """An edit in two or three words."""
    if isinstance(edit, Delete):
        return f"delete {edit.path}"
    if isinstance(edit, Create) or (isinstance(edit, Replace | ReplaceString) and not edit.old):
        return f"new file {edit.path}"
    if isinstance(edit, Patch) and edit.moved_to:
        return f"{'copy' if edit.copied else 'move'} {edit.path} to {edit.moved_to}"
    return edit.path
