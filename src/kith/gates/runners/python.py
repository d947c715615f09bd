"""Read the reports of pytest and unittest, with ids in their own spelling."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from kith.gates.reports import CaseResult, Outcome, ProjectPaths
from kith.gates.results.junit import JUnitCase, read_junit

_CAPTURED: Final = re.compile(r"\n(?:Stdout|Stderr):\n.*", re.S)


def read_pytest(files: Mapping[str, bytes], place: ProjectPaths) -> tuple[CaseResult, ...]:
    """Ids as pytest takes them back: `path::Class::test[parameters]`; of a module that failed, its path."""
    entries = read_junit(files.get("pytest.xml", b""))
    return worst_of(
        place.case(
            _node_id(entry, place),
            entry.outcome,
            _without_prefix(entry.said if entry.group else entry.text),
            entry.text,
            entry.seconds,
            _error_of(entry),
        )
        for entry in entries
    )


def _error_of(entry: JUnitCase) -> str:
    """pytest names the type in its last line, or before the message; a bare `assert` has none there."""
    last = re.findall(r"^\S[^\n:]*:\d+: (?:in [^\n]+|([\w.]+))$", entry.text, re.M)
    first = _type_of(entry.said) or _type_of(_without_prefix(entry.text))
    asserted = "AssertionError" if entry.said.startswith("assert ") else ""
    return first or next((name for name in reversed(last) if name), asserted)


def _type_of(message: str) -> str:
    """The exception's name that a message begins with, without its module."""
    found = re.match(r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*)(?=:|\s*$)", message.strip().split("\n", 1)[0])
    return found[1] if found else ""


def _node_id(entry: JUnitCase, place: ProjectPaths) -> str:
    """JUnit's `tests.test_a.Class` is a path, then classes; the files there are tell where the path ends."""
    dotted = entry.group or entry.name
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        path = "/".join(parts[:length])
        found = next((name for name in (f"{path}.py", _with_suffix(path)) if name in place.files), "")
        if found:
            return "::".join([found, *parts[length:], *([entry.name] if entry.group else [])])
    path = _dotted_path(dotted, place.files)
    return "::".join([path or dotted, *([entry.name] if entry.group else [])])


def _with_suffix(path: str) -> str:
    """Documents with doctests keep their suffix: `docs/index/rst` was `docs/index.rst`."""
    return re.sub(r"/(\w+)$", r".\1", path)


def _dotted_path(dotted: str, files: Iterable[str]) -> str:
    """For folders with dots in their names."""
    return next((path for path in files if path.removesuffix(".py").replace("/", ".") == dotted), "")


def _without_prefix(message: str) -> str:
    """pytest's E margin, where the message is a whole text."""
    marked = [line[1:].strip() for line in message.splitlines() if line.startswith("E  ")]
    return "\n".join(marked) or message


_VERBOSE: Final = re.compile(
    r"^(?P<test>\w+) \((?P<group>[\w.]+)\)(?:\n[^\n]*)? \.\.\. (?P<how>ok|FAIL|ERROR|skipped|expected)\b",
    re.M,
)
_BLOCK: Final = re.compile(
    r"^(?:FAIL|ERROR): (\w+) \(([\w.]+)\)[^\n]*\n(.*?)(?=^(?:={20}|-{20,}\nRan )|\Z)", re.M | re.S
)
_HOW: Final[Mapping[str, Outcome]] = {"FAIL": "failed", "ERROR": "error", "skipped": "skipped"}


def read_lines(output: str, place: ProjectPaths) -> tuple[CaseResult, ...]:
    """Parse unittest's verbose output (`-v`), whichever program started it."""
    blocks = {_dotted(name, group): text for name, group, text in _BLOCK.findall(output)}
    found = [
        (_dotted(match["test"], match["group"]), _HOW.get(match["how"], "passed"))
        for match in _VERBOSE.finditer(output)
    ]
    return worst_of(
        place.case(
            id, how, words := _last_words(blocks.get(id, "")), blocks.get(id, ""), error=_type_of(words)
        )
        for id, how in found
    )


def _dotted(test: str, group: str) -> str:
    """Since Python 3.11 the text in brackets ends with the test's own name."""
    return group if group.endswith(f".{test}") else f"{group}.{test}"


def read_unittest(files: Mapping[str, bytes], place: ProjectPaths) -> tuple[CaseResult, ...]:
    """Ids are dotted names: `package.module.Class.test`."""
    entries = read_junit(files.get("unittest.xml", b""))
    return worst_of(
        place.case(
            entry.name,
            entry.outcome,
            words := _last_words(entry.text),
            entry.text,
            entry.seconds,
            _type_of(words),
        )
        for entry in entries
    )


def _last_words(traceback: str) -> str:
    """The exception and its message: what follows the last frame's source."""
    lines = _CAPTURED.sub("", traceback).splitlines()
    frames = [at for at, line in enumerate(lines) if re.match(r'\s+File "', line)]
    after = lines[frames[-1] + 1 :] if frames else lines
    begin = next((at for at, line in enumerate(after) if line and not line[0].isspace()), 0)
    return "\n".join(after[begin:])


def worst_of(cases: Iterable[CaseResult]) -> tuple[CaseResult, ...]:
    """One result for each id: a test that passes and then breaks in its teardown is told twice."""
    kept: dict[str, CaseResult] = {}
    for case in cases:
        before = kept.get(case.id)
        if before is None or (case.outcome in ("failed", "error") and not before.message):
            kept[case.id] = case
    return tuple(kept.values())


def tell_apart(cases: Iterable[CaseResult]) -> Iterator[CaseResult]:
    """Number tests of one name in their order: several programs print into one output."""
    seen = Counter[str]()
    for case in cases:
        seen[case.id] += 1
        yield case if seen[case.id] == 1 else replace(case, id=f"{case.id} ({seen[case.id]})")
