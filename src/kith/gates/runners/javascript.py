"""Read the reports of cargo, Go, Node, Jest, Vitest and Mocha."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from kith.gates.js_tests import FileTitles, find_titles, name_test
from kith.gates.reports import CaseResult, Outcome, ProjectPaths
from kith.gates.results.junit import read_junit
from kith.gates.runners.python import tell_apart, worst_of

SOURCES: Final = "sources/"  # of files of tests, beside the reports

_RUST_PROGRAM: Final = re.compile(r"^running \d+ tests?$", re.M)
_RUST_TEST: Final = re.compile(r"^test (\S.*?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b", re.M)
_RUST_BLOCK: Final = re.compile(r"^---- (\S.*?) stdout ----\n(.*?)(?=^---- |^failures:$|\Z)", re.M | re.S)
_RUST_PANIC: Final = re.compile(
    r"panicked at (?:'(?P<old>.*?)', )?(?P<path>[^\s:]+):(?P<line>\d+):\d+:?\n?", re.S
)
_RUST_NOTE: Final = re.compile(r"^(?:note: run with `RUST_BACKTRACE|stack backtrace:$).*", re.M | re.S)
_RUST_FRAME: Final = re.compile(r"^ +\d+: (?:0x\w+ - )?(\S+)[^\n]*\n +at (?:\./)?([^\s:]+):(\d+)", re.M)
_GO_FRAME: Final = re.compile(r"^(\S+)\([^\n]*\)\n\t([^\n]+\.go):(\d+)", re.M)
_OUTCOMES: Final[Mapping[str, Outcome]] = {
    "ok": "passed",
    "FAILED": "failed",
    "ignored": "skipped",
    "pass": "passed",
    "fail": "failed",
    "skip": "skipped",
    "passed": "passed",
    "failed": "failed",
    "pending": "skipped",
    "skipped": "skipped",
    "todo": "skipped",
}


def read_cargo(files: Mapping[str, bytes], place: ProjectPaths) -> tuple[CaseResult, ...]:
    """Ids are Rust's paths: `module::tests::name`; of another program's test with this name, with a number.

    Stable Rust has no report but these lines. Programs run in the order of their names.
    """
    text = files.get("cargo.txt", b"").decode("utf-8", "replace")
    return tuple(
        tell_apart(case for program in _RUST_PROGRAM.split(text) for case in _program(program, place))
    )


def _program(text: str, place: ProjectPaths) -> tuple[CaseResult, ...]:
    told = dict(_RUST_BLOCK.findall(text))
    return worst_of(
        _rust_case(name, how, told.get(name, ""), place) for name, how in _RUST_TEST.findall(text)
    )


def _rust_case(name: str, how: str, block: str, place: ProjectPaths) -> CaseResult:
    panic = _RUST_PANIC.search(block)
    if panic is None:
        return place.case(name, _OUTCOMES[how], block)
    message = panic["old"] or block[panic.end() :]
    frames = [f"{path}:{line}: in {name}" for name, path, line in reversed(_RUST_FRAME.findall(block))]
    where = "\n".join(frames) or f"{panic['path']}:{panic['line']}: "
    return place.case(name, _OUTCOMES[how], _RUST_NOTE.sub("", message), where, error="panic")


def read_go(files: Mapping[str, bytes], place: ProjectPaths) -> tuple[CaseResult, ...]:
    """Ids are `package.Test/subtest`, by the events of `go test -json` (`go doc test2json`)."""
    said: dict[tuple[str, str], list[str]] = {}
    ended: dict[tuple[str, str], tuple[Outcome, float]] = {}
    for event in _events(files):
        key = (str(event.get("Package", "")), str(event.get("Test", "")))
        if event.get("Action") == "output":
            said.setdefault(key, []).append(str(event.get("Output", "")))
        elif event.get("Action") in ("pass", "fail", "skip") and key[1]:
            seconds = event.get("Elapsed")
            took = float(seconds) if isinstance(seconds, (int, float)) else 0.0
            ended[key] = (_OUTCOMES[event["Action"]], took)
    return tuple(_go_case(key, *end, "".join(said.get(key, ())), place) for key, end in ended.items())


def _go_case(
    key: tuple[str, str], outcome: Outcome, seconds: float, output: str, place: ProjectPaths
) -> CaseResult:
    """Go names a file without its folder, so the package says which one it is."""
    package, test = key
    message = "\n".join(
        line.strip() for line in output.splitlines() if not re.match(r"\s*(?:=== |--- )", line)
    )
    located = re.sub(
        r"^(\w+\.go):(\d+)", lambda m: f"{_go_file(m[1], package, place)}:{m[2]}", message, flags=re.M
    )
    panic = re.search(r"^\s*panic: ", output, re.M)
    called = [f"{path}:{line}: in {name}" for name, path, line in reversed(_GO_FRAME.findall(output))]
    where = "\n".join(called) if panic and called else located
    return place.case(f"{package}.{test}", outcome, located, where, seconds, "panic" if panic else "")


def _go_file(name: str, package: str, place: ProjectPaths) -> str:
    """The deepest folder that ends as the package does."""
    parts = package.split("/")
    folders = ("/".join(parts[at:]) for at in range(1, len(parts) + 1))
    paths = (f"{folder}/{name}" if folder else name for folder in folders)
    return next((path for path in paths if path in place.files), name)


def go_output(files: Mapping[str, bytes]) -> str:
    """Rebuild the ordinary output of `go test` from its events."""
    return "".join(str(event.get("Output", "")) for event in _events(files))


def _events(files: Mapping[str, bytes]) -> Iterator[dict[str, Any]]:
    for line in files.get("go.jsonl", b"").splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue  # a program that is tested may print between the events
        if isinstance(event, dict):
            yield event


class _Reported(Struct, frozen=True):
    """A test as one of JavaScript's runners reports it. A file that could not be loaded has no titles."""

    file: str
    titles: tuple[str, ...]
    outcome: Outcome
    text: str = ""
    seconds: float = 0.0


def read_js(files: Mapping[str, bytes], place: ProjectPaths) -> tuple[CaseResult, ...]:
    """Ids are `path::suite > test`, with a row's values in brackets.

    A file that cannot be loaded has its path. The files of tests tell which tests are rows of one table.
    """
    known: dict[str, FileTitles] = {}
    return worst_of(_js_case(each, files, place, known) for each in _js_reports(files))


def js_sources(files: Mapping[str, bytes], place: ProjectPaths) -> list[str]:
    """The files of tests that a report names."""
    paths = (place.locate(each.file) for each in _js_reports(files))
    return sorted({path for path in paths if path})


def _js_reports(files: Mapping[str, bytes]) -> list[_Reported]:
    """The report of jest or vitest, or that of our reporters for Mocha and Node."""
    told = files.get("jest.json", b"") or files.get("vitest.json", b"")
    lines = files.get("tests.jsonl", b"").splitlines()
    try:
        by_file = json.loads(told)["testResults"] if told else ()
        return [*map(_own_test, map(json.loads, lines)), *(each for file in by_file for each in _jest(file))]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []


def _own_test(test: Any) -> _Reported:
    titles = tuple(map(str, test["titles"]))
    outcome = _OUTCOMES.get(str(test["state"]), "skipped")
    if outcome == "failed" and not titles:
        outcome = "error"
    return _Reported(str(test["file"]), titles, outcome, str(test["stack"]), float(test["seconds"]))


def _jest(file: Any) -> Iterator[_Reported]:
    name = str(file.get("name", ""))
    for test in file["assertionResults"]:
        outcome = _OUTCOMES.get(str(test.get("status")), "skipped")
        text = "\n".join(map(str, test.get("failureMessages") or ()))
        seconds = test.get("duration")
        took = seconds / 1_000 if isinstance(seconds, (int, float)) and 0 <= seconds < 1e9 else 0.0
        titles = [str(title) for title in test.get("ancestorTitles") or ()]
        titles = [*titles, str(test["title"])] if "title" in test else [str(test["fullName"]).strip()]
        yield _Reported(name, tuple(titles), outcome, text, took)
    if not file["assertionResults"] and file.get("status") == "failed":
        yield _Reported(name, (), "error", str(file.get("message") or ""))


def _js_case(
    test: _Reported, files: Mapping[str, bytes], place: ProjectPaths, known: dict[str, FileTitles]
) -> CaseResult:
    """A failure whose stack follows its message."""
    path = place.locate(test.file)
    if path not in known:
        known[path] = find_titles(files.get(f"{SOURCES}{path}", b""))
    name = name_test([title for title in test.titles if title], known[path])
    id = f"{path}::{name}" if path and name else name or test.file.removeprefix(f"{place.root}/")
    message = re.split(r"^\s+at ", test.text, maxsplit=1, flags=re.M)[0]
    return place.case(id, test.outcome, message, _js_frames(test.text), test.seconds, _js_error(test.text))


def _js_error(text: str) -> str:
    """The most telling name of an error that its stack has: Node wraps what was thrown."""
    names = re.findall(r"\b(\w*(?:Error|Exception))(?: \[\w+\])?:", text)
    return next((name for name in names if name != "Error"), names[0] if names else "")


def _js_frames(text: str) -> str:
    """`at name (file:///path:line:column)`, innermost first, as lines that `Place` reads, outermost first."""
    found = re.findall(r"^\s*at (?:(?:async )?(.*?) \()?(?:file://)?([^()\n]+?):(\d+):\d+\)?", text, re.M)
    return "\n".join(f"{path}:{line}: in {name.split(' ')[0] or '?'}" for name, path, line in reversed(found))


# --- the JVM, PHP, Meson, Ruby ---------------------------------------------------------------


def read_reports(files: Mapping[str, bytes], place: ProjectPaths) -> tuple[CaseResult, ...]:
    """Every report in JUnit's format that was collected; ids are `Class.test`, as most runners take them."""
    reports = (data for name, data in sorted(files.items()) if name.startswith("junit/"))
    return worst_of(
        place.case(
            f"{entry.group}.{entry.name}" if entry.group else entry.name,
            entry.outcome,
            entry.said or entry.text,
            entry.text,
            entry.seconds,
            entry.kind,
        )
        for data in reports
        for entry in read_junit(data)
    )


def read_rspec(files: Mapping[str, bytes], place: ProjectPaths) -> tuple[CaseResult, ...]:
    """Ids are full descriptions, as `-e` takes them; of a file that could not be loaded, an error."""
    try:
        data = json.loads(files.get("rspec.json", b""))
        return worst_of(_example(each, place) for each in data["examples"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ()


def _example(example: Any, place: ProjectPaths) -> CaseResult:
    """Source: RSpec's JsonFormatter."""
    told = example.get("exception") or {}
    frames = "\n".join(
        re.sub(r":in [`'](.*)'$", r": in \1", line) for line in reversed(told.get("backtrace") or ())
    )
    outcome = _OUTCOMES.get(str(example["status"]), "skipped")
    return place.case(
        str(example["full_description"]),
        outcome,
        str(told.get("message") or ""),
        frames,
        float(example.get("run_time") or 0),
        str(told.get("class") or ""),
    )
