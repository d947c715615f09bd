"""Runs unittest as `python -m unittest` does and leaves a JUnit report.

The project's own Python runs it: Python 3.8 must understand it, with nothing but the standard library.
"""

from __future__ import annotations

import re
import sys
import time
import unittest
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

REPORT = Path(__file__).resolve().with_name("unittest.xml")
UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class TimedResult(unittest.TextTestResult):
    """The standard result of unittest, plus every test that began and its seconds."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.seconds: dict[str, float] = {}

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.seconds[name_of(test)] = -time.perf_counter()

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        self.seconds[name_of(test)] += time.perf_counter()


class Runner(unittest.TextTestRunner):
    """The usual runner, which writes its report when all tests have run."""

    resultclass: Any = TimedResult

    def run(self, test: Any) -> Any:
        result = super().run(test)
        write_report(result)
        return result


def write_report(result: Any) -> None:
    """One element for each test, with every failure inside: a test whose subtests fail has several."""
    told: dict[str, list[tuple[str, str]]] = {name: [] for name in result.seconds}
    groups = {"failure": result.failures, "error": result.errors, "skipped": result.skipped}
    for kind, pairs in groups.items():
        for test, text in pairs:
            told.setdefault(name_of(test), []).append((kind, text))
    for test in result.unexpectedSuccesses:
        told.setdefault(name_of(test), []).append(("failure", "Unexpected success"))
    with REPORT.open("w", encoding="utf-8") as file:
        file.write("<testsuites>\n")
        for name, ends in told.items():
            seconds = max(0.0, result.seconds.get(name, 0.0))
            file.write(f'<testcase name={quoteattr(clean(name))} time="{seconds:.6f}">')
            file.writelines(f"<{kind}>{escape(clean(text))}</{kind}>" for kind, text in ends)
            file.write("</testcase>\n")
        file.write("</testsuites>\n")


def name_of(test: Any) -> str:
    """The dotted name; of a subtest its test's, of a module that could not be loaded the module's."""
    whole = getattr(test, "test_case", None)
    # A test of a project may be called `test_case`, too.
    name: str = (whole if isinstance(whole, unittest.TestCase) else test).id()
    return name.replace("unittest.loader._FailedTest.", "", 1)


def clean(text: str) -> str:
    return UNPRINTABLE.sub("?", text)


if __name__ == "__main__":
    sys.path[0] = ""  # as with -m: the project's folder, not this file's
    sys.argv[0] = "python -m unittest"
    unittest.main(module=None, testRunner=Runner)
