"""From edits and the files as they are to Changes: all of them, or a letter to the model."""

from collections.abc import Mapping, Sequence

from kith.core.values import EXECUTABLE, FILE, Change, Changes
from kith.edits import letter
from kith.edits.diffing import hunk_between
from kith.edits.forms import Create, Delete, Edit, EditError, Patch, Replace, Whole
from kith.edits.match import Place
from kith.edits.paths import check_path
from kith.edits.rows import BOM, decode, encode, is_binary, split_keys
from kith.edits.splice import apply_hunks, splice

Files = Mapping[str, bytes | None]


def paths_of(edits: Sequence[Edit]) -> tuple[str, ...]:
    """Every file that must be read before the edits can be applied. Raises EditError for a bad path."""
    paths = []
    for edit in edits:
        paths.append(check_path(edit.path))
        if isinstance(edit, Patch) and edit.moved_to:
            paths.append(check_path(edit.moved_to))
    return tuple(dict.fromkeys(paths))


def make_changes(edits: Sequence[Edit], files: Files) -> Changes:
    """The edits, one after the other, as changes of `files` (None: there is no such file).

    `files` must hold every path of `paths_of`. Raises EditError, a letter to the model, when any edit
    does not fit, or when all of them together change nothing.
    """
    now, faults = dict(files), dict[int, str]()
    for index, edit in enumerate(edits):
        try:
            now.update(_apply(edit, now))
        except EditError as error:
            faults[index] = str(error)
    if faults:
        raise EditError(letter.compose(edits, faults))
    modes = {_target(edit): edit.mode for edit in edits if isinstance(edit, Patch | Create)}
    changes = tuple(_change(path, files[path], after, modes.get(path)) for path, after in now.items())
    changes = tuple(change for change in changes if change != change.inverse)
    if not changes:
        raise EditError("Nothing was changed: the files already say what you sent.")
    return changes


def _target(edit: Patch | Create) -> str:
    return (isinstance(edit, Patch) and edit.moved_to) or edit.path


def _change(path: str, before: bytes | None, after: bytes | None, mode: int | None) -> Change:
    """One file's change; `mode` is set where a diff says that it becomes that one, from the other."""
    if mode is None or after is None:
        return Change(path, before, after)
    other = FILE if mode == EXECUTABLE else EXECUTABLE
    return Change(path, before, after, mode, FILE if before is None else other)


def _apply(edit: Edit, now: Files) -> dict[str, bytes | None]:
    """What one edit makes of the files it touches. Raises EditError."""
    path = check_path(edit.path)
    before = now[path]
    if before is not None and is_binary(before) and not isinstance(edit, Delete):
        raise EditError("this is a binary file; only text can be edited.")
    match edit:
        case Create(content=content):
            if before is not None:
                raise EditError("this file exists already; change it instead of adding it.")
            return {path: _new_content(content)}
        case Delete(content=content):
            if before is None:
                raise EditError("there is no such file to delete.")
            if content is not None and split_keys(decode(before)) != split_keys(content):
                raise EditError("the file to delete says something else than what you sent.")
            return {path: None}
        case Whole(content=content):
            return {path: _rewrite(before, content)}
        case Replace():
            return {path: _replace(edit, before)}
        case Patch():
            return _patch(edit, before, now)


def _replace(edit: Replace, before: bytes | None) -> bytes:
    if not before and not edit.old.strip():
        return _new_content(edit.new)
    if not edit.old:
        raise EditError("this file is not empty; send the lines to change, and the lines to put there.")
    if before is None:
        raise EditError("there is no such file.")
    hunk = hunk_between(split_keys(edit.old), split_keys(edit.new), edit.line)
    return encode(apply_hunks(decode(before), [hunk]))


def _patch(edit: Patch, before: bytes | None, now: Files) -> dict[str, bytes | None]:
    if before is None:
        if edit.moved_to or any(hunk.old for hunk in edit.hunks) or not edit.hunks:
            raise EditError("there is no such file.")
        before = b""
    after = encode(apply_hunks(decode(before), edit.hunks))
    if b"\0" in after:
        raise EditError("the new text holds a NUL byte.")
    if not edit.moved_to or edit.moved_to == edit.path:
        return {edit.path: after}
    if now[check_path(edit.moved_to)] is not None:
        raise EditError(f"{edit.moved_to} exists already; nothing is moved over it.")
    return {edit.path: None, edit.moved_to: after}


def _rewrite(before: bytes | None, content: str) -> bytes:
    """New content for a whole file; rows that stay keep their bytes, new ones the file's terminator."""
    if not before:
        return _new_content(content)
    text = decode(before)
    mark = BOM if text.startswith(BOM) else ""
    text = text.removeprefix(mark)
    hunk = hunk_between(split_keys(text), split_keys(content.removeprefix(mark)))
    return encode(mark + splice(text, [(Place(0), hunk)]))


def _new_content(content: str) -> bytes:
    if "\0" in content:
        raise EditError("the new text holds a NUL byte.")
    return encode(content)
