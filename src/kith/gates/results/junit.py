"""JUnit's XML, in the forms that test runners write, read without trust."""

from collections.abc import Iterable, Iterator
from typing import Final
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from msgspec import Struct

from kith.core.patterns import lazy_pattern
from kith.gates.reports import Outcome

# XML that nobody vouches for: no entities, no depth without end, and None where it is broken.

MOST_BYTES: Final = 64_000_000
DEEPEST: Final = 60
_CONTROLS: Final = lazy_pattern(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parse_xml(data: bytes) -> Element | None:
    """The root of a document in UTF-8; None for one that is broken, too large, too deep or has a DOCTYPE.

    Without a document type there is nothing that could declare an entity.
    """
    if len(data) > MOST_BYTES:
        return None
    builder, depth = TreeBuilder(), 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise ValueError("too deep")
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def refuse(*_: object) -> None:
        raise ValueError("a document type")

    parser = expat.ParserCreate("utf-8")  # whatever encoding the document claims
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    try:
        # Some runners write control characters as they are.
        parser.Parse(_CONTROLS.sub("?", data.decode("utf-8", "replace")).encode(), True)
        return builder.close()
    except (expat.ExpatError, ValueError):
        return None


MOST_CASES: Final = 200_000
_NAME = 1_000  # characters
_TEXT = 20_000


class JUnitCase(Struct, frozen=True):
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
_COLOURS: Final = lazy_pattern(rb"(?:#x1B|\x1b)\[[\d;]*m")


def read_junit(data: bytes) -> tuple[JUnitCase, ...]:
    """Every case of a report, () for what is no report. Cases that were not chosen to run are left out."""
    root = parse_xml(_COLOURS.sub(b"", data))
    found: list[JUnitCase] = []
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


def _entry(element: Element, suites: tuple[str, ...]) -> JUnitCase:
    failures = [child for child in element if child.tag in ("failure", "error")]
    skipped = any(child.tag == "skipped" for child in element)
    not_run = element.get("status") in ("notrun", "disabled") or element.get("result") == "skipped"
    outcome: Outcome = "skipped" if skipped or not_run else "passed"
    if failures:
        outcome = "failed" if any(child.tag == "failure" for child in failures) else "error"
    elif element.get("status") == "fail":
        outcome = "failed"
    said = "\n".join(filter(None, (child.get("message") for child in failures)))
    text = _texts(failures)
    if failures and not (said or text):  # Meson's: only what the test printed says why
        text = _texts(child for child in element if child.tag in ("system-out", "system-err"))[-_TEXT:]
    return JUnitCase(
        (element.get("classname") or "")[:_NAME],
        (element.get("name") or "")[:_NAME],
        outcome,
        said[:_TEXT],
        text[:_TEXT],
        "".join(child.text or "" for child in element if child.tag == "system-out"),
        _seconds(element.get("time")),
        tuple(name[:_NAME] for name in suites),
        next((kind for child in failures if (kind := child.get("type"))), "")[:_NAME],
    )


def _texts(elements: Iterable[Element]) -> str:
    return "\n\n".join(filter(None, ((each.text or "").strip("\n") for each in elements)))


def _seconds(text: str | None) -> float:
    try:
        seconds = float(text or 0)
    except ValueError:
        return 0.0
    return seconds if 0 <= seconds < 1e6 else 0.0  # neither NaN nor without end
