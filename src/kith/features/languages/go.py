"""Go: `go test`, which reports in events."""

import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from kith.gates.reports import CaseResult, Outcome, ProjectPaths
from kith.gates.results.report_commands import REPORTS, leaves_reports
from kith.gates.toolchain import Ecosystem, Read, Runner, Toolchain

_GO_FRAME: Final = re.compile(r"^(\S+)\([^\n]*\)\n\t([^\n]+\.go):(\d+)", re.M)
_GO_TEST: Final = re.compile(r"(.+?)\.((?:Test|Fuzz|Example)\w*)(?:/.*)?")
_OUTCOMES: Final[Mapping[str, Outcome]] = {"pass": "passed", "fail": "failed", "skip": "skipped"}


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


def _report_go(line: str) -> str:
    return line.replace("go test", "go test -json", 1) + f" > {REPORTS}/go.jsonl"


def _choose_go(line: str, only: tuple[str, ...]) -> str:
    """An id is `package.TestName/subtest`; Go chooses packages and top tests."""
    found = [part for test in only if (part := _GO_TEST.fullmatch(test))]
    if len(found) != len(only):
        return line
    names = "|".join(dict.fromkeys(part[2] for part in found))
    packages = shlex.join(dict.fromkeys(part[1] for part in found))
    return f"{re.sub(r' ([.]/[.]{3}|[$][(].*)$', ' ', line)}{packages} -run {shlex.quote(f'^({names})$')}"


GO: Final = Runner(
    "go",
    report=_report_go,
    read=lambda files, place, ran: read_go(files, place),
    choose=_choose_go,
    found_none=lambda ran: not ran.code and leaves_reports(),  # its report names all of its tests
    printed=go_output,
    compiles=True,
)


def find_go(files: Collection[str], read: Read) -> tuple[Toolchain, ...]:
    """All packages of the module; of a workspace, of all its modules."""
    if "go.work" in files:
        line = "go test $(go list -m -f '{{.Dir}}/...')"
        return (Toolchain("go test", "Go", "go.work", line, GO),)
    if "go.mod" not in files or not any(path.endswith(".go") for path in files):
        return ()
    return (Toolchain("go test", "Go", "go.mod", "go test ./...", GO),)


GO_MODULES: Final = Ecosystem(find_go, asked="always")
