"""Runs unittest as `python -m unittest` does, or a script that does so, and leaves a JUnit report.

    run_unittest.py WORDS...            the words of `python -m unittest`
    run_unittest.py --script PATH ...   a script, or `-m` and a module, and its words

The project's own Python runs it: Python 3.8 must understand it, with nothing but the standard library.
"""

from __future__ import annotations

import re
import runpy
import sys
import time
import unittest
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

REPORT = Path(__file__).resolve().with_name("unittest.xml")
UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
run_tests = unittest.TextTestRunner.run
finished: list[Any] = []  # the results of all runs in this process


class TimedResult(unittest.TestResult):
    """Adds to a result of unittest every test that began, and its seconds."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.seconds: dict[str, float] = {}

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.seconds[name_of(test)] = -time.perf_counter()

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        self.seconds[name_of(test)] += time.perf_counter()


def run_and_report(runner: Any, test: Any) -> Any:
    """Run tests as the runner itself would, and write the report when all have run."""
    known = runner.resultclass or unittest.TextTestResult
    if isinstance(known, type) and not issubclass(known, TimedResult):
        runner.resultclass = type("Result", (TimedResult, known), {})
    result = run_tests(runner, test)
    if isinstance(result, TimedResult):
        finished.append(result)
        write_report(finished)
    return result


def write_report(results: list[Any]) -> None:
    """One element for each test, with every failure inside: a test whose subtests fail has several."""
    with REPORT.open("w", encoding="utf-8") as file:
        file.write("<testsuites>\n")
        for result in results:
            told: dict[str, list[tuple[str, str]]] = {name: [] for name in result.seconds}
            groups = {"failure": result.failures, "error": result.errors, "skipped": result.skipped}
            for kind, pairs in groups.items():
                for test, text in pairs:
                    told.setdefault(name_of(test), []).append((kind, text))
            for test in result.unexpectedSuccesses:
                told.setdefault(name_of(test), []).append(("failure", "Unexpected success"))
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
    unittest.TextTestRunner.run = run_and_report  # type: ignore
    if sys.argv[1:2] == ["--script"]:
        del sys.argv[:2]
        if sys.argv[0] == "-m":
            del sys.argv[0]
            sys.path[0] = str(Path.cwd())
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
            runpy.run_path(sys.argv[0], run_name="__main__")
    else:
        sys.path[0] = ""  # as with -m: the project's folder, not this file's
        sys.argv[0] = "python -m unittest"
        unittest.main(module=None)
