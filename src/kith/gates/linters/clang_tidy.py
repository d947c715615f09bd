"""clang-tidy, for C++ that was configured with CMake: it needs to know how each file is compiled."""

from typing import Final

from kith.core.values import Finding
from kith.gates.linters.compilers import parse_findings
from kith.gates.linters.linter import Linter
from kith.gates.toolchains import BUILD_FOLDER

SUFFIXES: Final = frozenset({".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"})
COMMANDS: Final = f"{BUILD_FOLDER}/compile_commands.json"


def make_clang_tidy(configured: str) -> Linter:
    """`configured`: the file that holds the project's checks, "" when clang-tidy's own are used."""

    def command(arguments: str) -> str:
        return f"clang-tidy --quiet -p {BUILD_FOLDER} {arguments}"

    # How a file is compiled may name a plugin of the compiler's.
    why = configured or "C++ that CMake builds"
    return Linter("clang-tidy", "lint", why, command, parse, SUFFIXES, needs=COMMANDS, obeys=True)


def parse(output: str) -> tuple[Finding, ...]:
    return parse_findings(output, "clang-tidy")
