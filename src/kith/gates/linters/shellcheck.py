"""shellcheck, for shell scripts."""

from typing import Final

from kith.core.values import Finding
from kith.gates.linters.compilers import parse_findings
from kith.gates.linters.linter import Linter

SUFFIXES: Final = frozenset({".sh", ".bash"})


def make_shellcheck() -> Linter:
    def command(arguments: str) -> str:
        return f"shellcheck --format=gcc --severity=warning -- {arguments}"

    return Linter("shellcheck", "lint", "shell scripts", command, parse, SUFFIXES)


def parse(output: str) -> tuple[Finding, ...]:
    return parse_findings(output, "shellcheck")
