"""Runners that write reports in JUnit's format: those of the JVM, Meson, PHPUnit."""

from collections.abc import Callable, Mapping
from typing import Final

from kith.gates.reports import CaseResult, ProjectPaths, worst_of
from kith.gates.results.junit import read_junit
from kith.gates.results.report_commands import REPORTS
from kith.gates.toolchain import Runner


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


def _report_phpunit(line: str) -> str:
    return f"mkdir -p {REPORTS}/junit\n{line} --log-junit {REPORTS}/junit/phpunit.xml"


def _runner(name: str, report: Callable[[str], str]) -> Runner:
    return Runner(name, report=report, read=lambda files, place, ran: read_reports(files, place))


JUNIT: Final = _runner("junit", str)  # the toolchain names the files of its reports
PHPUNIT: Final = _runner("phpunit", _report_phpunit)
