"""The gate for changes that cannot be right, whatever any test says."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from typing import Any, Final, TypeVar

from kith.context.git import list_paths
from kith.core.errors import TreeError
from kith.core.run import Gate, Run
from kith.core.values import Changes, Verdict
from kith.core.workspace import ExecLimits, Trial
from kith.gates.soundness.confirm import ask_tools, settle
from kith.gates.soundness.declared import read_declared
from kith.gates.soundness.fault import Fault
from kith.gates.soundness.find import find_suspects
from kith.gates.soundness.syntax import is_readable

BY: Final = "soundness"
_TOLD: Final = 20  # faults in one letter
_GREP_LIMITS: Final = ExecLimits(seconds=20.0, output=8_000_000)
_WORTH_GREP: Final = 100  # files; fewer are read sooner than git starts
_MOST_WORDS: Final = 200
T = TypeVar("T")


def soundness_gate(untouched: Run | None = None) -> Gate:
    """Refuses a change that breaks a file's syntax, or brings imports that lead nowhere, or undefined names.

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
    found, tracked, changed = await asyncio.gather(
        list_paths(untouched or run, ["grep", "-lIzF", *wanted, "--", *where], _GREP_LIMITS),
        list_paths(untouched or run, ["ls-files", "-z", "--", *where], _GREP_LIMITS),
        _changed_paths(run),
    )
    if found is None or tracked is None:
        return files
    return {*found, *changed, *set(files).difference(tracked)}


async def _changed_paths(run: Run) -> Iterable[str]:
    """The files of the trial that differ from the tree, those of earlier changes among them."""
    trial = run.workspace
    return [change.path for change in await trial.changes()] if isinstance(trial, Trial) else ()


def write_letter(faults: Sequence[Fault]) -> str:
    """The faults as a letter to the model. Its first line is all that people see, so a fault is in it."""
    lines = [f"{each.path}:{each.line}: {_words(each)}" for each in faults[:_TOLD]]
    more = f" (1 of {len(faults)} faults)" if len(faults) > 1 else ""
    parts = [f"Your change cannot work as it is: {lines[0]}{more}"]
    if len(faults) > _TOLD:
        lines.append(f"and {len(faults) - _TOLD} more")
    if more:
        parts.append("\n".join(lines))
    return "\n\n".join([*parts, " ".join(_advice(faults))])


def _words(fault: Fault) -> str:
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
