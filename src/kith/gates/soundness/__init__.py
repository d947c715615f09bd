"""Without tests: what no longer parses, imports that lead nowhere, names that nothing defines."""

import asyncio
import json
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from importlib.resources import files
from posixpath import splitext
from typing import Any, Final, TypeVar

from msgspec import Struct, field

from kith.core.errors import TreeError
from kith.core.git import list_each
from kith.core.run import Gate, Run
from kith.core.values import Changes, Verdict
from kith.core.workspace import ExecLimits, ShellCommand, Trial
from kith.gates.packages import Declared, is_manifest, read_declared
from kith.gates.soundness.fault import Fault, Suspect, Suspects
from kith.gates.soundness.find_faults import find_suspects
from kith.gates.soundness.syntax import PYTHON as PYTHON_ENDINGS
from kith.gates.soundness.syntax import is_readable
from kith.gates.toolchain import PYTHON

# The gate for changes that cannot be right, whatever any test says; the project's own tools confirm it.


# The project's own tools asked about what looks wrong: its Python, and the shell.

_LIMITS: Final = ExecLimits(seconds=30.0, output=200_000)
_ROOTS: Final = (".", "src", "lib", "python")
_SHELL: Final = (".bash", ".sh")


class ToolAnswers(Struct, frozen=True):
    """The answers of the tools; a missing one was not asked for, or is not known.

    `old`: the interpreter is too old or too new for the project, so its "unknown" proves nothing.
    `foreign`: it lacks packages that the project needs, so other missing ones prove nothing either.
    """

    parses: Mapping[str, bool] = field(default_factory=dict)
    imports: Mapping[str, bool] = field(default_factory=dict)
    old: bool = True
    foreign: bool = True


def settle(suspects: Suspects, heard: ToolAnswers, declared: Declared, changes: Changes) -> tuple[Fault, ...]:
    """The suspects that are faults."""
    moved = any(
        is_manifest(change.path) for change in changes
    )  # who declares a package may call it otherwise
    return tuple(each.fault for each in suspects.found if _counts(each, heard, declared, moved))


def _counts(suspect: Suspect, heard: ToolAnswers, declared: Declared, moved: bool) -> bool:
    fault = suspect.fault
    if fault.kind == "syntax":
        parsed = heard.parses.get(fault.path)
        known = parsed is False and (not heard.old or fault.path.endswith(_SHELL))
        return parsed is not True and (suspect.sure or known)
    found = heard.imports.get(suspect.asks) if suspect.asks else None
    if suspect.sure:
        return found is not True
    if found is not False or heard.old:
        return False
    return _is_standard(suspect.asks) or not (heard.foreign or moved or declared.names(suspect.asks))


def _is_standard(asked: str) -> bool:
    return asked.partition(":")[0].partition(".")[0] in sys.stdlib_module_names


async def ask_tools(run: Run, suspects: Suspects, declared: Declared) -> ToolAnswers:
    """Put the doubts to the tools, in the sandbox only: the project's interpreter may run code of its own."""
    trial = run.workspace
    if not isinstance(trial, Trial) or not trial.confined:
        return ToolAnswers()
    broken = {each.fault.path for each in suspects.found if each.fault.kind == "syntax"}
    shell = {path: await _shell_parses(trial, path) for path in broken if path.endswith(_SHELL)}
    python = sorted(path for path in broken if splitext(path)[1].lower() in PYTHON_ENDINGS)
    asked = {each.asks for each in suspects.found if each.asks}
    if not (python or asked):
        return ToolAnswers(shell)
    question = {
        "parses": python,
        "imports": sorted(asked | suspects.familiar),
        "installed": sorted(declared.needed),
        "roots": _ROOTS,
    }
    said = await _ask_python(trial, question)
    parses = {**shell, **said.get("parses", {})}
    if not said or said["version"][0] != 3 or said["version"][1] < declared.least:
        return ToolAnswers(parses)
    imports: Mapping[str, bool] = said["imports"]
    lacking = {module for module in suspects.familiar if not imports.get(module, True)}
    old = any(map(_is_standard, lacking))
    foreign = bool(lacking) or not all(said["installed"].get(name) for name in declared.needed)
    return ToolAnswers(parses, imports, old, foreign)


async def _shell_parses(trial: Trial, path: str) -> bool:
    ran = await trial.check(ShellCommand(f"bash -n -- {shlex.quote(f'./{path}')}"), _LIMITS)
    return ran.code != 2  # a syntax error; any other end says nothing


async def _ask_python(trial: Trial, question: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its answers, empty when there are none."""
    script = files(__package__ or "").joinpath("ask_python.py").read_text("utf-8")
    line = f"{PYTHON} -I -c {shlex.quote(script)}"
    ran = await trial.check(ShellCommand(line, input=json.dumps(question).encode()), _LIMITS)
    try:
        said = json.loads(ran.output.strip().rpartition("\n")[2])
    except (ValueError, RecursionError):
        return {}
    keys = ("version", "parses", "imports", "installed")
    return said if isinstance(said, dict) and all(key in said for key in keys) else {}


BY: Final = "soundness"
_TOLD: Final = 20  # faults in one letter
_GREP_LIMITS: Final = ExecLimits(seconds=20.0, output=8_000_000)
_WORTH_GREP: Final = 100  # files; fewer are read sooner than git starts
_MOST_WORDS: Final = 200
T = TypeVar("T")


def soundness_gate(untouched: Run | None = None) -> Gate:
    """Refuses a change that breaks a file's syntax, or adds broken imports or undefined names.

    The figures count the faults by kind: syntax, import, name. What was wrong before does not count.
    `untouched`: a run on the tree without the change, where git searches faster than on a trial's layers.
    """

    async def judge(run: Run, changes: Changes) -> Verdict:
        faults = await find_faults(run, changes, untouched)
        counts = Counter(each.kind for each in faults)
        figures = {kind: float(counts[kind]) for kind in ("syntax", "import", "name")}
        return Verdict(not faults, write_letter(faults) if faults else "", BY, figures=figures)

    return judge


async def find_faults(run: Run, changes: Changes, untouched: Run | None = None) -> tuple[Fault, ...]:
    """The new faults of a change in the trial that `run.workspace` is; `untouched` as in `soundness_gate`."""
    if not any(is_readable(change.path) for change in changes):
        return ()
    loop = asyncio.get_running_loop()
    files = await run.workspace.files()

    def begin(work: Coroutine[Any, Any, T]) -> Callable[[], T]:
        return asyncio.run_coroutine_threadsafe(work, loop).result

    def read(path: str) -> bytes | None:
        return begin(_read(run, path))()

    # Parsing takes a while, and a face must stay alive meanwhile.
    suspects = await asyncio.to_thread(
        find_suspects, changes, files, read, lambda *sought: begin(_search(run, untouched, files, *sought))
    )
    if not suspects.found:
        return ()
    declared = await asyncio.to_thread(read_declared, files, read)
    return settle(suspects, await ask_tools(run, suspects, declared), declared, changes)


async def _read(run: Run, path: str) -> bytes | None:
    try:
        return await run.workspace.read(path)
    except TreeError:
        return None


async def _search(
    run: Run, untouched: Run | None, files: Sequence[str], words: frozenset[str], endings: Collection[str]
) -> Iterable[str]:
    """The files that may hold one of the words: all of them, or what git finds in a large tree."""
    if len(files) < _WORTH_GREP or len(words) > _MOST_WORDS or not run.workspace.confined:
        return files
    wanted = [part for word in sorted(words) for part in ("-e", word)]
    where = [f"*{ending}" for ending in sorted(endings)]
    # `grep --untracked` would walk the whole tree; what git does not track is the rest of the known files.
    commands = (["grep", "-lIzF", *wanted, "--", *where], ["ls-files", "-z", "--", *where])
    listed, changed = await asyncio.gather(
        list_each(untouched or run, commands, _GREP_LIMITS), _changed_paths(run)
    )
    if listed is None:
        return files
    found, tracked = listed
    kinds = tuple(endings)
    untracked = {path for path in files if path.endswith(kinds)}.difference(tracked)
    return {*found, *changed, *untracked}


async def _changed_paths(run: Run) -> Iterable[str]:
    """The files of the trial that differ from the tree, those of earlier changes among them."""
    trial = run.workspace
    return [change.path for change in await trial.changes()] if isinstance(trial, Trial) else ()


def write_letter(faults: Sequence[Fault]) -> str:
    """The faults as a message to the model. Its first line is all that people see, so a fault is in it."""
    lines = [f"{each.path}:{each.line}: {word_fault(each)}" for each in faults[:_TOLD]]
    more = f" (1 of {len(faults)} faults)" if len(faults) > 1 else ""
    parts = [f"The change cannot work as it is: {lines[0]}{more}"]
    if len(faults) > _TOLD:
        lines.append(f"and {len(faults) - _TOLD} more")
    if more:
        parts.append("\n".join(lines))
    return "\n\n".join([*parts, " ".join(_advice(faults))])


def word_fault(fault: Fault) -> str:
    """One fault in words for a model, without its place."""
    if fault.kind == "syntax":
        return f"syntax error: {fault.detail}"
    if fault.kind == "name":
        return f"`{fault.detail}` is not defined"
    module, _, name = fault.detail.partition(":")
    return f"`{module}` has no `{name}` to import" if name else f"there is no `{module}` to import"


def _advice(faults: Sequence[Fault]) -> Iterable[str]:
    """One sentence for each kind of fault."""
    kinds = {each.kind for each in faults}
    if "syntax" in kinds:
        yield "Correct the syntax."
    if "import" in kinds:
        yield (
            "Import what exists, and update the files that still import what you moved or removed. A package "
            "that is not installed must be declared as a dependency."
        )
    if "name" in kinds:
        yield "Define or import the names."


# Without tests: what no longer parses, imports that lead nowhere, names that nothing defines.


__all__ = ["Fault", "soundness_gate"]
