"""Why a run of tests says nothing, in a sentence for the person."""

from kith.core.values import Ran
from kith.gates.reports import CaseResult
from kith.gates.results.recipes import leaves_reports
from kith.gates.toolchains import Toolchain


def why_no_results(toolchain: Toolchain, ran: Ran, cases: tuple[CaseResult, ...]) -> str:
    """Why these tests say nothing about the tree; "" when they really ran."""
    if cases:
        return ""
    if ran.code == 127:
        return f"`{ran.command}` is not installed here, so it was not run"
    if "no module named pytest" in ran.output.lower():
        return f"`{ran.command}` could not run: pytest is not installed for this Python"
    if _found_none(toolchain, ran):
        return f"`{ran.command}` found no tests"
    if ran.code == 0 and toolchain.runner in ("pytest", "unittest") and leaves_reports():
        # These two report even when there is nothing to say: somebody ended the process before they could.
        return f"`{ran.command}` ended without a word about any test"
    return ""


def _found_none(toolchain: Toolchain, ran: Ran) -> bool:
    if toolchain.runner == "pytest":
        return ran.code == 5
    if toolchain.runner == "unittest":
        return "Ran 0 tests" in ran.output or ran.code == 5
    return toolchain.runner == "ctest" and "No tests were found!!!" in ran.output


def why_unmeasured(toolchain: Toolchain, ran: Ran) -> str:
    """Why there is no coverage although it was asked for."""
    if not toolchain.coverage:
        return f"kith cannot measure the coverage of `{toolchain.test}`"
    if ran.timed_out:
        return "the tests timed out before their coverage could be measured"
    if toolchain.runner == "ctest":
        return "neither gcovr nor gcov could measure the coverage"
    return "coverage.py is not installed for this Python, or it found nothing to measure"
