"""JUnit's XML, in the forms that pytest, unittest, CTest, Catch2, googletest and Node write."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element

from kith.gates.reports import Outcome
from kith.gates.results.xml import parse_xml

MOST_CASES: Final = 200_000
_NAME = 1_000  # characters
_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One `testcase` as it was written; `text` is what its failures hold, `said` their short form.

    `kind` is the type of the first failure.
    """

    group: str
    name: str
    outcome: Outcome
    said: str = ""
    text: str = ""
    output: str = ""
    seconds: float = 0.0
    suites: tuple[str, ...] = ()
    kind: str = ""


# Colours, which XML cannot hold: pytest spells the escape character out.
_COLOURS: Final = re.compile(rb"(?:#x1B|\x1b)\[[\d;]*m")


def read_junit(data: bytes) -> tuple[Entry, ...]:
    """Every case of a report, () for what is no report. Cases that were not chosen to run are left out."""
    root = parse_xml(_COLOURS.sub(b"", data))
    found: list[Entry] = []
    for element, suites in _cases(root) if root is not None else ():
        if element.get("result") == "suppressed" or len(found) >= MOST_CASES:
            continue
        found.append(_entry(element, suites))
    return tuple(found)


def _cases(root: Element) -> Iterator[tuple[Element, tuple[str, ...]]]:
    """The cases in their order, with the names of the suites around them."""
    if root.tag == "testcase":
        yield root, ()
    for inner in root if root.tag in ("testsuites", "testsuite") else ():
        if inner.tag == "testcase":
            yield inner, ()
        elif inner.tag == "testsuite":
            name = inner.get("name") or ""
            yield from ((case, (name, *suites)) for case, suites in _cases(inner))


def _entry(element: Element, suites: tuple[str, ...]) -> Entry:
    failures = [child for child in element if child.tag in ("failure", "error")]
    skipped = any(child.tag == "skipped" for child in element)
    not_run = element.get("status") in ("notrun", "disabled") or element.get("result") == "skipped"
    outcome: Outcome = "skipped" if skipped or not_run else "passed"
    if failures:
        outcome = "failed" if any(child.tag == "failure" for child in failures) else "error"
    elif element.get("status") == "fail":
        outcome = "failed"
    return Entry(
        (element.get("classname") or "")[:_NAME],
        (element.get("name") or "")[:_NAME],
        outcome,
        "\n".join(filter(None, (child.get("message") for child in failures)))[:_TEXT],
        "\n\n".join(filter(None, ((child.text or "").strip("\n") for child in failures)))[:_TEXT],
        "".join(child.text or "" for child in element if child.tag == "system-out"),
        _seconds(element.get("time")),
        tuple(name[:_NAME] for name in suites),
        next((kind for child in failures if (kind := child.get("type"))), "")[:_NAME],
    )


def _seconds(text: str | None) -> float:
    try:
        seconds = float(text or 0)
    except ValueError:
        return 0.0
    return seconds if 0 <= seconds < 1e6 else 0.0  # neither NaN nor without end
