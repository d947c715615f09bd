"""What a failure is, so that the same one is known again: error type, place in the project, message."""

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from kith.gates.distil import clean_output
from kith.gates.reports import CaseResult
from kith.gates.signals import TROUBLE

_MESSAGE: Final = 400  # characters that count, after what changes from run to run is gone
# What differs between two runs of the same failure: addresses, durations, dates, paths, numbers.
_VOLATILE: Final = tuple(
    (re.compile(pattern), word)
    for pattern, word in (
        (r"0x[0-9a-fA-F]+", "ADDRESS"),
        (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{32,64}\b", "HASH"),
        (r"(?:[A-Za-z]:)?(?:[\\/][\w.+@~-]+){2,}[\\/]?", "PATH"),
        (r"\d+(?:[.,:]\d+)*", "N"),
    )
)
_ERROR: Final = re.compile(r"^(?:E\s+)?([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Failed|Warning)\b)")
_NOT_STARTED: Final = frozenset(
    {"ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "TabError", "CollectError"}
)
_ASSERTED: Final = frozenset(
    {"AssertionError", "Failed", "AssertionFailedError", "ExpectationError", "failure"}
)


@dataclass(frozen=True, slots=True)
class Signature:
    """The kind of failure, where in the project it shows, and what it says without what varies."""

    error: str
    path: str
    function: str
    message: str


def signature_of(case: CaseResult) -> Signature:
    """The signature of a test that failed."""
    function = ""
    if case.frames:
        function = case.frames[-1].partition(" in ")[2]
    return Signature(error_of(case), case.path, function, steady(case.message)[:_MESSAGE])


def error_of(case: CaseResult) -> str:
    """The type of the error, without its module; "" where the message does not name one."""
    if case.error:
        return case.error.rpartition(".")[2]
    for line in case.message.splitlines():
        if found := _ERROR.match(line.strip()):
            return found[1].rpartition(".")[2]
    return "AssertionError" if case.message.lstrip().startswith("assert ") else ""


def stage_of(case: CaseResult) -> int:
    """How far a failing test got: 0 not even loaded, 1 stopped by an error, 2 compared and found wrong."""
    error = error_of(case)
    if error in _NOT_STARTED or (case.outcome == "error" and not error):
        return 0
    return 2 if error in _ASSERTED else 1


def steady(text: str) -> str:
    """A text without what changes from run to run."""
    for pattern, word in _VOLATILE:
        text = pattern.sub(word, text)
    return " ".join(text.split())


def fingerprint(output: str) -> str:
    """A digest of a command's output by the lines that sound like trouble, else by all of them.

    The order does not count: parallel builds and tests print in any.
    """
    lines = [line.strip() for line in clean_output(output).splitlines() if line.strip()]
    telling = [line for line in lines if TROUBLE.search(line)] or lines
    return sha256("\n".join(sorted({steady(line) for line in telling})).encode()).hexdigest()[:16]
