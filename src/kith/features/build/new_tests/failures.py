"""Check that new tests fail for the right reason: the requested code is missing, and nothing else."""

import re
from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from kith.context.symbols import parse_python
from kith.features.build.new_tests import cpp, python
from kith.features.build.new_tests.names import KnownNames, names_of
from kith.gates.reports import CaseResult, SuiteReport

_CPP = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx")


def wrong_reason(
    report: SuiteReport,
    tests: Mapping[str, str],
    known: Collection[str],
    promised: Collection[str],
    earlier: Mapping[str, str] | None = None,
) -> str:
    """Empty when new tests run and fail for want of what the task asks for, else a message to their author.

    `report`: a run of the tests before the task is done. `tests`: the text of each file of new tests, by
    path. `known`: the project's files or modules. `promised`: names in the task, or its sentences.
    `earlier`: what those of the files held that existed before; the tests in it are nobody's news.
    """
    files = [_file(path, text, (earlier or {}).get(path, "")) for path, text in sorted(tests.items())]
    faults = [fault for file in files for fault in _text_faults(file)]
    faults += _run_faults(report, files, names_of(known, promised))
    return _letter(dict.fromkeys(faults)) if faults else ""


def lexical_tests(path: str, text: str) -> tuple[str, ...]:
    """The tests that a file defines, by its text: `path::Class::test`, `Suite.Name`, or a case's name.

    Knows pytest and unittest (both by pytest's ids), googletest, Catch2, doctest and Boost.Test.
    """
    return tuple(_tests_of(path, text))


class _TestFile(Struct, frozen=True):
    """A file of tests. `new`: those that are new or changed; `old`: the names of the others."""

    path: str
    text: str
    new: Mapping[str, str]
    old: frozenset[str]

    @property
    def is_cpp(self) -> bool:
        return self.path.endswith(_CPP)

    def holds(self, case: CaseResult) -> bool:
        """True if a case is one of the new tests, or the whole file."""
        if _name(case.id) in self.old:
            return False
        if self.is_cpp:
            return cpp.is_of(case, self.path, self.text)
        return python.is_of(case, self.path)


def _file(path: str, text: str, before: str) -> _TestFile:
    tests, known = _tests_of(path, text), _tests_of(path, before)
    new = {id: source for id, source in tests.items() if known.get(id) != source}
    return _TestFile(path, text, new, frozenset(map(_name, known.keys() & tests.keys() - new.keys())))


def _tests_of(path: str, text: str) -> dict[str, str]:
    if path.endswith(".py"):
        return python.tests_of(path, text)
    return cpp.tests_of(path, text) if path.endswith(_CPP) else {}


def _name(id: str) -> str:
    """A test's own name, without its file and class, and without its parameters."""
    return re.split(r"::|\.", id.partition("[")[0].partition(" (")[0])[-1]


def _text_faults(file: _TestFile) -> Iterator[str]:
    """Yield the faults of a file before anything runs."""
    if not file.is_cpp:
        yield from python.source_faults(file.path, file.text)
    vacuous = (cpp if file.is_cpp else python).vacuous_tests(file.path, file.text)
    yield from (f"{id} {why}" for id, why in vacuous.items() if id in file.new)


def _run_faults(report: SuiteReport, files: list[_TestFile], names: KnownNames) -> Iterator[str]:
    """Yield the faults of the tests' run."""
    if not report.built and all(file.is_cpp for file in files):
        yield from _build_faults(report, files, names)
        return
    faults, fails = list[str](), False
    cases = {file.path: [case for case in report.cases if file.holds(case)] for file in files}
    for file in files:
        failed = [case for case in cases[file.path] if case.outcome in ("failed", "error")]
        fails = fails or bool(failed)
        if not file.is_cpp:
            faults += [python.case_fault(case, file.path, file.text, names) for case in failed]
        if not cases[file.path] and file.new:
            why = _not_run(report, file, names)
            faults += why
            fails = fails or not why
    yield from filter(None, faults)
    if not fails and not any(faults):
        yield _nothing_fails([case for file in files for case in cases[file.path]])


def _build_faults(report: SuiteReport, files: list[_TestFile], names: KnownNames) -> Iterator[str]:
    output = report.ran.output
    faults = cpp.build_faults(output, [file.path for file in files], names)
    yield from faults
    if not faults and report.ran.timed_out:
        yield "the build did not end in time"
    elif not faults and not cpp.says_why(output):
        yield f"the build failed, and not because something is missing yet: {_end(output)}"


def _not_run(report: SuiteReport, file: _TestFile, names: KnownNames) -> list[str]:
    """Explain why no test of a file ran; [] where its import fails as it should."""
    faults = None if file.is_cpp else python.collection_faults(report, file.path, file.text, names)
    if faults is not None:
        return faults
    if not file.is_cpp and parse_python(file.text) is None:
        return [f"{file.path} is not valid Python"]
    if report.ran.timed_out:
        spent = f"{report.ran.seconds:.0f} s"
        return [f"{file.path} was not finished in {spent}; a test that might never end needs its own limit"]
    where = "CMakeLists.txt has to build it and to name its tests" if file.is_cpp else report.problem
    return [f"no test in {file.path} was run: {where or _end(report.ran.output)}"]


def _nothing_fails(cases: list[CaseResult]) -> str:
    if not cases:
        return "there is no test in these files"
    if all(case.outcome == "skipped" for case in cases):
        return f"these tests are skipped, and show nothing: {_show({case.id for case in cases})}"
    passed = _show({case.id for case in cases if case.outcome == "passed"})
    return f"these tests pass already: {passed}. At least one has to fail until the task is done"


def _show(ids: Collection[str]) -> str:
    more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
    return ", ".join(sorted(ids)[:5]) + more


def _end(output: str) -> str:
    """The last words of a run."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return " / ".join(lines[-3:])[:300] or "it printed nothing"


def _letter(faults: Collection[str]) -> str:
    first, *others = list(faults)[:12]
    told = "\n".join([first, *(f"- {fault}" for fault in others)])
    return (
        f"These tests cannot be used yet: {told}\n\nTests for a task have to run, to assert what the task "
        "promises, and to fail only because that is not there yet. Correct them."
    )
