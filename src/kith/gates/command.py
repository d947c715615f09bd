"""Commands that a project or a person named, as gates: their exit codes decide."""

import re

from kith.core.evidence import CheckEvidence, combine
from kith.core.run import Gate, Run
from kith.core.values import Changes, Verdict
from kith.gates.runners.python import UNITTEST
from kith.gates.toolchain import COMMAND, Toolchain


def name_command(command: str) -> Toolchain:
    """A command that a person named: the whole of it is what tests the tree."""
    plain = re.fullmatch(r"python3? -m unittest(?: [^;&|<>$`\n]*)?", command)
    return Toolchain(command, "", "named", command, UNITTEST if plain else COMMAND)


def not_allowed(toolchain: Toolchain) -> Gate:
    """In place of a check that the person did not let run: nothing is judged, and the receipt says so."""

    async def judge(run: Run, changes: Changes) -> Verdict:
        text = f"`{toolchain.test}` was not allowed to run without a sandbox"
        told = combine([CheckEvidence(toolchain.test, "unproven", "not_allowed")])
        return Verdict(True, text, toolchain.test, evidence=told)

    return judge
