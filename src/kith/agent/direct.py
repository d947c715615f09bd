"""Requests that need no model: replace, append, insert and rename, written in one exact form each."""

import codecs
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kith.context.git_paths import list_paths
from kith.core.errors import TreeError, UsageError
from kith.core.run import Run
from kith.core.values import Changes
from kith.core.workspace import ExecLimits
from kith.edits.rename import holds_word, language_of, rename_symbol
from kith.edits.rows import split_rows, terminator
from kith.settings.features import all_parts

# Edits that need no model: what one takes and makes, and what features add to them.

Make = Callable[[Mapping[str, Any], Run], Awaitable[Changes]]
# Renames an identifier (old, new) in the files that may hold it, of all that there are: their new contents,
# none where it cannot tell what the name means.
Rename = Callable[[Run, str, str, Sequence[str], Sequence[str]], Awaitable[Mapping[str, bytes]]]


@dataclass(frozen=True, slots=True)
class Edit:
    """A deterministic edit: the JSON Schema of its arguments, a title that holds them, and its change.

    That is made on the side: `run.workspace` stays as it is.
    """

    title: str
    description: str
    schema: Mapping[str, Any]
    make: Make


@dataclass(frozen=True, slots=True)
class MoreEdits:
    """A feature's additions: edits by name, and a better way to rename than by words."""

    edits: Mapping[str, Edit] = field(default_factory=dict)
    rename: Rename | None = None


_GREP_LIMITS = ExecLimits(seconds=20.0, output=8_000_000)
_WORTH_GREP = 100  # files; fewer are read sooner than git starts


async def files_holding(run: Run, word: str, paths: Sequence[str]) -> Sequence[str]:
    """Those of the files that may hold the word."""
    if len(paths) < _WORTH_GREP or not run.workspace.confined:
        return paths
    holding = await list_paths(run, ["grep", "-lazF", "--untracked", "-e", word], _GREP_LIMITS)
    return paths if holding is None else sorted(frozenset(holding).intersection(paths))


@dataclass(frozen=True, slots=True)
class ReplaceText:
    """`replace "old" with "new" in where`: everywhere in one file, or in all files a pattern matches."""

    old: str
    new: str
    where: str


@dataclass(frozen=True, slots=True)
class AppendText:
    """`append "text" to path`: as new lines at the end of a file."""

    text: str
    path: str


@dataclass(frozen=True, slots=True)
class InsertText:
    """`insert "text" before|after "anchor" in path`.

    For a whole line as anchor, the text becomes lines of its own with the same indentation. Inside a
    line, the text is put directly beside the anchor.
    """

    text: str
    anchor: str
    before: bool
    path: str


@dataclass(frozen=True, slots=True)
class RenameSymbol:
    """`rename old to new`: an identifier, in every source file."""

    old: str
    new: str


Direct = ReplaceText | AppendText | InsertText | RenameSymbol


class BeyondError(UsageError):
    """The request is literal, but needs more than these forms: a model may be able to do it."""


# --- the words -------------------------------------------------------------------------------

_QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|“(?:[^”\\]|\\.)*”|‘(?:[^’\\]|\\.)*’)"""
_BARE = r"""[^\s"'`“”‘’]+?"""
_FILE = rf"({_QUOTED}|{_BARE})"


def _form(*words: str) -> re.Pattern[str]:
    return re.compile(r"\s*" + r"\s+".join(words) + r"\s*\.?\s*", re.I | re.S)


_REPLACE: Final = _form("replace", f"({_QUOTED})", "with", f"({_QUOTED})", "in", _FILE)
_APPEND: Final = _form("append", f"({_QUOTED})", "to", _FILE)
_INSERT: Final = _form("insert", f"({_QUOTED})", "(before|after)", f"({_QUOTED})", "in", _FILE)
_RENAME: Final = _form("rename", _FILE, "to", _FILE)
_SYMBOL: Final = re.compile(r"[\w$]+(?:(?:\.|::)[\w$]+)*")
_FILE_NAME: Final = re.compile(
    r"\.(?:cfg|css|csv|html|ini|java|json|lock|log|md|rb|rst|sh|toml|txt|xml|ya?ml)$", re.I
)
# "rename it to x" is a sentence, not the name of a symbol.
_PRONOUNS: Final = frozenset({"all", "everything", "file", "files", "it", "that", "them", "these", "this"})


def parse_direct(task: str) -> Direct | None:
    r"""The request that a task is, when all of its words are one of the four forms; else None.

    Texts have straight, curly or single quotes or backticks, with the escapes `\n`, `\t`, `\\` and
    quotes. Files and symbols need quotes only for spaces. Verbs may be in capitals.
    """
    if found := _REPLACE.fullmatch(task):
        return ReplaceText(_unescape(found[1]), _unescape(found[2]), _plain(found[3]))
    if found := _APPEND.fullmatch(task):
        return AppendText(_unescape(found[1]), _plain(found[2]))
    if found := _INSERT.fullmatch(task):
        before = found[2].lower() == "before"
        return InsertText(_unescape(found[1]), _unescape(found[3]), before, _plain(found[4]))
    if found := _RENAME.fullmatch(task):
        return _rename(found[1], found[2])
    return None


def _rename(old: str, new: str) -> RenameSymbol | None:
    """None for what reads like a sentence or names files."""
    if old.lower() in _PRONOUNS:
        return None
    old, new = _plain(old), _plain(new)
    files = language_of(old) or _FILE_NAME.search(old) or "." in new
    symbols = _SYMBOL.fullmatch(old) and _SYMBOL.fullmatch(new)
    return RenameSymbol(old, new) if symbols and not files else None


def _unescape(quoted: str) -> str:
    return re.sub(r"\\(.)", _escaped, quoted[1:-1], flags=re.S)


def _escaped(match: re.Match[str]) -> str:
    meant = {"n": "\n", "t": "\t", "\\": "\\"} | {quote: quote for quote in "\"'`“”‘’"}
    return meant.get(match[1], match[0])


def _plain(name: str) -> str:
    inner = name[1:-1] if re.fullmatch(_QUOTED, name, re.S) else name
    return inner.removeprefix("./")


# --- the change ------------------------------------------------------------------------------


async def make_direct(direct: Direct, run: Run) -> Changes:
    """The changes that a request makes to `run.workspace`, which stays unchanged.

    Raises UsageError for a missing file or text, an ambiguous anchor, a new name in use, or nothing to do.
    Raises BeyondError where a model could do it, and TreeError when a file cannot be read.
    """
    if isinstance(direct, RenameSymbol):
        edited = [each async for each in _renamed(direct, run)]
    elif isinstance(direct, ReplaceText):
        edited = [each async for each in _replaced(direct, run)]
    else:
        path = await _existing(run, direct.path)
        text = await _read_text(run, path)
        new = _append(text.text, direct) if isinstance(direct, AppendText) else _insert(text, direct)
        edited = [(path, text.encode(new))]
    # A trial knows what the bytes alone do not say: modes, and where a link leads.
    async with run.workspace.trial() as trial:
        for path, content in edited:
            await trial.write(path, content)
        return await trial.changes()


@dataclass(frozen=True, slots=True)
class _Text:
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


def _decode(path: str, content: bytes) -> _Text:
    """UTF-16 with its mark, UTF-8, or else Latin-1, which keeps every byte."""
    for mark, codec in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if content.startswith(mark) and len(content) % 2 == 0:
            return _Text(path, content.decode(codec, "surrogatepass"), codec)
    if b"\0" in content:
        raise UsageError(f"{path} is not a text file.")
    try:
        return _Text(path, content.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return _Text(path, content.decode("latin-1"), "latin-1")


async def _read_text(run: Run, path: str) -> _Text:
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


def _pattern(text: str) -> re.Pattern[str]:
    """The text, whichever line terminators the file has."""
    return re.compile(r"\r?\n".join(map(re.escape, text.split("\n"))))


async def _replaced(direct: ReplaceText, run: Run) -> AsyncIterator[tuple[str, bytes]]:
    if not direct.old or direct.old == direct.new:
        raise UsageError("There is nothing to do: the old text is empty or the same as the new one.")
    chosen = await _matching(run, direct.where)
    pattern, found = _pattern(direct.old), False
    for path in chosen:
        try:
            text = await _read_text(run, path)
        except (TreeError, UsageError):
            if len(chosen) == 1:
                raise
            continue  # a pattern may match pictures and links too
        parts = pattern.split(text.text)
        if len(parts) > 1:
            found = True
            yield path, text.encode(direct.new.replace("\n", text.end).join(parts))
    if not found:
        raise UsageError(f"{direct.where} does not hold {direct.old!r}.")


async def _matching(run: Run, where: str) -> Sequence[str]:
    """One file by its path, or all that a pattern matches, as in a .gitignore file."""
    from pathspec import GitIgnoreSpec

    files = await run.workspace.files()
    if where in files or not any(sign in where for sign in "*?["):
        return [await _existing(run, where)]
    chosen = list(GitIgnoreSpec.from_lines([where]).match_files(files))
    if not chosen:
        raise UsageError(f"No file matches {where}.")
    return chosen


def _append(text: str, direct: AppendText) -> str:
    """New lines at the end; a file without a final newline stays without one."""
    if not direct.text:
        raise UsageError("There is nothing to do: the text to append is empty.")
    end = terminator([], split_rows(text))
    new = direct.text.removesuffix("\n").replace("\n", end)
    return text + new + end if not text or text.endswith("\n") else text + end + new


def _insert(text: _Text, direct: InsertText) -> str:
    if not direct.text or not direct.anchor:
        raise UsageError("There is nothing to do: the text to insert or the text to find is empty.")
    found = list(_pattern(direct.anchor).finditer(text.text))
    if not found:
        raise UsageError(f"{direct.path} does not hold {direct.anchor!r}.")
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


def _insert_lines(text: _Text, direct: InsertText, above: int, below: int) -> str:
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


async def _renamed(direct: RenameSymbol, run: Run) -> AsyncIterator[tuple[str, bytes]]:

    files = await run.workspace.files()
    _refuse_modules(direct.old, files)
    if not direct.old.replace("$", "_").isidentifier():
        raise BeyondError(f"{direct.old} is not a plain name; only those can be renamed everywhere.")
    candidates = await files_holding(run, direct.old, [path for path in files if language_of(path)])
    by_scope = await _by_scope(direct, run, candidates, files)
    for path, content in by_scope.items():
        yield path, content
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
            yield path, renamed
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
