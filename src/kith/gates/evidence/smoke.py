"""Check a change without tests: files that loaded or compiled before still must."""

import shlex
from posixpath import splitext
from typing import Final

from kith.core.evidence import CheckEvidence, combine
from kith.core.run import Gate, Run
from kith.core.values import Change, Changes, Verdict
from kith.core.workspace import Command, ExecLimits, Trial, Workspace
from kith.gates.toolchains import PYTHON
from kith.gates.untouched import is_test_file

NAME: Final = "tests"
NO_TESTS: Final = "kith found no tests in this project"
_SECONDS: Final = 30.0  # for one file
_MOST: Final = 20  # files of one change
_C: Final = {".c": "cc", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".h": "c++", ".hh": "c++", ".hpp": "c++"}
_SCRIPTS: Final = frozenset({".js", ".cjs", ".mjs"})
_TOLD: Final = 1_500  # characters of what was printed
# A script whose name is not __main__ does what any importer of it would see.
_LOAD: Final = (
    "import importlib,sys;sys.path[:0]=['.','src'];sys.argv=[sys.argv[0]];importlib.import_module({module!r})"
)
_BESIDE: Final = frozenset({"setup.py", "conftest.py", "noxfile.py", "__main__.py"})


async def find_unloadable(home: Workspace, changes: Changes) -> str:
    """A message about the first file that no longer loads or compiles, but did on the untouched tree.

    "" where there is none.
    """
    asked = [found for change in changes if (found := _line_for(change))][:_MOST]
    if not asked or not home.confined:  # loading a file runs it
        return ""
    async with home.trial() as before, home.trial() as after:
        await after.apply(changes)
        for path, command in asked:
            fault = await _ends_badly(after, command)
            if fault and not await _ends_badly(before, command):
                return _letter(path, command, fault)
    return ""


def untested_gate(home: Workspace) -> Gate:
    """In place of checks where a project has none."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        letter = await find_unloadable(home, changes)
        told = combine([CheckEvidence("", "unproven", "no_tests")])
        return Verdict(not letter, letter or NO_TESTS, NAME, evidence=told)

    return judge


def _line_for(change: Change) -> tuple[str, str] | None:
    """The file and the command that loads or compiles it; None where there is nothing to compare."""
    path, name = change.path, change.path.rpartition("/")[2]
    if change.before is None or change.after is None or is_test_file(path) or name in _BESIDE:
        return None
    ending = splitext(path)[1].lower()
    if ending == ".py":
        module = splitext(path.removeprefix("src/"))[0].replace("/", ".").removesuffix(".__init__")
        if not all(part.isidentifier() for part in module.split(".")):
            return None
        return path, f"{PYTHON} -c {shlex.quote(_LOAD.format(module=module))}"
    if ending in _SCRIPTS:
        return path, f"node --check {shlex.quote(path)}"
    if ending in _C:
        folders = ("-I.", "-Iinclude", "-Isrc", f"-I{path.rpartition('/')[0] or '.'}")
        language = "" if ending in (".c", ".cc", ".cpp", ".cxx") else "-x c++ "
        return path, f"{_C[ending]} -fsyntax-only -w {' '.join(folders)} {language}{shlex.quote(path)}"
    return None


async def _ends_badly(trial: Trial, line: str) -> str:
    """Return the output of a failed command; "" for one that succeeded."""
    ran = await trial.check(Command(line), ExecLimits(_SECONDS))
    return (ran.output.strip()[-_TOLD:] or f"exit code {ran.code}") if ran.code else ""


def _letter(path: str, line: str, fault: str) -> str:
    return f"{path} no longer loads; before your change it did. `{line}` says:\n\n{fault}\n\nCorrect it."
