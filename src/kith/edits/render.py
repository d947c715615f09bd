"""Changes as people read them, and as `git apply` takes them."""

from kith.core.values import Change, Changes, FileChange
from kith.edits.hunks import is_text, split_hunks
from kith.edits.paths import quote


def unified_diff(change: Change) -> str:
    """One change as git prints it; bytes that are not UTF-8 are surrogate escapes.

    Source: git's `Documentation/diff-generate-patch`.
    """
    old, new = quote(f"a/{change.path}"), quote(f"b/{change.path}")
    lines = [f"diff --git {old} {new}", *_mode_lines(change)]
    before = "/dev/null" if change.before is None else old
    after = "/dev/null" if change.after is None else new
    if change.before != change.after and not is_text(change):
        lines.append(f"Binary files {before} and {after} differ")
    hunks = [hunk for hunk in split_hunks(change) if hunk.start is not None]
    if hunks:
        lines += [f"--- {_ended(before)}", f"+++ {_ended(after)}"]
    for hunk in hunks:
        lines += [hunk.header, *hunk.lines]
    return "".join(line + "\n" for line in lines)


def summarise(changes: Changes) -> tuple[FileChange, ...]:
    """Each changed file with its added and removed lines counted."""
    return tuple(_summary(change) for change in changes)


def _summary(change: Change) -> FileChange:
    lines = [line for hunk in split_hunks(change) if hunk.start is not None for line in hunk.lines]
    added, removed = (sum(line[0] == sign for line in lines) for sign in "+-")
    return FileChange(change.path, added, removed, unified_diff(change))


def _mode_lines(change: Change) -> list[str]:
    if change.before is None:
        return [f"new file mode {change.mode:o}"]
    if change.after is None:
        return [f"deleted file mode {change.mode_before:o}"]
    if change.mode != change.mode_before:
        return [f"old mode {change.mode_before:o}", f"new mode {change.mode:o}"]
    return []


def _ended(name: str) -> str:
    """git ends a name that contains blanks with a tab."""
    return name + "\t" if " " in name and not name.startswith('"') else name
