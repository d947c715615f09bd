"""Check a change without tests: files that loaded or compiled before still must."""

import ast
import json
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from keyword import iskeyword
from posixpath import splitext
from typing import Final

from msgspec import Struct

from kith.core.evidence import Blocked, CheckEvidence, Reason, combine
from kith.core.run import Gate, Run
from kith.core.values import Change, Changes, Verdict
from kith.core.workspace import ExecLimits, ShellCommand, Trial, Workspace
from kith.gates.results.uninstalled import read_required
from kith.gates.soundness.imports import SCRIPTS, find_imports
from kith.gates.toolchain import PYTHON, Toolchain, enter, quote_folder
from kith.gates.untouched import is_test_file

NAME: Final = "tests"
NO_TESTS: Final = "kith found no tests in this project"
_SECONDS: Final = 30.0  # for one file
_MOST: Final = 20  # files of one change
_C: Final = {".c": "cc", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".h": "c++", ".hh": "c++", ".hpp": "c++"}
_SCRIPTS: Final = frozenset({".js", ".cjs", ".mjs"})
_TOLD: Final = 1_500  # characters of what was printed
_DEEPEST: Final = 4  # folders from which a file of Python may be imported
_NO_MODULE: Final = "ModuleNotFoundError"
_NO_HEADER: Final = re.compile(r"fatal error: '?([^':\s]+)'?(?: file not found|: No such file)")
_BESIDE: Final = frozenset({"setup.py", "conftest.py", "noxfile.py", "__main__.py"})


# Which of some modules, or packages of Node, cannot be found: a list in JSON, in the last line.
_ASK_PYTHON: Final = (
    "import importlib.util as u,json,sys;sys.path[:0]=['.','src'];"
    "print(json.dumps([m for m in json.loads(sys.argv[1]) if u.find_spec(m) is None]))"
)
_ASK_NODE: Final = (
    "const {existsSync:is}=require('fs'),at=require.resolve.paths('x').concat(process.cwd()+'/node_modules');"
    "console.log(JSON.stringify(JSON.parse(process.argv[1]).filter(m=>!at.some(f=>is(f+'/'+m)))))"
)
_NODE_IMPORT: Final = re.compile(
    r"""(?:\bfrom|\brequire\s*\(|^\s*import|\bimport\s*\()\s*["']([@\w][\w@./-]*)["']""", re.M
)


class SmokeFaults(Struct, frozen=True):
    """The faults of a change that show without tests.

    `letter`: a message about the first file that no longer loads or compiles, but did on the untouched tree.
    `missing`: packages that the change's files import, and that manifests require, but nobody installed.
    """

    letter: str = ""
    missing: tuple[Blocked, ...] = ()


async def look_without_tests(home: Workspace, changes: Changes) -> SmokeFaults:
    """Load and compile the files of a change, and look for the packages that they import."""
    if not home.confined:  # loading a file runs it
        return SmokeFaults()
    asked = [(change.path, ways) for change in changes if (ways := _ways_to_load(change))][:_MOST]
    required = await read_required(home, changes)
    modules = {name for change in changes for name in _newly(_modules, change) if required.module(name)}
    packages = {name for change in changes for name in _newly(_packages, change) if required.package(name)}
    if not (asked or modules or packages):
        return SmokeFaults()
    async with home.trial() as before, home.trial() as after:
        await after.apply(changes)
        lacking = [required.module(name) for name in await _not_found(after, _ask_python, modules)]
        lacking += [required.package(name) for name in await _not_found(after, _ask_node, packages)]
        files = frozenset(await home.files())
        for path, possible in asked:
            ways = tuple(way for way in possible if f"{way.folder}/__init__.py" not in files)
            faults = await _new_faults(before, after, ways)
            if not faults or await _lacks_its_folder(after, faults[0]):
                continue
            missing = next((lacks for fault in faults if (lacks := required.lacks(fault))), None)
            if missing is None:
                told = next((at for at, each in enumerate(faults) if _NO_MODULE not in each), 0)
                return SmokeFaults(_letter(path, ways[told].shown, faults[told]))
            lacking.append(missing)
    return SmokeFaults("", tuple(dict.fromkeys(filter(None, lacking))))


def untested_gate(home: Workspace) -> Gate:
    """In place of checks where a project has none."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        look = await look_without_tests(home, changes)
        reason: Reason = "uninstalled" if look.missing and not look.letter else "no_tests"
        told = combine([CheckEvidence("", "unproven", reason, missing=look.missing)])
        return Verdict(not look.letter, look.letter or NO_TESTS, NAME, evidence=told)

    return judge


def outside_gate(home: Workspace, toolchains: Sequence[Toolchain]) -> Gate:
    """For the files of a change that are in no project's folder: they load as before."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        outside = tuple(each for each in changes if not any(one.holds(each.path) for one in toolchains))
        look = await look_without_tests(home, outside)
        told = CheckEvidence("", "unproven", "broken" if look.letter else "uninstalled", missing=look.missing)
        evidence = combine([told]) if look.letter or look.missing else None
        return Verdict(not look.letter, look.letter, NAME, evidence=evidence)

    return judge


def _newly(find: Callable[[str, bytes], Iterator[str]], change: Change) -> frozenset[str]:
    """Return the imports of a file that it has with the change, and had not before."""
    then, now = (frozenset(find(change.path, side or b"")) for side in (change.before, change.after))
    return now - then


def _modules(path: str, source: bytes) -> Iterator[str]:
    """The top modules that a file of Python needs as soon as it is loaded."""
    if not path.endswith(".py"):
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for each in find_imports(tree):
        if each.guarded or each.late:
            continue
        if isinstance(each.node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in each.node.names)
        elif not each.node.level and each.node.module:
            yield each.node.module.partition(".")[0]


def _packages(path: str, source: bytes) -> Iterator[str]:
    """The packages of Node that a script imports."""
    if splitext(path)[1].lower() in SCRIPTS:
        for found in _NODE_IMPORT.findall(source.decode("utf-8", "replace")):
            yield "/".join(found.split("/")[: 2 if found.startswith("@") else 1])


def _ask_python(names: str) -> str:
    return f"{PYTHON} -c {shlex.quote(_ASK_PYTHON)} {names}"


def _ask_node(names: str) -> str:
    return f"node -e {shlex.quote(_ASK_NODE)} {names}"


async def _not_found(trial: Trial, ask: Callable[[str], str], names: Collection[str]) -> list[str]:
    """Those of the names that a tool of the project cannot find; none where the tool does not answer."""
    if not names:
        return []
    ran = await trial.check(ShellCommand(ask(shlex.quote(json.dumps(sorted(names))))), ExecLimits(_SECONDS))
    try:
        said = json.loads(ran.output.strip().rpartition("\n")[2])
    except (ValueError, RecursionError):
        return []
    return [name for name in sorted(names) if isinstance(said, list) and name in said]


class _Way(Struct, frozen=True):
    """One way to load or compile a file, in a folder; `shown` is the same as a person would type it."""

    line: str
    folder: str = ""

    @property
    def shown(self) -> str:
        return f"cd {quote_folder(self.folder)} && {self.line}" if self.folder else self.line


def _ways_to_load(change: Change) -> tuple[_Way, ...]:
    """The ways to load or compile a changed file, of which one suffices; () where nothing can be compared.

    A file of Python may be imported from the top, and from each folder above it: a program starts anywhere.
    """
    path, name = change.path, change.path.rpartition("/")[2]
    if change.before is None or change.after is None or is_test_file(path) or name in _BESIDE:
        return ()
    ending = splitext(path)[1].lower()
    if ending == ".py":
        parts = path.split("/")
        ways = ((parts[:at], "/".join(parts[at:])) for at in range(min(len(parts), _DEEPEST)))
        return tuple(
            _Way(f"PYTHONPATH=.:src {PYTHON} -c 'import {module}'", "/".join(folder))
            for folder, inside in ways
            if folder[-1:] != ["src"] and (module := _module(inside))
            # What Python has loaded before it gets there would seem to load.
            if not folder or module.partition(".")[0] not in sys.stdlib_module_names
        )
    if ending in _SCRIPTS:
        return (_Way(f"node --check {shlex.quote(path)}"),)
    if ending in _C:
        folders = ("-I.", "-Iinclude", "-Isrc", f"-I{path.rpartition('/')[0] or '.'}")
        language = "" if ending in (".c", ".cc", ".cpp", ".cxx") else "-x c++ "
        return (_Way(f"{_C[ending]} -fsyntax-only -w {' '.join(folders)} {language}{shlex.quote(path)}"),)
    return ()


def _module(path: str) -> str:
    """The name under which a file is imported; "" for one that cannot be."""
    module = splitext(path.removeprefix("src/"))[0].replace("/", ".").removesuffix(".__init__")
    named = all(part.isidentifier() and not iskeyword(part) for part in module.split("."))
    return module if named and module != "__init__" else ""


async def _lacks_its_folder(trial: Trial, fault: str) -> bool:
    """True if a header is only not found because the build's own folders are not known."""
    found = _NO_HEADER.search(fault)
    header = f"/{found[1]}" if found else ""
    return bool(header) and any(f"/{path}".endswith(header) for path in await trial.files())


async def _new_faults(before: Trial, after: Trial, ways: Sequence[_Way]) -> list[str]:
    """The output of each way, in their order, if a file that loaded before no longer does; [] if it does.

    A way counts if it served before, or if no way further out did. Who imports a package cannot load what
    only loads inside it.
    """
    faults, served = list[str](), False
    for way in ways:
        fault = await _fault(after, way)
        if not fault and not served:
            return []
        worked = not await _fault(before, way)
        if not fault and worked:
            return []
        served = served or worked
        faults.append(fault or faults[0])
    return faults if served else []


async def _fault(trial: Trial, way: _Way) -> str:
    """The output of a failed command; "" for one that succeeded."""
    ran = await trial.check(ShellCommand(f"{enter(way.folder)}{way.line}"), ExecLimits(_SECONDS))
    return (ran.output.strip()[-_TOLD:] or f"exit code {ran.code}") if ran.code else ""


def _letter(path: str, line: str, fault: str) -> str:
    return f"{path} no longer loads; before your change it did. `{line}` says:\n\n{fault}\n\nCorrect it."
