"""Runners that write reports in JUnit's format: those of the JVM and of Meson."""

from collections.abc import Mapping
from typing import Final

from kith.gates.reports import CaseResult, ProjectPaths, worst_of
from kith.gates.results.junit import read_junit
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


# The toolchain names the files of its reports.
JUNIT: Final = Runner("junit", report=str, read=lambda files, place, ran: read_reports(files, place))
