"""Gates of a build that run the commands of the project's configuration."""

from msgspec.structs import replace

from kith.core.run import Gate, Run
from kith.core.values import Changes, Verdict
from kith.core.workspace import ExecLimits
from kith.gates.evidence.feedback import write_exit
from kith.gates.results.run import run_suite
from kith.gates.toolchains import Toolchain


def command_gate(toolchain: Toolchain, limits: ExecLimits) -> Gate:
    """A gate that runs a command in the trial; it must end with 0, whatever it said before the change."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        report = await run_suite(run, toolchain, limits)
        letter = "" if report.ok else write_exit(report)
        return Verdict(report.ok, letter, toolchain.name, (report.ran,), figures=report.figures)

    return judge


def commands_gate(name: str, command: str, limits: ExecLimits) -> Gate:
    """A gate of this `name` that runs `command` in the trial; it must run and end with 0."""
    ask = command_gate(Toolchain(name, "", "the project's configuration", command), limits)

    async def judge(run: Run, changes: Changes) -> Verdict:
        verdict = await ask(run, changes)
        return replace(verdict, figures={"seconds": sum(ran.seconds for ran in verdict.ran)})

    return judge
