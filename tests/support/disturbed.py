"""Tests that a browser, a terminal or a kernel of the machine may disturb: tried once more, and named.

`@pytest.mark.disturbed("by what")` marks one. A test without this mark fails at its first failure.
"""

from collections.abc import Sequence
from typing import Final

import pytest
from _pytest.runner import runtestprotocol

AGAIN: Final = "tried again"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "disturbed(by): is tried once more, for what is named may disturb it")


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if (mark := item.get_closest_marker("disturbed")) and not _is_reason(mark):
            raise pytest.UsageError(f"{item.nodeid}: disturbed() needs one sentence: by what?")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    mark = item.get_closest_marker("disturbed")
    if mark is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    if failed := [each for each in reports if each.failed]:
        for each in failed:
            each.outcome = AGAIN  # type: ignore[assignment]
            each.disturbed_by = mark.args[0]
        # Its folders and its fixtures are new; those of the session stay.
        reports = failed + runtestprotocol(item, log=False, nextitem=nextitem)
    for each in reports:
        item.ihook.pytest_runtest_logreport(report=each)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_report_teststatus(
    report: pytest.TestReport,
) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    return (AGAIN, "R", ("TRIED AGAIN", {"yellow": True})) if report.outcome == AGAIN else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name each test that was tried again, with the failure of its first try."""
    if reports := terminalreporter.stats.get(AGAIN):
        terminalreporter.section(AGAIN)
        for each in reports:
            terminalreporter.write_line(each.longreprtext)
        for each in reports:
            terminalreporter.write_line(f"TRIED AGAIN {each.nodeid} ({each.disturbed_by})", yellow=True)


def _is_reason(mark: pytest.Mark) -> bool:
    return len(mark.args) == 1 and isinstance(mark.args[0], str) and bool(mark.args[0]) and not mark.kwargs
