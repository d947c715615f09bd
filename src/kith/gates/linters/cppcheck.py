"""cppcheck, for C and C++ however they are built."""

from typing import Final

from kith.core.values import Finding
from kith.gates.linters.compilers import parse_findings
from kith.gates.linters.linter import Linter

# Not headers: cppcheck takes those for C.
SUFFIXES: Final = frozenset({".c", ".cc", ".cpp", ".cxx"})
_KINDS: Final = "warning,performance,portability"
# Macros that it does not know are no fault of the code, and syntax is the compiler's affair.
_QUIET: Final = ("unknownMacro", "syntaxError", "preprocessorErrorDirective", "internalAstError")


def make_cppcheck() -> Linter:
    quiet = " ".join(f"--suppress={rule}" for rule in _QUIET)
    template = "{file}:{line}:{column}: {severity}: {message} [{id}]"
    asked = f"cppcheck --quiet --inline-suppr --library=googletest --enable={_KINDS} {quiet}"

    def command(arguments: str) -> str:
        return f"{asked} --template='{template}' --template-location='' {arguments}"

    return Linter("cppcheck", "lint", "C or C++", command, parse, SUFFIXES)


def parse(output: str) -> tuple[Finding, ...]:
    return parse_findings(output, "cppcheck")
