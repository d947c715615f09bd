"""What cargo, Go, Node and Jest report."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kith.gates.reports import CaseResult, Outcome
from kith.gates.results.junit import read_junit
from kith.gates.results.place import Place
from kith.gates.results.python import worst_of

_RUST_TEST: Final = re.compile(r"^test (\S.*?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b", re.M)
_RUST_BLOCK: Final = re.compile(r"^---- (\S.*?) stdout ----\n(.*?)(?=^---- |^failures:$|\Z)", re.M | re.S)
_RUST_PANIC: Final = re.compile(
    r"panicked at (?:'(?P<old>.*?)', )?(?P<path>[^\s:]+):(?P<line>\d+):\d+:?\n?", re.S
)
_RUST_NOTE: Final = re.compile(r"^note: run with `RUST_BACKTRACE.*$", re.M)
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


def read_cargo(files: Mapping[str, bytes], place: Place) -> tuple[CaseResult, ...]:
    """Ids are Rust's paths: `module::tests::name`. Stable Rust has no report but these lines."""
    text = files.get("cargo.txt", b"").decode("utf-8", "replace")
    told = dict(_RUST_BLOCK.findall(text))
    return worst_of(
        _rust_case(name, how, told.get(name, ""), place) for name, how in _RUST_TEST.findall(text)
    )


def _rust_case(name: str, how: str, block: str, place: Place) -> CaseResult:
    panic = _RUST_PANIC.search(block)
    if panic is None:
        return place.case(name, _OUTCOMES[how], block)
    message = panic["old"] or block[panic.end() :]
    where = f"{panic['path']}:{panic['line']}: "
    return place.case(name, _OUTCOMES[how], _RUST_NOTE.sub("", message), where)


def read_go(files: Mapping[str, bytes], place: Place) -> tuple[CaseResult, ...]:
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


def _go_case(key: tuple[str, str], outcome: Outcome, seconds: float, output: str, place: Place) -> CaseResult:
    """Go names a file without its folder, so the package says which one it is."""
    package, test = key
    message = "\n".join(
        line.strip() for line in output.splitlines() if not re.match(r"\s*(?:=== |--- )", line)
    )
    located = re.sub(
        r"^(\w+\.go):(\d+)", lambda m: f"{_go_file(m[1], package, place)}:{m[2]}", message, flags=re.M
    )
    return place.case(f"{package}.{test}", outcome, located, located, seconds)


def _go_file(name: str, package: str, place: Place) -> str:
    """The deepest folder that ends as the package does."""
    parts = package.split("/")
    folders = ("/".join(parts[at:]) for at in range(1, len(parts) + 1))
    paths = (f"{folder}/{name}" if folder else name for folder in folders)
    return next((path for path in paths if path in place.files), name)


def go_output(files: Mapping[str, bytes]) -> str:
    """What `go test` would have printed had it not been asked for events."""
    return "".join(str(event.get("Output", "")) for event in _events(files))


def _events(files: Mapping[str, bytes]) -> Iterator[dict[str, Any]]:
    for line in files.get("go.jsonl", b"").splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue  # a program that is tested may print between the events
        if isinstance(event, dict):
            yield event


def read_node(files: Mapping[str, bytes], place: Place) -> tuple[CaseResult, ...]:
    """Ids are `suite > test`."""
    return worst_of(
        place.case(
            " > ".join([*entry.suites, entry.name]),
            entry.outcome,
            entry.said,
            _js_frames(entry.text),
            entry.seconds,
        )
        for entry in read_junit(files.get("node.xml", b""))
    )


def read_jest(files: Mapping[str, bytes], place: Place) -> tuple[CaseResult, ...]:
    """Ids are Jest's full names, as `-t` takes them."""
    try:
        data = json.loads(files.get("jest.json", b""))
        return worst_of(
            _jest_case(test, place) for file in data["testResults"] for test in file["assertionResults"]
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ()


def _jest_case(test: Any, place: Place) -> CaseResult:
    text = "\n".join(map(str, test.get("failureMessages") or ()))
    message = re.split(r"^\s+at ", text, maxsplit=1, flags=re.M)[0]
    outcome = _OUTCOMES.get(str(test.get("status")), "skipped")
    return place.case(str(test["fullName"]), outcome, message, _js_frames(text))


def _js_frames(text: str) -> str:
    """`at name (file:///path:line:column)`, innermost first, as lines that `Place` reads, outermost first."""
    found = re.findall(r"^\s*at (?:(?:async )?(.*?) \()?(?:file://)?([^()\n]+?):(\d+):\d+\)?", text, re.M)
    return "\n".join(f"{path}:{line}: in {name.split(' ')[0] or '?'}" for name, path, line in reversed(found))
