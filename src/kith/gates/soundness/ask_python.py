"""Asked of the project's own Python: which files it parses, which modules and names it can import.

Reads one JSON object from its input and writes one. Python 3.8 must understand it.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.machinery import ModuleSpec
from pathlib import Path


def parses(path: str) -> bool:
    """True for what this Python compiles, and for what it cannot judge."""
    try:
        compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def find_spec(module: str) -> ModuleSpec | None:
    """The module's spec, found without running the packages around it; None when there is none.

    Of what is in a module that is no package, the spec of that module: it may have made it itself.
    """
    names = module.split(".")
    spec = importlib.util.find_spec(names[0])
    for at in range(2, len(names) + 1):
        if spec is None or spec.submodule_search_locations is None:
            return spec
        path, name = list(spec.submodule_search_locations), ".".join(names[:at])
        found = (each.find_spec(name, path) for each in sys.meta_path if hasattr(each, "find_spec"))
        spec = next((each for each in found if each), None)
    return spec


def is_own(module: str) -> bool:
    """True if a module is the project's, whose code is not run here."""
    spec = importlib.util.find_spec(module.partition(".")[0])
    places = [spec.origin or "", *(spec.submodule_search_locations or ())] if spec else []
    real = [Path(place).resolve() for place in places]
    return any(Path.cwd().resolve() in place.parents and "site-packages" not in place.parts for place in real)


def imports(asked: str) -> bool:
    """True if `a.b` can be imported, or the name in `a.b:name`, as far as that can be told."""
    module, _, name = asked.partition(":")
    spec = find_spec(module)
    if spec is not None:
        return not name or offers(module, name, spec)
    if name or "." not in module or is_own(module):
        return False
    try:  # a package may make its modules when it is imported
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def offers(module: str, name: str, spec: ModuleSpec) -> bool:
    """True if a name is in a module. Only the standard library is imported to see that."""
    if spec.submodule_search_locations is not None and find_spec(f"{module}.{name}"):
        return True
    standard = module.partition(".")[0] in getattr(sys, "stdlib_module_names", ())
    if not standard or is_own(module):
        return bool(spec.origin)
    return hasattr(importlib.import_module(module), name)


def answer(question: Callable[[str], bool], things: Iterable[str]) -> dict[str, bool]:
    """The answers; where a question ends in an error, nothing is known."""
    found = {}
    for thing in things:
        with suppress(BaseException):
            found[thing] = question(thing)
    return found


def is_installed(name: str) -> bool:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def main() -> None:
    warnings.simplefilter("ignore")
    asked = json.load(sys.stdin)
    sys.path += filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    sys.path += [str(Path.cwd() / root) for root in asked["roots"]]
    out, sys.stdout = sys.stdout, sys.stderr  # what an import prints is no answer
    answers = {
        "version": list(sys.version_info[:2]),
        "parses": answer(parses, asked["parses"]),
        "imports": answer(imports, asked["imports"]),
        "installed": answer(is_installed, asked["installed"]),
    }
    out.write("\n" + json.dumps(answers) + "\n")
    out.flush()
    os._exit(0)  # threads that an import began do not keep this waiting


if __name__ == "__main__":
    main()
