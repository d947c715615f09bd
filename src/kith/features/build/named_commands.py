"""Gates of a build that run the commands of the project's configuration."""

from kith.core.run import Gate, Run
from kith.core.values import Changes, Verdict
from kith.core.workspace import ExecLimits
from kith.gates.evidence.feedback import write_exit
from kith.gates.results.run import run_suite
from kith.gates.toolchains import Toolchain


def command_gate(name: str, command: str, limits: ExecLimits) -> Gate:
    """A gate of this `name` that runs `command` in the trial; it must end with 0, whatever it said before."""
    toolchain = Toolchain(name, "", "the project's configuration", command)

    async def judge(run: Run, changes: Changes) -> Verdict:
        report = await run_suite(run, toolchain, limits)
        letter = "" if report.ok else write_exit(report)
        return Verdict(report.ok, letter, name, (report.ran,), figures={"seconds": report.ran.seconds})

    return judge
