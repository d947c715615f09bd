"""The project's own gates: commands of its configuration, whose exit codes decide."""

from dataclasses import replace

from kith.core.run import Gate, Run
from kith.core.values import Changes, Verdict
from kith.core.workspace import ExecLimits
from kith.gates.command import command_gate
from kith.gates.toolchains import Toolchain


def commands_gate(name: str, command: str, limits: ExecLimits) -> Gate:
    """A gate of this `name` that runs `command` in the trial; it must run and end with 0."""
    ask = command_gate(Toolchain(name, "", "the project's configuration", command), limits)

    async def judge(run: Run, changes: Changes) -> Verdict:
        verdict = await ask(run, changes)
        return replace(verdict, figures={"seconds": sum(ran.seconds for ran in verdict.ran)})

    return judge
