"""JavaScript and TypeScript: Node's own runner, Jest, Vitest and Mocha."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from kith.gates.js_tests import FileTitles, find_titles, is_js, name_test, pattern_of, selects_all
from kith.gates.reports import CaseResult, Outcome, ProjectPaths, worst_of
from kith.gates.results.report_commands import REPORTS, SOURCES, add_script
from kith.gates.toolchain import Runner, hand_on

_REPORT_NODE: Final = Path(__file__).with_name("report_node.mjs")
_REPORT_MOCHA: Final = Path(__file__).with_name("report_mocha.cjs")

_OUTCOMES: Final[Mapping[str, Outcome]] = {
    "pass": "passed",
    "fail": "failed",
    "skip": "skipped",
    "passed": "passed",
    "failed": "failed",
    "pending": "skipped",
    "skipped": "skipped",
    "todo": "skipped",
}


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
        return [
            *map(_own_test, map(json.loads, lines)),
            *(each for file in by_file for each in _jest_file(file)),
        ]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []


def _own_test(test: Any) -> _Reported:
    titles = tuple(map(str, test["titles"]))
    outcome = _OUTCOMES.get(str(test["state"]), "skipped")
    if outcome == "failed" and not titles:
        outcome = "error"
    return _Reported(str(test["file"]), titles, outcome, str(test["stack"]), float(test["seconds"]))


def _jest_file(file: Any) -> Iterator[_Reported]:
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


# The lines that leave reports.


def _report_node(line: str) -> str:
    """The options come by the environment, since a script's own words end the list of them."""
    address = 'require("node:url").pathToFileURL(process.argv[1]).href'  # of a folder with a `#`, or a space
    two = (
        "--test-reporter=spec --test-reporter-destination=stdout "
        f"--test-reporter=$reporter --test-reporter-destination={REPORTS}/tests.jsonl"
    )
    return (
        f"{add_script(_REPORT_NODE)}"
        f'reporter="$(node -p \'{address}\' "$PWD/{REPORTS}/report_node.mjs" 2>/dev/null)"\n'
        f'NODE_OPTIONS="{two}" node -e 0 2>/dev/null && export NODE_OPTIONS="{two}"\n{line}'
    )


def _report_jest(line: str) -> str:
    return hand_on(line, f'--json --outputFile="$PWD/{REPORTS}/jest.json"')


def _report_vitest(line: str) -> str:
    return hand_on(
        line, f'--run --reporter=default --reporter=json --outputFile.json="$PWD/{REPORTS}/vitest.json"'
    )


def _report_mocha(line: str) -> str:
    """Its reporter lies among the project's files, so that the project's own Mocha is found from there."""
    return add_script(_REPORT_MOCHA) + hand_on(line, f'--reporter "$PWD/{REPORTS}/report_mocha.cjs"')


# The lines for some tests only.


def _choose_jest(line: str, only: tuple[str, ...]) -> str:
    """An id is `path::name`; `-t` takes names of all files, and of a table all rows.

    Where one of them is a whole file, or has a name that selects all tests, the files of all of them run.
    """
    named = [test.partition("::") if is_js(test.partition("::")[0]) else ("", "", test) for test in only]
    if any(path and selects_all(name) for path, _, name in named):
        paths = list(dict.fromkeys(path for path, _, _ in named))
        return hand_on(line, shlex.join(paths)) if all(paths) else line
    patterns = "|".join(dict.fromkeys(pattern_of(name) for _, _, name in named))
    return hand_on(line, f"-t {shlex.quote(f'^({patterns})$')}")


def _choose_mocha(line: str, only: tuple[str, ...]) -> str:
    """Files are added to those that a script names, so only names can be chosen."""
    named = [test.partition("::") if is_js(test.partition("::")[0]) else ("", "", test) for test in only]
    if any(is_js(name) or (path and selects_all(name)) for path, _, name in named):
        return line
    patterns = "|".join(dict.fromkeys(pattern_of(name) for _, _, name in named))
    return hand_on(line, f"-g {shlex.quote(f'^({patterns})$')}")


def _runner(
    name: str,
    report: Callable[[str], str],
    choose: Callable[[str, tuple[str, ...]], str] | None,
) -> Runner:
    return Runner(
        name,
        report=report,
        read=lambda files, place, ran: read_js(files, place),
        choose=choose,
        wants=js_sources,
    )


NODE: Final = _runner("node", _report_node, None)
JEST: Final = _runner("jest", _report_jest, _choose_jest)
VITEST: Final = _runner("vitest", _report_vitest, _choose_jest)
MOCHA: Final = _runner("mocha", _report_mocha, _choose_mocha)
