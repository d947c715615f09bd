"""The project's own tools asked about what looks wrong: its Python, and the shell."""

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from posixpath import splitext
from typing import Any, Final

from kith.core.run import Run
from kith.core.values import Changes
from kith.core.workspace import Command, ExecLimits, Trial
from kith.gates.soundness.declared import Declared, is_manifest
from kith.gates.soundness.fault import Fault, Suspect, Suspects
from kith.gates.soundness.syntax import PYTHON as PYTHON_ENDINGS
from kith.gates.toolchains.toolchain import PYTHON

_LIMITS: Final = ExecLimits(seconds=30.0, output=200_000)
_ROOTS: Final = (".", "src", "lib", "python")
_SHELL: Final = (".bash", ".sh")


@dataclass(frozen=True, slots=True)
class Heard:
    """What the tools said; what is not there was not asked, or is not known.

    `old`: the interpreter is too old or too new for the project, so what it does not know says nothing.
    `foreign`: it lacks packages that the project needs, so that others are missing says nothing either.
    """

    parses: Mapping[str, bool] = field(default_factory=dict)
    imports: Mapping[str, bool] = field(default_factory=dict)
    old: bool = True
    foreign: bool = True


def settle(suspects: Suspects, heard: Heard, declared: Declared, changes: Changes) -> tuple[Fault, ...]:
    """The suspects that are faults."""
    moved = any(
        is_manifest(change.path) for change in changes
    )  # who declares a package may call it otherwise
    return tuple(each.fault for each in suspects.found if _counts(each, heard, declared, moved))


def _counts(suspect: Suspect, heard: Heard, declared: Declared, moved: bool) -> bool:
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


async def ask_tools(run: Run, suspects: Suspects, declared: Declared) -> Heard:
    """Put the doubts to the tools, in the sandbox only: the project's interpreter may run code of its own."""
    trial = run.workspace
    if not isinstance(trial, Trial) or not trial.confined:
        return Heard()
    broken = {each.fault.path for each in suspects.found if each.fault.kind == "syntax"}
    shell = {path: await _shell_parses(trial, path) for path in broken if path.endswith(_SHELL)}
    python = sorted(path for path in broken if splitext(path)[1].lower() in PYTHON_ENDINGS)
    asked = {each.asks for each in suspects.found if each.asks}
    if not (python or asked):
        return Heard(shell)
    question = {
        "parses": python,
        "imports": sorted(asked | suspects.familiar),
        "installed": sorted(declared.needed),
        "roots": _ROOTS,
    }
    said = await _ask_python(trial, question)
    parses = {**shell, **said.get("parses", {})}
    if not said or said["version"][0] != 3 or said["version"][1] < declared.least:
        return Heard(parses)
    imports: Mapping[str, bool] = said["imports"]
    lacking = {module for module in suspects.familiar if not imports.get(module, True)}
    old = any(map(_is_standard, lacking))
    foreign = bool(lacking) or not all(said["installed"].get(name) for name in declared.needed)
    return Heard(parses, imports, old, foreign)


async def _shell_parses(trial: Trial, path: str) -> bool:
    ran = await trial.check(Command(f"bash -n -- {shlex.quote(f'./{path}')}"), _LIMITS)
    return ran.code != 2  # a syntax error; any other end says nothing


async def _ask_python(trial: Trial, question: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its answers, empty when there are none."""
    script = files(__package__ or "").joinpath("ask_python.py").read_text("utf-8")
    line = f"{PYTHON} -I -c {shlex.quote(script)}"
    ran = await trial.check(Command(line, input=json.dumps(question).encode()), _LIMITS)
    try:
        said = json.loads(ran.output.strip().rpartition("\n")[2])
    except (ValueError, RecursionError):
        return {}
    keys = ("version", "parses", "imports", "installed")
    return said if isinstance(said, dict) and all(key in said for key in keys) else {}
