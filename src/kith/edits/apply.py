"""From edits and the files as they are to Changes: all of them, or a letter to the model."""

from collections.abc import Collection, Mapping, Sequence

from kith.core.values import EXECUTABLE, FILE, SYMLINK, Change, Changes
from kith.edits import letter
from kith.edits.diffing import hunk_between
from kith.edits.forms import (
    Create,
    Delete,
    Edit,
    EditError,
    Hunk,
    Insert,
    NothingToChange,
    Patch,
    Replace,
    ReplaceText,
    Whole,
)
from kith.edits.match import Keys, Place, positions
from kith.edits.paths import check_path
from kith.edits.replace import replace_text
from kith.edits.rows import BOM, decode, encode, is_binary, split_keys, split_rows
from kith.edits.splice import apply_hunks, splice

Files = Mapping[str, bytes | None]
NO_MODES: Mapping[str, int] = {}
_NEAR = 10  # lines; models miscount, but not by more


def paths_of(edits: Sequence[Edit]) -> tuple[str, ...]:
    """Every file that must be read before the edits can be applied. Raises EditError for a bad path."""
    paths = []
    for edit in edits:
        paths.append(check_path(edit.path))
        if isinstance(edit, Patch) and edit.moved_to:
            paths.append(check_path(edit.moved_to))
    return tuple(dict.fromkeys(paths))


def make_changes(
    edits: Sequence[Edit],
    files: Files,
    modes: Mapping[str, int] = NO_MODES,
    known: Collection[str] = (),
) -> Changes:
    """The edits, one after the other, as changes of `files` (None: there is no such file).

    `files` must hold every path of `paths_of`; `modes` are git's, FILE where nothing is said, and `known`
    all the names among which one that is missing may be meant. Raises EditError, a letter to the model, when
    any edit does not fit, and NothingToChange when all of them together change nothing.
    """
    draft = _Draft(files, modes, edits)
    faults, absent = dict[int, str](), False
    for index, edit in enumerate(edits):
        try:
            draft.take(edit)
        except FileNotFoundError:
            faults[index], absent = letter.no_file(edit.path, known), True
        except EditError as error:
            faults[index], absent = draft.explain(edit, error), absent or error.absent
        if len(faults) == letter.FAULTS:
            break
    if faults:
        raise EditError(letter.compose(edits, faults), absent=absent)
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
        path = check_path(edit.path)
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

    def explain(self, edit: Edit, error: EditError) -> str:
        """Why an edit does not fit, told of the file as it still is, not as earlier edits would leave it."""
        before = self.files.get(edit.path)
        if self.now.get(edit.path) == before or (isinstance(edit, Patch) and edit.moved_to):
            return str(error)
        try:
            _edited(edit, before)
        except (EditError, FileNotFoundError) as first:
            return str(first) if isinstance(first, EditError) else str(error)
        return f"it does not fit what the edits above make of this file: {error}"

    def _move(self, edit: Patch, target: str) -> None:
        """Move or copy a file. What a diff moves is the file as it was, whatever else became of it."""
        was = self.files[edit.path]
        source = self.now[edit.path] if was is None else was
        taken = self.now[check_path(target)] is not None
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
            raise EditError(letter.far(rows, line))


def _text_only(after: bytes | None) -> bytes | None:
    if after is not None and is_binary(after):
        raise EditError("the new text holds a NUL byte.")
    return after


def _moves(edit: Edit) -> bool:
    return isinstance(edit, Patch) and bool(edit.moved_to) and not edit.copied


def _edited(edit: Edit, before: bytes | None) -> bytes | None:
    """What one edit makes of its file; None: it is gone. Raises EditError, FileNotFoundError."""
    match edit:
        case Create(content=content):
            if before is not None:
                raise EditError("this file exists already; change it instead of adding it.")
            return encode(content)
        case Delete(content=content):
            if before is None:
                raise EditError("there is no such file to delete.", absent=True)
            if content is not None and split_keys(decode(before)) != split_keys(content):
                raise EditError("the file to delete says something else than what you sent.")
            return None
        case Whole(content=content):
            return _rewrite(before, content)
        case Replace():
            return _replace(edit, before)
        case ReplaceText():
            return _replace_text(edit, before)
        case Insert(line=line, text=text):
            if before is None:
                raise FileNotFoundError(edit.path)
            return _insert(text, line, before)
        case Patch():
            return _patched(edit, before)


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


def _replace_text(edit: ReplaceText, before: bytes | None) -> bytes:
    if not before and not edit.old:
        return encode(edit.new)
    if before is None:
        raise FileNotFoundError(edit.path)
    try:
        return replace_text(before, edit.old, edit.new, edit.path, edit.all_matches)
    except EditError as error:
        raise EditError(str(error).removeprefix(f"{edit.path} was not changed: ")) from None


def _insert(new: str, line: int, before: bytes) -> bytes:
    text = decode(before)
    mark = BOM if text.startswith(BOM) else ""
    text = text.removeprefix(mark)
    count = len(split_rows(text))
    if not 1 <= line <= count + 1:
        raise EditError(f"there is no line {line}; the file has {count} lines.")
    hunk = Hunk(tuple("+" + row for row in split_keys(new)))
    return encode(mark + splice(text.split("\n"), [(Place(line - 1), hunk)]).removeprefix(mark))


def _patched(edit: Patch, before: bytes | None) -> bytes:
    if before is None:
        if any(hunk.old for hunk in edit.hunks) or not edit.hunks:
            raise FileNotFoundError(edit.path)
        before = b""
    after = encode(apply_hunks(decode(before), edit.hunks))
    if after == before and any("\\" in line[:1] for hunk in edit.hunks for line in hunk.lines):
        raise EditError(letter.ALREADY)  # all that they say is where a newline goes
    return after


def _rewrite(before: bytes | None, content: str) -> bytes:
    """New content for a whole file; rows that stay keep their bytes, new ones the file's terminator."""
    if not before:
        return encode(content)
    text = decode(before)
    mark = BOM if text.startswith(BOM) else ""
    text = text.removeprefix(mark)
    hunk = hunk_between(split_keys(text), split_keys(content.removeprefix(mark)))
    return encode(mark + splice(text.split("\n"), [(Place(0), hunk)]))
