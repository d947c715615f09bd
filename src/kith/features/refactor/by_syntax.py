"""Refactorings that need no model: read which one a person wants, and make it on the side."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from kith.agent.ready_edits import Edit, MoreEdits
from kith.context.find_lines import files_holding
from kith.core.errors import UsageError
from kith.core.run import Run
from kith.core.values import Changes
from kith.core.workspace import read_readable
from kith.edits.rename import holds_word, language_of, rename_symbol
from kith.features.refactor.syntax.blocks import defines
from kith.features.refactor.syntax.codebase import Codebase, Refactoring
from kith.features.refactor.syntax.cpp import ENDINGS, organise_includes, rename_local
from kith.features.refactor.syntax.extract import extract
from kith.features.refactor.syntax.inline import inline
from kith.features.refactor.syntax.move import move
from kith.features.refactor.syntax.organise import organise_imports, remove
from kith.features.refactor.syntax.rename import rename

# Read which refactoring a person wants, of those that need no model.


class Rename(Struct, frozen=True):
    """`rename PATH:NAME NEW`."""

    path: str
    name: str
    new: str


class Move(Struct, frozen=True):
    """`move PATH:NAME[,NAME ...] TARGET.py`; no names: all of the file."""

    path: str
    names: tuple[str, ...]
    target: str


class Extract(Struct, frozen=True):
    """`extract PATH:FIRST-LAST NAME`."""

    path: str
    first: int
    last: int
    name: str


class Inline(Struct, frozen=True):
    """`inline PATH:NAME`."""

    path: str
    name: str


class Remove(Struct, frozen=True):
    """`remove PATH:NAME`: a definition that nothing uses."""

    path: str
    name: str


class Organise(Struct, frozen=True):
    """`organise-imports PATH`: a file, or all files of a folder."""

    where: str


Wanted = Rename | Move | Extract | Inline | Remove | Organise
FORMS = {
    "rename": "rename PATH:NAME NEW",
    "move": "move PATH:NAME TARGET.py",
    "extract": "extract PATH:FIRST-LAST NAME",
    "inline": "inline PATH:NAME",
    "remove": "remove PATH:NAME",
    "organise-imports": "organise-imports PATH",
}


def read_wanted(words: Sequence[str]) -> Wanted:
    """Read what a command line asks for. Raises UsageError with the form it should have."""
    kind, *given = words
    if kind not in FORMS or len(given) != len(FORMS[kind].split()) - 1:
        forms = [FORMS[kind]] if kind in FORMS else list(FORMS.values())
        raise UsageError(f"Write kith refactor {', '.join(forms)}.")
    first = given[0]
    if kind == "organise-imports":
        return Organise(_plain(first))
    if kind == "move":
        path, _, names = _plain(first).partition(":")
        return Move(path, tuple(name for name in names.split(",") if name), _plain(given[1]))
    path, rest = _split_target(first, "FIRST-LAST" if kind == "extract" else "NAME")
    if kind == "extract":
        return Extract(path, *_read_lines(rest), given[1])
    if kind == "rename":
        return Rename(path, rest, given[1])
    return Inline(path, rest) if kind == "inline" else Remove(path, rest)


def _plain(path: str) -> str:
    return path.removeprefix("./").rstrip("/") or "."


def _split_target(words: str, what: str = "NAME") -> tuple[str, str]:
    """Path and the rest. Raises UsageError when there is no colon."""
    path, colon, rest = words.rpartition(":")
    if not colon or not path or not rest:
        raise UsageError(f"{words!r} names no place; write PATH:{what}.")
    return path.removeprefix("./"), rest


def _read_lines(words: str) -> tuple[int, int]:
    """`10-24` as two numbers, `10` as one line. Raises UsageError."""
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", words)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 0 < first <= last:
        raise UsageError(f"{words!r} are no lines; write FIRST-LAST, such as 10-24.")
    return first, last


PYTHON = (".py", ".pyi", ".pyw")


class PreparedChange(Struct, frozen=True):
    """A change that waits to be judged, and what a person should know of it."""

    changes: Changes
    notes: tuple[str, ...] = ()


async def make_refactoring(run: Run, wanted: Wanted) -> PreparedChange:
    """Find what a refactoring would change in `run.workspace`, which itself stays as it is.

    Raises UsageError with one sentence when it cannot be done, TreeError when a file cannot be read.
    """
    files = await run.workspace.files()
    if isinstance(wanted, Organise):
        done = await _organise(run, wanted, files)
    elif isinstance(wanted, Rename) and not wanted.path.endswith(PYTHON):
        done = await _rename_elsewhere(run, wanted, files)
    else:
        _check_python(wanted.path, files)
        done = _in_python(await _codebase(run, wanted, files), wanted)
    if not any(True for _ in done.files):
        raise UsageError("There is nothing to do: the files already have this change.")
    return PreparedChange(await to_changes(run, done.files), done.notes)


def _check_python(path: str, files: Sequence[str]) -> None:
    if path not in files:
        raise UsageError(f"There is no file {path}.")
    if not path.endswith(PYTHON):
        raise UsageError(f"{path} is not Python; there kith only renames and organises includes.")


def _in_python(code: Codebase, wanted: Rename | Move | Extract | Inline | Remove) -> Refactoring:
    match wanted:
        case Rename():
            return rename(code, wanted.path, wanted.name, wanted.new)
        case Move():
            return move(code, wanted.path, wanted.names, wanted.target)
        case Extract():
            return extract(code, wanted.path, wanted.first, wanted.last, wanted.name)
        case Inline():
            return inline(code, wanted.path, wanted.name)
        case Remove():
            return remove(code, wanted.path, wanted.name)


async def _codebase(
    run: Run, wanted: Rename | Move | Extract | Inline | Remove, files: Sequence[str]
) -> Codebase:
    """The Python files that matter: all where imports must be followed, else those with the name."""
    python = [path for path in files if path.endswith(PYTHON)]
    chosen = python
    if isinstance(wanted, Extract):
        chosen = [wanted.path]
    elif isinstance(wanted, Rename | Inline) and "." not in wanted.name:
        named = await files_holding(run, wanted.name, python)
        handing_on = await files_holding(run, "import *", python)  # without a word of what they hand on
        chosen = [*named, *handing_on, wanted.path]
    return Codebase.of(await read_readable(run.workspace, chosen), frozenset(files))


async def to_changes(run: Run, files: Mapping[str, bytes | None]) -> Changes:
    """New contents as changes; a trial knows what the bytes do not say: modes, and where a link leads."""
    async with run.workspace.trial() as trial:
        for path, content in files.items():
            await trial.write(path, content)
        return await trial.changes()


async def rename_by_scope(
    run: Run, old: str, new: str, candidates: Sequence[str], files: Sequence[str]
) -> dict[str, bytes]:
    """A name that one Python module defines at its top and no other language speaks of, renamed by its scope.

    Empty when it is no such name, or `candidates` (the files that may hold it) cannot all be understood.
    """
    contents = await read_readable(run.workspace, candidates)
    holding = [path for path, content in contents.items() if holds_word(content, old)]
    if not all(path.endswith(PYTHON) for path in holding):
        return {}
    python = [path for path in files if path.endswith(PYTHON)]
    handing_on = await read_readable(run.workspace, await files_holding(run, "import *", python))
    code = Codebase.of({path: contents[path] for path in holding} | handing_on, frozenset(files))
    try:
        definers = [path for path in holding if defines(code.names(path), old)]
        if len(definers) != 1:
            return {}
        done = rename(code, definers[0], old, new)
    except UsageError:
        return {}
    return {path: content for path, content in done.files.items() if content is not None}


# --- imports and includes --------------------------------------------------------------------


async def _organise(run: Run, wanted: Organise, files: Sequence[str]) -> Refactoring:
    inside = "" if wanted.where == "." else f"{wanted.where}/"
    chosen = [wanted.where] if wanted.where in files else [path for path in files if path.startswith(inside)]
    python = [path for path in chosen if path.endswith(".py")]
    others = [path for path in chosen if path.endswith(ENDINGS)]
    if not python and not others:
        raise UsageError(f"There is no Python, C or C++ file at {wanted.where}.")
    made: dict[str, bytes | None] = {}
    notes: tuple[str, ...] = ()
    if python:
        everything = [path for path in files if path.endswith(PYTHON)]
        code = Codebase.of(await read_readable(run.workspace, everything), frozenset(files))
        done = organise_imports(code, python)
        made, notes = dict(done.files), done.notes
    for path, content in (await read_readable(run.workspace, others)).items():
        if (new := organise_includes(path, content)) != content:
            made[path] = new
    return Refactoring(made, notes)


# --- other languages -------------------------------------------------------------------------


async def _rename_elsewhere(run: Run, wanted: Rename, files: Sequence[str]) -> Refactoring:
    """A variable of a C++ function in its scope; else an identifier, everywhere in files of its language."""
    language = language_of(wanted.path)
    if wanted.path not in files:
        raise UsageError(f"There is no file {wanted.path}.")
    if not language:
        raise UsageError(f"{wanted.path} is in no language that kith can rename names in.")
    if "." in wanted.name and wanted.path.endswith(ENDINGS):
        content = await run.workspace.read(wanted.path)
        return Refactoring({wanted.path: rename_local(wanted.path, content, wanted.name, wanted.new)})
    family = [path for path in files if language_of(path) in _relatives(language)]
    contents = await read_readable(run.workspace, await files_holding(run, wanted.name, family))
    if not holds_word(contents.get(wanted.path, b""), wanted.name):
        raise UsageError(f"{wanted.path} has no {wanted.name}.")
    made: dict[str, bytes | None] = {}
    for path, content in contents.items():
        try:
            renamed, count = rename_symbol(content, wanted.name, wanted.new, language_of(path))
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None
        if count:
            made[path] = renamed
    return Refactoring(made, (f"Every identifier {wanted.name} was renamed; scopes were not looked at.",))


def _relatives(language: str) -> frozenset[str]:
    families = ({"c", "cpp"}, {"javascript", "typescript", "tsx"})
    return frozenset(next((family for family in families if language in family), {language}))


# --- among the edits of a request in words ---------------------------------------------------


_TEXT: Final = {"type": "string"}


async def _edit_by_action(args: Mapping[str, Any], run: Run) -> Changes:
    words = [args["action"], args["target"], *([args["to"]] if args.get("to") else [])]
    return (await make_refactoring(run, read_wanted(words))).changes


EDITS: Final = MoreEdits(
    {
        "refactor": Edit(
            "{action} {target} {to}",
            f"Refactor by syntax tree: {'; '.join(FORMS.values())}. `target` comes first, then `to`.",
            {
                "type": "object",
                "properties": {"action": {**_TEXT, "enum": list(FORMS)}, "target": _TEXT, "to": _TEXT},
                "required": ["action", "target"],
            },
            _edit_by_action,
        )
    },
    rename_by_scope,
)
