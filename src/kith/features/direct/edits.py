"""Edits that need no model: replace, delete, append, prepend, insert, rename and move, as values."""

import codecs
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Struct

from kith.agent.ready_edits import Edit, MoreEdits
from kith.context.find_lines import files_holding
from kith.core.errors import TreeError, UsageError
from kith.core.patterns import lazy_pattern
from kith.core.run import Run
from kith.core.values import Change, Changes
from kith.core.workspace import Trial
from kith.edits.rename import holds_word, language_of, rename_symbol
from kith.edits.rows import split_rows, terminator
from kith.settings.features import all_parts


class ReplaceText(Struct, frozen=True):
    """Replace a text everywhere in some files; `regex`: `old` is a regular expression, `new` its template.

    Each of `where` is a path, or a pattern as in a .gitignore file.
    """

    old: str
    new: str
    where: tuple[str, ...]
    regex: bool = False


class DeleteText(Struct, frozen=True):
    """Delete a text, or what a regular expression matches, everywhere in some files."""

    text: str
    where: tuple[str, ...]
    regex: bool = False


class DeleteMatching(Struct, frozen=True):
    """Delete every line that holds a text, in some files."""

    text: str
    where: tuple[str, ...]


class DeleteLines(Struct, frozen=True):
    """Delete lines by their numbers: from 1, both included."""

    first: int
    last: int
    path: str


class AppendText(Struct, frozen=True):
    """Add a text as new lines at the end of files."""

    text: str
    paths: tuple[str, ...]


class PrependText(Struct, frozen=True):
    """Add a text as new lines at the top of files: below a `#!` line and a byte order mark."""

    text: str
    paths: tuple[str, ...]


class InsertText(Struct, frozen=True):
    """Insert a text before or after an anchor that occurs once in the file.

    For a whole line as anchor, the text becomes lines of its own with the same indentation. Inside a
    line, the text is put directly beside the anchor.
    """

    text: str
    anchor: str
    before: bool
    path: str


class InsertAtLine(Struct, frozen=True):
    """Insert a text as lines of its own before or after a line, counted from 1."""

    text: str
    line: int
    before: bool
    path: str


class RenameSymbol(Struct, frozen=True):
    """Rename an identifier in every source file."""

    old: str
    new: str


class RenameFile(Struct, frozen=True):
    """Move a file that no other one imports. A `new` that ends with a slash is a folder."""

    old: str
    new: str


class DeleteFile(Struct, frozen=True):
    """Delete one file."""

    path: str


Direct = (
    ReplaceText
    | DeleteText
    | DeleteMatching
    | DeleteLines
    | AppendText
    | PrependText
    | InsertText
    | InsertAtLine
    | RenameSymbol
    | RenameFile
    | DeleteFile
)


class Made(Struct, frozen=True):
    """The changes that a request makes, and in how many places of the files (0: not counted)."""

    changes: Changes
    places: int = 0


class BeyondError(UsageError):
    """The request is literal, but needs more than these forms: a model may be able to do it."""


# --- the change ------------------------------------------------------------------------------


async def make_direct(direct: Direct, run: Run) -> Made:
    """The changes that a request makes to `run.workspace`, which stays unchanged.

    Raises UsageError for a missing file or text, an ambiguous anchor, a new name in use, or nothing to do.
    Raises BeyondError where a model could do it, and TreeError when a file cannot be read.
    """
    # A trial knows what the bytes alone do not say: modes, and where a link leads.
    async with run.workspace.trial() as trial:
        match direct:
            case RenameFile():
                return Made(await _moved(direct, run, trial))
            case DeleteFile(path):
                await trial.write(await _existing(run, path), None)
                return Made(await trial.changes())
            case RenameSymbol():
                edited = [each async for each in _renamed(direct, run)]
            case ReplaceText() | DeleteText() | DeleteMatching():
                edited = [each async for each in _substituted(direct, run)]
            case AppendText() | PrependText():
                edited = [await _extended(direct, path, run) for path in direct.paths]
            case InsertText() | InsertAtLine() | DeleteLines():
                path = await _existing(run, direct.path)
                text = await _read_text(run, path)
                edited = [(path, text.encode(_edited(text, direct)), 1)]
        for path, content, _ in edited:
            await trial.write(path, content)
        return Made(await trial.changes(), sum(places for _, _, places in edited))


# A file, its new content, and in how many places that differs.
_Edited = tuple[str, bytes, int]


class _DecodedFile(Struct, frozen=True):
    """A file's text and how its bytes say it; a byte order mark is part of the text."""

    path: str
    text: str
    codec: str

    @property
    def end(self) -> str:
        """The line terminator that most lines have."""
        return terminator([], split_rows(self.text))

    def encode(self, text: str) -> bytes:
        try:
            return text.encode(self.codec)
        except UnicodeEncodeError as error:
            letter = text[error.start]
            raise UsageError(f"{self.path} is not written in UTF-8 and cannot hold {letter!r}.") from None


def _decode(path: str, content: bytes) -> _DecodedFile:
    """UTF-16 with its mark, UTF-8, or else Latin-1, which keeps every byte."""
    for mark, codec in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if content.startswith(mark) and len(content) % 2 == 0:
            return _DecodedFile(path, content.decode(codec, "surrogatepass"), codec)
    if b"\0" in content:
        raise UsageError(f"{path} is not a text file.")
    try:
        return _DecodedFile(path, content.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return _DecodedFile(path, content.decode("latin-1"), "latin-1")


async def _read_text(run: Run, path: str) -> _DecodedFile:
    return _decode(path, await run.workspace.read(path))


async def _existing(run: Run, path: str) -> str:
    files = await run.workspace.files()
    if path not in files:
        near = _nearest(path, files)
        raise UsageError(f"There is no file {path}" + (f"; the nearest is {near}." if near else "."))
    return path


def _nearest(path: str, files: Sequence[str]) -> str:
    """The file that was probably meant, "" when none is like it."""
    from rapidfuzz import fuzz, process

    name = path.rpartition("/")[2]
    same = [file for file in files if file.rpartition("/")[2] == name]
    found = process.extractOne(path, same or files, scorer=fuzz.ratio, score_cutoff=0 if same else 60)
    return str(found[0]) if found else ""


def _literal(text: str) -> str:
    """The expression that matches a text, whichever line terminators the file has."""
    return r"\r?\n".join(map(re.escape, text.split("\n")))


async def _substituted(direct: ReplaceText | DeleteText | DeleteMatching, run: Run) -> AsyncIterator[_Edited]:
    pattern, chosen, found = _search(direct), await _matching(run, direct.where), False
    for path in chosen:
        try:
            text = await _read_text(run, path)
        except (TreeError, UsageError):
            if len(chosen) == 1:
                raise
            continue  # a pattern may match pictures and links too
        done, places = pattern.subn(partial(_replacement, direct, text.end), text.text)
        if places:
            found = True
            yield path, text.encode(done), places
    if not found:
        old = direct.old if isinstance(direct, ReplaceText) else direct.text
        raise UsageError(f"{old!r} is not in {' or '.join(direct.where)}.")


def _search(direct: ReplaceText | DeleteText | DeleteMatching) -> re.Pattern[str]:
    """The expression to look for. Raises UsageError where it, or what shall replace it, is impossible."""
    old, new = (direct.old, direct.new) if isinstance(direct, ReplaceText) else (direct.text, "")
    if not old or old == new:
        raise UsageError("There is nothing to do: the old text is empty or the same as the new one.")
    if isinstance(direct, DeleteMatching):
        return re.compile(rf"^[^\n]*{_literal(old)}[^\n]*(?:\n|\Z)", re.M)
    if not direct.regex:
        return re.compile(_literal(old))
    try:
        pattern = re.compile(old, re.M)
        pattern.sub(new, "")  # a template may name a group that there is not
    except (re.error, IndexError) as error:
        raise UsageError(f"{old!r} cannot be used as a regular expression: {error}.") from None
    return pattern


def _replacement(direct: ReplaceText | DeleteText | DeleteMatching, end: str, match: re.Match[str]) -> str:
    """The text in place of a match, in a file whose lines end with `end`."""
    if not isinstance(direct, ReplaceText):
        return ""
    return (match.expand(direct.new) if direct.regex else direct.new).replace("\n", end)


async def _matching(run: Run, where: Sequence[str]) -> Sequence[str]:
    """Files by their paths, and all that patterns match, as in a .gitignore file; each once."""
    from pathspec import GitIgnoreSpec

    files = await run.workspace.files()
    chosen = dict[str, None]()
    for each in where:
        if each in files or not any(sign in each for sign in "*?["):
            matched = [await _existing(run, each)]
        elif not (matched := list(GitIgnoreSpec.from_lines([each]).match_files(files))):
            raise UsageError(f"No file matches {each}.")
        chosen |= dict.fromkeys(matched)
    return tuple(chosen)


async def _extended(direct: AppendText | PrependText, path: str, run: Run) -> _Edited:
    """A file with new lines at its end or its top."""
    if not direct.text:
        raise UsageError("There is nothing to do: the text to add is empty.")
    path = await _existing(run, path)
    text = await _read_text(run, path)
    new = _append(text, direct.text) if isinstance(direct, AppendText) else _prepend(text, direct.text)
    return path, text.encode(new), 1


def _append(text: _DecodedFile, new: str) -> str:
    """New lines at the end; a file without a final newline stays without one."""
    whole, body = text.text, new.removesuffix("\n").replace("\n", text.end)
    return whole + body + text.end if not whole or whole.endswith("\n") else whole + text.end + body


_TOP: Final = lazy_pattern("\ufeff?(?:#![^\n]*\n)?")  # what stays the first of a file


def _prepend(text: _DecodedFile, new: str) -> str:
    top = _TOP.match(text.text)
    at = top.end() if top else 0
    body = new.removesuffix("\n").replace("\n", text.end) + text.end
    return text.text[:at] + body + text.text[at:]


def _edited(text: _DecodedFile, direct: InsertText | InsertAtLine | DeleteLines) -> str:
    if isinstance(direct, InsertText):
        return _insert(text, direct)
    rows = split_rows(text.text)
    last = direct.line if isinstance(direct, InsertAtLine) else direct.last
    first = last if isinstance(direct, InsertAtLine) else direct.first
    if not 1 <= first <= last <= max(len(rows), 1):
        raise UsageError(f"{direct.path} has {len(rows)} lines.")
    if isinstance(direct, DeleteLines):
        return "".join(rows[: first - 1] + rows[last:])
    if not direct.text:
        raise UsageError("There is nothing to do: the text to insert is empty.")
    at = sum(map(len, rows[: direct.line - direct.before]))
    above, below = text.text[:at], text.text[at:]
    body = direct.text.removesuffix("\n").replace("\n", text.end)
    joined = above if not above or above.endswith("\n") else above + text.end
    return joined + body + (text.end if below or above.endswith("\n") or not above else "") + below


def _insert(text: _DecodedFile, direct: InsertText) -> str:
    if not direct.text or not direct.anchor:
        raise UsageError("There is nothing to do: the text to insert or the text to find is empty.")
    found = list(re.finditer(_literal(direct.anchor), text.text))
    if not found:
        raise UsageError(f"{direct.anchor!r} is not in {direct.path}.")
    if len(found) > 1:
        lines = ", ".join(str(text.text.count("\n", 0, match.start()) + 1) for match in found[:10])
        raise UsageError(f"{direct.anchor!r} occurs {len(found)} times in {direct.path} (lines {lines}).")
    start, end = found[0].span()
    above, below = text.text.rfind("\n", 0, start) + 1, text.text.find("\n", end) + 1 or len(text.text)
    lead, rest = text.text[above:start], text.text[end:below]
    if lead.strip("\ufeff \t") or rest.strip():
        at = start if direct.before else end
        return text.text[:at] + direct.text.replace("\n", text.end) + text.text[at:]
    return _insert_lines(text, direct, above, below)


def _insert_lines(text: _DecodedFile, direct: InsertText, above: int, below: int) -> str:
    """The text as lines before or after those from `above` to `below`."""
    whole = text.text
    above += whole.startswith("\ufeff", above)
    if direct.before or direct.text.endswith("\n"):
        body = direct.text.removesuffix("\n")
    else:
        body = direct.text.removeprefix("\n")
    deep = re.match(r"[ \t]*", whole[above:below])
    indent = "" if body[:1] in (" ", "\t") or deep is None else deep[0]
    rows = [indent + row if row else row for row in body.split("\n")]
    if direct.before:
        return whole[:above] + "".join(row + text.end for row in rows) + whole[above:]
    if whole[:below].endswith("\n"):
        return whole[:below] + "".join(row + text.end for row in rows) + whole[below:]
    return whole + "".join(text.end + row for row in rows)


# --- renaming --------------------------------------------------------------------------------


async def _renamed(direct: RenameSymbol, run: Run) -> AsyncIterator[_Edited]:
    files = await run.workspace.files()
    _refuse_modules(direct.old, files)
    if not direct.old.replace("$", "_").isidentifier():
        raise BeyondError(f"{direct.old} is not a plain name; only those can be renamed everywhere.")
    candidates = await files_holding(run, direct.old, [path for path in files if language_of(path)])
    by_scope = await _by_scope(direct, run, candidates, files)
    for path, content in by_scope.items():
        yield path, content, 0
    found = bool(by_scope)
    for path in [] if found else candidates:
        try:
            content = await run.workspace.read(path)
        except TreeError:
            continue  # a link that leads nowhere
        if not holds_word(content, direct.old):
            continue
        try:
            renamed, count = rename_symbol(content, direct.old, direct.new, language_of(path))
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None
        if count:
            found = True
            yield path, renamed, 0
    if not found:
        raise UsageError(f"No source file uses the name {direct.old}.")


async def _by_scope(
    direct: RenameSymbol, run: Run, candidates: Sequence[str], files: Sequence[str]
) -> Mapping[str, bytes]:
    """The new contents where a feature can tell what the name means; else none."""
    more: Iterable[MoreEdits] = all_parts(lambda each: each.edits)
    for each in more:
        if each.rename and (done := await each.rename(run, direct.old, direct.new, candidates, files)):
            return done
    return {}


def _refuse_modules(old: str, files: Sequence[str]) -> None:
    """A Python module is named by its file, which would have to move with the name."""
    for path in files:
        folder, _, name = path.rpartition("/")
        if name == f"{old}.py" or (name == "__init__.py" and folder.rpartition("/")[2] == old):
            raise BeyondError(f"{old} is also the module {path}; modules are not renamed this way.")


# --- moving a file ---------------------------------------------------------------------------


async def _moved(direct: RenameFile, run: Run, trial: Trial) -> Changes:
    """The file under its new name, with its mode. What other files import is for a model, or `refactor`."""
    old = await _existing(run, direct.old)
    new = direct.new + old.rpartition("/")[2] if direct.new.endswith("/") else direct.new
    if new in await run.workspace.files():
        raise UsageError(f"{new} exists already.")
    if language_of(old):
        raise BeyondError(f"{old} is source code, which other files may import.")
    content = await run.workspace.read(old)
    await trial.write(old, None)
    (gone,) = await trial.changes()
    await trial.apply((Change(new, None, content, gone.mode_before),))
    return await trial.changes()


# --- as tools --------------------------------------------------------------------------------


async def _changes(direct: Direct, run: Run) -> Changes:
    return (await make_direct(direct, run)).changes


def _schema(*required: str, **more: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that are texts, all of them needed, and others."""
    properties = {name: {"type": "string"} for name in required} | more
    return {"type": "object", "properties": properties, "required": list(required)}


EDITS: Final = MoreEdits(
    {
        "replace": Edit(
            "replace {old} by {new} in {where}",
            "Replace a text everywhere in a file, or in all files a pattern matches.",
            _schema("old", "new", "where"),
            lambda args, run: _changes(ReplaceText(args["old"], args["new"], (args["where"],)), run),
        ),
        "append": Edit(
            "append to {path}: {text}",
            "Add lines at the end of a file.",
            _schema("text", "path"),
            lambda args, run: _changes(AppendText(args["text"], (args["path"],)), run),
        ),
        "insert": Edit(
            "insert into {path}: {text}",
            "Put a text before or after an anchor that occurs once in the file.",
            _schema("text", "anchor", "path", before={"type": "boolean"}),
            lambda args, run: _changes(InsertText(**{"before": False, **args}), run),
        ),
        "rename": Edit(
            "rename {old} to {new}",
            "Rename an identifier in every source file.",
            _schema("old", "new"),
            lambda args, run: _changes(RenameSymbol(**args), run),
        ),
    }
)
