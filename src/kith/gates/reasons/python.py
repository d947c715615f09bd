"""How Python tests fail: because something is not written yet, or because the test itself is wrong."""

import re
from collections.abc import Iterator
from typing import Final

from kith.gates.reasons.names import Names
from kith.gates.reasons.python_source import defined_names, forgotten_names, parse
from kith.gates.reports import CaseResult, SuiteReport

# pytest marks the lines of an error with an E.
_ERROR: Final = re.compile(r"^(?:E {2,})?((?:[A-Za-z_][\w.]*\.)?\w*(?:Error|Exception|Failed)): ?(.*)$", re.M)
_NO_FIXTURE: Final = re.compile(r"fixture '([^']+)' not found")
_NO_MARK: Final = re.compile(r"'(\w+)' not found in `markers`")
_NO_MODULE: Final = re.compile(r"No module named '([^']+)'")
_NO_NAME: Final = re.compile(r"cannot import name '([^']+)' from (?:partially initialized module )?'([^']+)'")
_NO_ATTRIBUTE_OF_MODULE: Final = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")
_NO_ATTRIBUTE: Final = re.compile(r"'(\w+)' object has no attribute '(\w+)'")
_CALLED: Final = re.compile(r"(?:\w+\.)*(\w+)\(\) ")
_COLLECTING: Final = "ERROR collecting "


def source_faults(path: str, text: str) -> Iterator[str]:
    """What is wrong with the file whatever happens when it runs."""
    for name in forgotten_names(text):
        yield f"{path} uses `{name}` and nowhere imports or defines it"


def is_of(case: CaseResult, path: str) -> bool:
    """Whether a case, by pytest's or unittest's name for it, is in the file or is its failed import."""
    if "::" in case.id:
        return case.id.startswith(f"{path}::")
    module, stem = _module(path)
    return _is_import(case, path) or case.id.startswith((f"{module}.", f"{stem}."))


def case_fault(case: CaseResult, path: str, text: str, names: Names) -> str:
    """Why a case that failed is wrong; "" when it fails for want of what the task asks for."""
    return _fault(case.message, path, text, names, at_import=_is_import(case, path))


def collection_faults(report: SuiteReport, path: str, text: str, names: Names) -> list[str] | None:
    """What kept a file from being collected, as pytest printed it; None when pytest says nothing of it."""
    sections = re.split(r"^_{3,} (?=ERROR )|^={3,} .*={3,}$", report.ran.output, flags=re.M)
    mine = [each for each in sections if each.startswith(f"{_COLLECTING}{path}")]
    if not mine:
        return None
    faults = [_fault(section, path, text, names, at_import=True) for section in mine]
    return [fault for fault in faults if fault]


def _fault(words: str, path: str, text: str, names: Names, *, at_import: bool) -> str:
    if missing := _NO_FIXTURE.search(words):
        return f"{path} asks for a fixture `{missing[1]}`, and there is none"
    if missing := _NO_MARK.search(words):
        return f"{path} uses a mark `{missing[1]}` that this project does not have"
    errors = _ERROR.findall(words)
    if not errors:
        return ""
    # What a test compares may look like errors too; of a chain that kept a file from loading the last counts.
    name, told = errors[-1 if at_import else 0]
    kind, told = name.rpartition(".")[2], told.strip()
    if kind in ("SyntaxError", "IndentationError", "TabError"):
        return f"{path} is not valid Python: {told}" if parse(text) is None or path in words else ""
    if kind in ("ModuleNotFoundError", "ImportError"):
        return _import_fault(told, path, names)
    fault = _own_fault(kind, told, path, defined_names(text), names)
    if not fault and at_import and kind != "AttributeError":
        return f"{path} fails while it is imported ({kind}: {told:.200}); only the tests in it may fail"
    return fault


def _import_fault(told: str, path: str, names: Names) -> str:
    missing = _NO_MODULE.search(told)
    if missing and not names.is_own_module(missing[1]):
        return f"{path} needs the module `{missing[1]}`, which is neither installed nor part of the task"
    missing = _NO_NAME.search(told)
    if missing and not names.is_own_module(missing[2]):
        return f"{path} imports `{missing[1]}` from `{missing[2]}`, which has no such name"
    return ""


def _own_fault(kind: str, told: str, path: str, own: frozenset[str], names: Names) -> str:
    """Mistakes in what the test file itself uses or defines (`own`), by the error they end in."""
    missing = _NO_ATTRIBUTE_OF_MODULE.search(told)
    if missing and not names.is_own_module(missing[1]):
        return f"{path} uses `{missing[1]}.{missing[2]}`, which does not exist"
    missing = _NO_ATTRIBUTE.search(told)
    if missing and missing[1] in own:
        return f"{path} uses `{missing[2]}` of its own class `{missing[1]}`, which does not have it"
    called = _CALLED.match(told)
    if kind == "TypeError" and called and called[1] in own:
        return f"{path} calls its own `{called[1]}` wrongly: {told}"
    return ""


def _is_import(case: CaseResult, path: str) -> bool:
    """Whether the case stands for the whole file, which could not be imported."""
    module, stem = _module(path)
    failed = case.id.rpartition("_FailedTest.")[2]  # what unittest's loader calls it
    return case.id == path or failed in (module, stem)


def _module(path: str) -> tuple[str, str]:
    """A file as a dotted module, and the last part of that."""
    module = path.removesuffix(".py").replace("/", ".")
    return module, module.rpartition(".")[2]
