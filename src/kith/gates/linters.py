"""Find and run a project's linters: findings by file and line, or why a linter did not run."""

import configparser
import posixpath
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from kith.core.errors import TreeError
from kith.core.events import Notice
from kith.core.run import Run
from kith.core.values import Finding, Ran
from kith.core.workspace import Command, ExecLimits, Trial
from kith.gates.known_linters import (
    CPPCHECK_SUFFIXES,
    RUFF_SUFFIXES,
    SHELLCHECK_SUFFIXES,
    Linter,
    as_arguments,
    make_clang_tidy,
    make_cppcheck,
    make_mypy,
    make_pyright,
    make_ruff,
    make_shellcheck,
)
from kith.gates.toolchains import Read

# Which linters speak for a project: its own configuration says, and the languages it is written in.

_CLUES: Final = frozenset({".mypy.ini", "mypy.ini", "pyproject.toml", "setup.cfg"})
_RUFF: Final = "ruff.toml"
_END: Final = "\0"  # no path holds it
_READ_AT_MOST: Final = 8  # manifests of projects inside the project
# The keys of mypy's configuration that name what is checked.
_NAMES_FILES: Final = ("files", "packages", "modules")


def find_linters(files: Collection[str], read: Read) -> tuple[Linter, ...]:
    """The linters of a tree: for each language one that needs no asking, and what the project configures.

    `files` are paths relative to the root, `read` gives a file's bytes or None. Nobody looks here whether a
    tool is installed; that shows when it is run.
    """
    names = files if isinstance(files, frozenset) else frozenset(files)
    text = _as_text(files)
    found = [*_python(names, text, read)] if _has(text, RUFF_SUFFIXES) else []
    if _has(text, CPPCHECK_SUFFIXES):
        if "CMakeLists.txt" in names:
            found.append(make_clang_tidy(".clang-tidy" if ".clang-tidy" in names else ""))
        found.append(make_cppcheck())
    if _has(text, SHELLCHECK_SUFFIXES):
        found.append(make_shellcheck())
    return tuple(found)


def _as_text(files: Collection[str]) -> str:
    """All names as one text: tens of thousands are not searched one by one."""
    return _END.join((*files, ""))


def _has(text: str, suffixes: Iterable[str]) -> bool:
    """True if a name in the text has one of these endings."""
    return any(f"{suffix}{_END}" in text for suffix in suffixes)


def lint_clues(files: Collection[str]) -> tuple[str, ...]:
    """The files that `find_linters` would read: for who reads them beforehand."""
    return (*sorted(_CLUES.intersection(files)), *_inner_manifests(_as_text(files)))


def _inner_manifests(text: str) -> list[str]:
    """The manifests of projects inside the project, the outermost first; `text` holds all names."""
    if not _has(text, ["/pyproject.toml"]):
        return []
    inner = (path for path in text.split(_END) if path.endswith("/pyproject.toml"))
    return sorted(inner, key=lambda path: (path.count("/"), path))[:_READ_AT_MOST]


def _python(files: Collection[str], text: str, read: Read) -> Iterator[Linter]:
    tools = _tools(read("pyproject.toml")) if "pyproject.toml" in files else {}
    yield make_ruff(_ruff_rules(files, text, read, tools))
    settings = _mypy_settings(files, read, tools)
    if settings:
        path, keys = settings
        yield make_mypy(path, whole=any(keys.get(name) for name in _NAMES_FILES))
    if "pyrightconfig.json" in files:
        yield make_pyright("pyrightconfig.json")
    elif "pyright" in tools or "basedpyright" in tools:
        yield make_pyright("pyproject.toml")


def _ruff_rules(files: Collection[str], text: str, read: Read, tools: Mapping[str, Any]) -> str:
    """The file that holds rules for ruff, wherever in the tree, "" when there is none."""
    if _has(text, [_RUFF]):
        own = [path for path in files if path.rpartition("/")[2] in (_RUFF, f".{_RUFF}")]
        if own:
            return min(own, key=lambda path: (path.count("/"), path))
    if "ruff" in tools:
        return "pyproject.toml"
    return next((path for path in _inner_manifests(text) if "ruff" in _tools(read(path))), "")


def _mypy_settings(
    files: Collection[str], read: Read, tools: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]] | None:
    """The file that configures mypy and what it says, in the order in which mypy looks for it."""
    for path in ("mypy.ini", ".mypy.ini"):
        if path in files:
            return path, _section(read(path))
    if isinstance(tools.get("mypy"), dict):
        return "pyproject.toml", tools["mypy"]
    keys = _section(read("setup.cfg")) if "setup.cfg" in files else {}
    return ("setup.cfg", keys) if keys else None


def _tools(content: bytes | None) -> Mapping[str, Any]:
    try:
        tools = tomllib.loads((content or b"").decode("utf-8", "replace")).get("tool")
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    return tools if isinstance(tools, dict) else {}


def _section(content: bytes | None) -> Mapping[str, str]:
    """The section `[mypy]` of an ini file."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string((content or b"").decode("utf-8", "replace"))
        return dict(parser["mypy"]) if "mypy" in parser else {}
    except configparser.Error:
        return {}


_OUTPUT: Final = 8_000_000  # bytes: a cut in the middle would hide findings
_LONGEST_COMMAND: Final = 60_000  # characters of paths; Linux takes 128 KiB in one argument of `sh -c`


@dataclass(frozen=True, slots=True)
class Linted:
    """The findings of one linter on some files. `problem`: why they are missing or incomplete."""

    linter: Linter
    findings: tuple[Finding, ...] = ()
    problem: str = ""


async def project_linters(run: Run) -> tuple[Linter, ...]:
    """The linters of the run's tree."""
    files = await run.workspace.files()
    contents: dict[str, bytes] = {}
    for path in lint_clues(files):
        with suppress(TreeError):  # a link to nowhere, a folder: it says nothing of linters
            contents[path] = await run.workspace.read(path)
    return find_linters(files, contents.get)


def allowed_linters(run: Run, linters: Sequence[Linter]) -> tuple[tuple[Linter, ...], tuple[str, ...]]:
    """Those that may be run unasked, and why each of the others may not."""
    obeying = [each for each in linters if each.obeys and not run.workspace.confined]
    why = "was not run: without a sandbox that may run the project's own code."
    return tuple(each for each in linters if each not in obeying), tuple(
        f"{each.name} {why}" for each in obeying
    )


async def run_linters(
    run: Run, linters: Sequence[Linter], paths: Sequence[str], limits: ExecLimits
) -> tuple[Finding, ...]:
    """Every finding in `paths` (files that exist), by path and line; what could not run is said as a notice.

    Runs in a trial only. Without a sandbox the caller has asked first: a type checker may load plugins of the
    project's own.
    """
    wanted, found = frozenset(paths), set[Finding]()
    for linter in linters:
        linted = await run_linter(run, linter, paths, limits)
        if linted.problem:
            run.emit(Notice(linted.problem))
        found.update(each for each in linted.findings if each.path in wanted)
    return tuple(sorted(found, key=lambda each: (each.path, each.line, each.by, each.rule, each.text)))


async def run_linter(run: Run, linter: Linter, paths: Sequence[str], limits: ExecLimits) -> Linted:
    """Run one linter on these files; its findings may include other files."""
    understood = [path for path in paths if linter.understands(path)]
    if not understood:
        return Linted(linter)
    if linter.needs and not await _is_there(run, linter.needs):
        return Linted(linter, problem=f"{linter.name} was not run: it needs {linter.needs}.")
    room = replace(limits, output=max(limits.output, _OUTPUT))
    found: list[Finding] = []
    commands = dict.fromkeys(linter.command(as_arguments(batch)) for batch in _batches(understood))
    for line in commands:
        ran = await _check(run, line, room)
        parsed = linter.parse(ran.output)
        problem = _problem(linter, ran, parsed)
        if problem:
            return Linted(linter, tuple(found), problem)
        found += _inside(parsed, understood, run)
    return Linted(linter, tuple(found))


async def _check(run: Run, line: str, limits: ExecLimits) -> Ran:
    if not isinstance(run.workspace, Trial):
        raise TypeError("linters run in a trial only")
    return await run.workspace.check(Command(line), limits)


async def _is_there(run: Run, path: str) -> bool:
    try:
        await run.workspace.read(path)
    except TreeError:
        return False
    return True


def _problem(linter: Linter, ran: Ran, parsed: Sequence[Finding]) -> str:
    """Explain why a run has no result; "" when it has. A linter with findings ends with its own exit code."""
    if ran.code == 127:
        return f"{linter.name} is not installed here, so it was not run."
    if ran.timed_out:
        return f"{linter.name} was stopped after {ran.seconds:.0f} s, so its findings are missing."
    if ran.code and not parsed:
        last = next((line for line in reversed(ran.output.splitlines()) if line.strip()), "no words")
        return f"{linter.name} ended with exit code {ran.code} and no finding: {last.strip():.200}"
    return ""


def _batches(paths: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    length = 0
    for path in paths:
        size = len(as_arguments([path]).encode()) + 1
        if batch and length + size > _LONGEST_COMMAND:
            yield batch
            batch, length = [], 0
        batch.append(path)
        length += size
    yield batch


def _inside(findings: Sequence[Finding], paths: Collection[str], run: Run) -> Iterator[Finding]:
    """The findings in the tree, their paths relative to its root; those in libraries are nobody's here."""
    known, root = frozenset(paths), run.workspace.root.as_posix()
    for finding in findings:
        path = _relative(finding.path.replace("\\", "/") if "\\" in root else finding.path, known, root)
        if path:
            yield replace(finding, path=path)


def _relative(path: str, known: Collection[str], root: str) -> str:
    if path.startswith(f"{root}/"):
        path = path[len(root) + 1 :]
    path = posixpath.normpath(path)
    if not path.startswith("/"):
        return "" if path.startswith("../") else path
    # A trial may stand in a folder of its own, which is not the root: the path ends like one that was asked.
    parts = path.split("/")
    ends = ("/".join(parts[at:]) for at in range(1, len(parts)))
    return next((end for end in ends if end in known), "")
