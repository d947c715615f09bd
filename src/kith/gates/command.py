"""The gate that matters most: the project's own tests or any command, whose exit code decides."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from kith.core.events import Judged
from kith.core.run import Gate, Run
from kith.core.values import Changes, Verdict
from kith.core.workspace import ExecLimits, Workspace
from kith.gates.reports import SuiteReport
from kith.gates.results.explain import explain_report
from kith.gates.results.run import run_suite
from kith.gates.toolchains import Toolchain

FEEDBACK_CHARS = 6_000
ALONE = (
    "It ran where there is nothing but your change: what you did to files that git ignores is not part of it."
)


def command_gate(
    toolchain: Toolchain, limits: ExecLimits, found: bool = False, home: Workspace | None = None
) -> Gate:
    """A gate that runs the tests of `toolchain` in the trial, or beside it in a new trial of `home`.

    There nothing counts but the change: what a model did to ignored files (caches, environments, a program
    built by hand) lets nothing pass that would fail in the person's tree. What has to be compiled is tested
    in the trial first, where most of it is built already, and beside it once it passes there. One that
    kith found by itself (`found`) and that cannot run here (its tool is not installed, it has no tests) is
    skipped and said; one that a person named must run.
    """

    async def judge(run: Run, changes: Changes) -> Verdict:
        if home is None or toolchain.compiles:
            verdict = await test(run)
            if home is None or not verdict.ok or not verdict.ran:
                return verdict
        async with _alone(run, home, changes) as beside:
            verdict = await test(beside)
        return verdict if verdict.ok else replace(verdict, feedback=f"{verdict.feedback}\n{ALONE}")

    async def test(run: Run) -> Verdict:
        report = await run_suite(run, toolchain, limits)
        if found and report.problem:
            return Verdict(True, report.problem, toolchain.name)
        feedback = "" if report.ok else write_letter(report)
        return Verdict(report.ok, feedback, toolchain.name, (report.ran,), figures=report.figures)

    return judge


@asynccontextmanager
async def _alone(run: Run, home: Workspace, changes: Changes) -> AsyncIterator[Run]:
    """The tree as the person would have it after a yes."""
    async with home.trial() as trial:
        await trial.apply(changes)
        yield run.inside(trial)


def name_command(command: str) -> Toolchain:
    """A command that a person named: the whole of it is what tests the tree."""
    plain = re.fullmatch(r"python3? -m unittest(?: [^;&|<>$`\n]*)?", command)
    return Toolchain(command, "", "named", command, "unittest" if plain else "command")


def not_allowed(toolchain: Toolchain) -> Gate:
    """In place of a check that the person did not let run: nothing is judged, and the receipt says so."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        text = f"`{toolchain.test}` was not allowed to run without a sandbox"
        return Verdict(True, text, toolchain.name)

    return judge


async def check_before(run: Run, toolchain: Toolchain, limits: ExecLimits, found: bool) -> Judged:
    """How the check ends on the untouched tree, in a trial of its own."""
    async with run.workspace.trial() as trial:
        report = await run_suite(run.inside(trial), toolchain, limits)
    if found and report.problem:
        return Judged(toolchain.name, True, 0, report.problem, when="before", skipped=True)
    return Judged(toolchain.name, report.ok, 0, ran=(report.ran,), when="before", figures=report.figures)


def write_letter(report: SuiteReport) -> str:
    """A failed check as a letter to the model; its first line is what a person needs to know."""
    ran = report.ran
    how = f"timed out after {ran.seconds:.0f} s" if ran.timed_out else f"failed with exit code {ran.code}"
    return (
        f"{explain_report(report, FEEDBACK_CHARS)}\n\n"
        f"So your change is not accepted yet: `{ran.command}` {how}. "
        "Find the cause and correct it. The check runs again when you are done."
    )
