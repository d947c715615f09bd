"""From edits and the files as they are to Changes: all of them, or feedback for the model."""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence

from kith.core.values import EXECUTABLE, FILE, SYMLINK, Change, Changes
from kith.edits import feedback
from kith.edits.edit_types import (
    Create,
    Delete,
    Edit,
    EditError,
    Hunk,
    Insert,
    NothingToChange,
    Patch,
    Replace,
    ReplaceString,
    Whole,
)
from kith.edits.paths import check_path
from kith.edits.rows import BOM, decode, encode, hunk_between, is_binary, split_keys, split_rows, terminator
from kith.edits.splice import HunkPlace, Keys, apply_hunks, positions, splice

# One exact replacement in one file, as the edit tool makes it: part of a line, or many lines.


def replace_text(content: bytes, old: str, new: str, path: str, all_matches: bool = False) -> bytes:
    """The file's content with `new` in the place of `old`, which must occur there exactly once.

    With `all_matches`, every occurrence is replaced. Line terminators are the file's, whatever `old` and
    `new` have; whole lines may be evenly indented more or less than in the file. Raises EditError, a message
    to the model.
    """
    check_path(path, exists=True)
    if is_binary(content) or "\0" in new:
        raise EditError(f"{path} is a binary file; only text can be edited.")
    text = decode(content)
    view = _PlainText(text)
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not old:
        raise EditError(f"The text to replace in {path} is empty. Send the text that stands there now.")
    if old == new:
        raise EditError(f"The old and the new text for {path} are the same, so there is nothing to change.")
    starts = view.find(old)
    if not starts:
        return encode(_replace_rows(text, old, new, path))
    if len(starts) > 1 and not all_matches:
        raise EditError(_too_often(view, starts, path))
    if len(starts) == 1 and view.has_around(starts[0], old, new):
        raise EditError(f"In {path}, {feedback.ALREADY}", already=True)
    return encode(view.put(starts, len(old), new))


class _PlainText:
    """A text without carriage returns, and the original place of each character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.plain = text.replace("\r\n", "\n")
        rows = split_rows(text)
        self.end = terminator([], rows)
        self.returns: list[int] = []  # where, in `plain`, the newlines with a carriage return stand
        position = 0
        for row in rows:
            position += len(row) - row.endswith("\r\n")
            if row.endswith("\r\n"):
                self.returns.append(position - 1)

    def find(self, wanted: str) -> list[int]:
        """Find the places where `wanted` begins in `plain`; occurrences do not overlap."""
        found, at = [], self.plain.find(wanted)
        while at >= 0:
            found.append(at)
            at = self.plain.find(wanted, at + len(wanted))
        return found

    def put(self, starts: list[int], size: int, new: str) -> str:
        out, done = [], 0
        for start in starts:
            first, last = self._index(start), self._index(start + size)
            out += [self.text[done:first], new.replace("\n", self._terminator(first, last))]
            done = last
        return "".join([*out, self.text[done:]])

    def has_around(self, start: int, old: str, new: str) -> bool:
        """True when the file already has `new` around the `old` at `start`: replacing would repeat it."""
        at = new.find(old)
        return at >= 0 and start >= at and self.plain.startswith(new, start - at)

    def line(self, start: int) -> int:
        """The line, from 0, in which a position of `plain` lies."""
        return self.plain.count("\n", 0, start)

    def _index(self, position: int) -> int:
        return position + bisect_left(self.returns, position)

    def _terminator(self, first: int, last: int) -> str:
        """The terminator of the replaced lines, or the file's where none was replaced."""
        return terminator(split_rows(self.text[first:last]), [self.end])


def _replace_rows(text: str, old: str, new: str, path: str) -> str:
    """The same by whole lines, which may be indented otherwise than in the file."""
    hunk = hunk_between(split_keys(old), split_keys(new))
    try:
        return apply_hunks(text, [hunk])
    except EditError as error:
        hint = "" if text.removeprefix(BOM) else " The file is empty."
        raise EditError(f"{path} was not changed: {error}{hint}", already=error.already) from None


def _too_often(view: _PlainText, starts: list[int], path: str) -> str:
    rows = [view.line(start) for start in starts[: feedback.LISTED + 1]]
    return (
        f"{path} was not changed: the text stands there {len(starts)} times, at lines "
        f"{feedback.listed(rows)}. Send more of the text around the one you mean, or ask for all of them."
    )


Files = Mapping[str, bytes | None]
NO_MODES: Mapping[str, int] = {}
_NEAR = 10  # lines; models miscount, but not by more


def paths_of(edits: Sequence[Edit], known: Collection[str] = ()) -> tuple[str, ...]:
    """Every file that must be read before the edits can be applied. Raises EditError for a bad path.

    `known` are names of files that exist.
    """
    paths = list[str]()
    for edit in edits:
        paths.append(edit.path)
        if isinstance(edit, Patch) and edit.moved_to:
            paths.append(edit.moved_to)
    return tuple(dict.fromkeys([check_path(path, path in known) for path in paths]))


def make_changes(
    edits: Sequence[Edit],
    files: Files,
    modes: Mapping[str, int] = NO_MODES,
    known: Collection[str] = (),
) -> Changes:
    """Turn edits, one after the other, into changes of `files` (None: there is no such file).

    `files` must hold every path of `paths_of`. `modes` are git's, FILE by default. `known` are all names
    that a missing one may be a misspelling of. Raises EditError, a message to the model, when any edit
    does not fit, and NothingToChange when all of them together change nothing.
    """
    draft = _Draft(files, modes, edits)
    faults = dict[int, EditError]()
    for index, edit in enumerate(edits):
        try:
            draft.take(edit)
        except FileNotFoundError:
            faults[index] = EditError(feedback.no_file(edit.path, known), absent=True)
        except EditError as error:
            faults[index] = draft.explain(edit, error)
        if len(faults) == feedback.FAULTS:
            break
    if faults:
        raise EditError(
            feedback.compose(edits, faults),
            absent=any(each.absent for each in faults.values()),
            already=all(each.already for each in faults.values()),
        )
    changes = draft.changes()
    if not changes:
        raise NothingToChange("Nothing was changed: the files already say what you sent.")
    return changes


class _Draft:
    """Files and their modes, as they were and as the edits so far have left them."""

    def __init__(self, files: Files, modes: Mapping[str, int], edits: Sequence[Edit]) -> None:
        self.files = files
        self.now = dict(files)
        self.modes_before = {path: modes.get(path, FILE) for path in files}
        for edit in edits:
            if isinstance(edit, Patch) and edit.mode and edit.path not in modes:
                # What the file's mode was is not known; the diff tells that it was the other one.
                self.modes_before[edit.path] = FILE if edit.mode == EXECUTABLE else EXECUTABLE
        self.modes = dict(self.modes_before)
        leave = [edit for edit in edits if isinstance(edit, Delete) or _moves(edit)]
        self.leaving = {edit.path for edit in leave}

    def changes(self) -> Changes:
        changes = (
            Change(path, before, self.now[path], self.modes[path], self.modes_before[path])
            for path, before in self.files.items()
        )
        return tuple(change for change in changes if change != change.inverse)

    def take(self, edit: Edit) -> None:
        """Make one edit. Raises EditError, FileNotFoundError."""
        path = self._checked(edit.path)
        before = self.now[path]
        if before is not None and self.modes[path] == SYMLINK:
            raise EditError("this is a symbolic link; only plain files are edited.")
        if before is not None and is_binary(before) and not isinstance(edit, Delete):
            raise EditError("this is a binary file; only text can be edited.")
        if isinstance(edit, Patch) and edit.moved_to and edit.moved_to != path:
            self._move(edit, edit.moved_to)
            return
        if isinstance(edit, Replace) and edit.line:
            _check_near(edit.old, edit.line, self.files[path])
        self.now[path] = _text_only(_edited(edit, before))
        if isinstance(edit, Patch | Create) and edit.mode:
            self.modes[path] = edit.mode

    def _checked(self, path: str) -> str:
        return check_path(path, self.files.get(path) is not None)

    def explain(self, edit: Edit, error: EditError) -> EditError:
        """Explain why an edit does not fit, by the file on disk, not as earlier edits would leave it."""
        before = self.files.get(edit.path)
        if self.now.get(edit.path) == before or (isinstance(edit, Patch) and edit.moved_to):
            return error
        try:
            _edited(edit, before)
        except EditError as first:
            return first
        except FileNotFoundError:
            return error
        words = f"it does not fit what the edits above make of this file: {error}"
        return EditError(words, absent=error.absent, already=error.already)

    def _move(self, edit: Patch, target: str) -> None:
        """Move or copy a file. What a diff moves is the file as it was, whatever else became of it."""
        was = self.files[edit.path]
        source = self.now[edit.path] if was is None else was
        taken = self.now[self._checked(target)] is not None
        if taken and (target not in self.leaving or self.now[target] is not self.files[target]):
            raise EditError(f"{target} exists already; nothing is moved over it.")
        if source is None:
            raise FileNotFoundError(edit.path)
        after = _text_only(_patched(edit, source))
        if not edit.copied and self.now[edit.path] is source:
            self.now[edit.path] = None
        self.now[target] = after
        self.modes[target] = edit.mode or self.modes_before[edit.path]


def _check_near(old: str, line: int, file: bytes | None) -> None:
    """Text that a reply saw at a line is not the same text far from there, in the file as it was shown."""
    if file and old.strip():
        rows = positions(Keys(split_keys(decode(file))), split_keys(old))
        if rows and all(abs(row + 1 - line) > _NEAR for row in rows):
            raise EditError(feedback.far(rows, line))


def _text_only(after: bytes | None) -> bytes | None:
    if after is not None and is_binary(after):
        raise EditError("the new text holds a NUL byte.")
    return after


def _moves(edit: Edit) -> bool:
    return isinstance(edit, Patch) and bool(edit.moved_to) and not edit.copied


def _edited(edit: Edit, before: bytes | None) -> bytes | None:
    """Apply one edit to its file; None: deleted. Raises EditError, FileNotFoundError."""
    match edit:
        case Create(content=content):
            if before is not None:
                raise EditError("this file exists already; change it instead of adding it.")
            return encode(content)
        case Delete(content=content):
            if before is None:
                raise EditError("there is no such file to delete.", absent=True)
            _check_deleted(content, before)
            return None
        case Whole(content=content):
            return _rewrite(before, content)
        case Replace():
            return _replace(edit, before)
        case ReplaceString():
            return _replace_text(edit, before)
        case Insert(line=line, text=text):
            if before is None:
                raise FileNotFoundError(edit.path)
            return _insert(text, line, before)
        case Patch():
            return _patched(edit, before)


def _check_deleted(content: str | None, before: bytes) -> None:
    if content == "" and before:
        raise EditError("this file is not empty; to delete it, show all its lines as removed.")
    if content is not None and split_keys(decode(before)) != split_keys(content):
        raise EditError("the file to delete says something else than what you sent.")


def _replace(edit: Replace, before: bytes | None) -> bytes:
    if before is None and (edit.old.strip() or (edit.line or 1) > 1):
        raise FileNotFoundError(edit.path)
    if not before and not edit.old.strip():
        return encode(edit.new)
    assert before is not None
    if not edit.old and edit.line:
        return _insert(edit.new, edit.line, before)
    if not edit.old:
        raise EditError("this file is not empty; send the lines to change, and the lines to put there.")
    hunk = hunk_between(split_keys(edit.old), split_keys(edit.new), edit.line)
    return encode(apply_hunks(decode(before), [hunk]))


def _replace_text(edit: ReplaceString, before: bytes | None) -> bytes:
    if not before and not edit.old:
        return encode(edit.new)
    if before is None:
        raise FileNotFoundError(edit.path)
    try:
        return replace_text(before, edit.old, edit.new, edit.path, edit.all_matches)
    except EditError as error:
        words = str(error).removeprefix(f"{edit.path} was not changed: ")
        raise EditError(words, already=error.already) from None


def _insert(new: str, line: int, before: bytes) -> bytes:
    text = decode(before)
    mark = BOM if text.startswith(BOM) else ""
    text = text.removeprefix(mark)
    count = len(split_rows(text))
    if not 1 <= line <= count + 1:
        raise EditError(f"there is no line {line}; the file has {count} lines.")
    hunk = Hunk(tuple("+" + row for row in split_keys(new)))
    return encode(mark + splice(text.split("\n"), [(HunkPlace(line - 1), hunk)]).removeprefix(mark))


def _patched(edit: Patch, before: bytes | None) -> bytes:
    if before is None:
        if any(hunk.old for hunk in edit.hunks) or not edit.hunks:
            raise FileNotFoundError(edit.path)
        before = b""
    after = encode(apply_hunks(decode(before), edit.hunks))
    if after == before and any("\\" in line[:1] for hunk in edit.hunks for line in hunk.lines):
        raise EditError(feedback.ALREADY, already=True)  # all that they say is where a newline goes
    return after


def _rewrite(before: bytes | None, content: str) -> bytes:
    """New content for a whole file; rows that stay keep their bytes, new ones the file's terminator."""
    if not before:
        return encode(content)
    text = decode(before)
    mark = BOM if text.startswith(BOM) else ""
    text = text.removeprefix(mark)
    hunk = hunk_between(split_keys(text), split_keys(content.removeprefix(mark)))
    return encode(mark + splice(text.split("\n"), [(HunkPlace(0), hunk)]))
