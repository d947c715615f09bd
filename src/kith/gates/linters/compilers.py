"""Linters that report as compilers do: clang-tidy and cppcheck for C and C++, and shellcheck."""

import re
from typing import Final

from kith.core.values import Finding, Severity
from kith.gates.linters.linter import Linter
from kith.gates.toolchains import BUILD_FOLDER

_FINDING: Final = re.compile(
    r"^(?P<path>(?:[A-Za-z]:[\\/])?[^:\n]+):(?P<line>\d{1,9}):(?:\d{1,9}:)? "
    r"(?P<severity>\w[\w ]{0,20}): (?P<text>[^\n]*?)(?: \[(?P<rule>[^\]\s][^\]\n]*)\])?$",
    re.M,
)
_SEVERITIES: Final[dict[str, Severity]] = {
    "error": "error",
    "fatal error": "error",
    "warning": "warning",
    "performance": "warning",
    "portability": "warning",
    "style": "note",
    "information": "note",
    "note": "note",
}


def parse_findings(output: str, by: str) -> tuple[Finding, ...]:
    """Every line that is a finding; notes, which explain the finding before them, are passed over."""
    found = []
    for match in _FINDING.finditer(output):
        severity = _SEVERITIES.get(match["severity"])
        if severity and match["severity"] != "note":
            line = max(1, int(match["line"]))
            found.append(
                Finding(match["path"], line, severity, match["rule"] or by, match["text"].strip(), by)
            )
    return tuple(found)


# clang-tidy, for C++ that was configured with CMake: it needs to know how each file is compiled.

CLANG_TIDY_SUFFIXES: Final = frozenset({".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"})
COMMANDS: Final = f"{BUILD_FOLDER}/compile_commands.json"


def make_clang_tidy(configured: str) -> Linter:
    """`configured`: the file that holds the project's checks, "" when clang-tidy's own are used."""

    def command(arguments: str) -> str:
        return f"clang-tidy --quiet -p {BUILD_FOLDER} {arguments}"

    # How a file is compiled may name a plugin of the compiler's.
    why = configured or "C++ that CMake builds"
    return Linter(
        "clang-tidy", "lint", why, command, parse_clang_tidy, CLANG_TIDY_SUFFIXES, needs=COMMANDS, obeys=True
    )


def parse_clang_tidy(output: str) -> tuple[Finding, ...]:
    return parse_findings(output, "clang-tidy")


# cppcheck, for C and C++ however they are built.

# Not headers: cppcheck takes those for C.
CPPCHECK_SUFFIXES: Final = frozenset({".c", ".cc", ".cpp", ".cxx"})
_KINDS: Final = "warning,performance,portability"
# Macros that it does not know are no fault of the code, and syntax is the compiler's affair.
_QUIET: Final = ("unknownMacro", "syntaxError", "preprocessorErrorDirective", "internalAstError")


def make_cppcheck() -> Linter:
    quiet = " ".join(f"--suppress={rule}" for rule in _QUIET)
    template = "{file}:{line}:{column}: {severity}: {message} [{id}]"
    asked = f"cppcheck --quiet --inline-suppr --library=googletest --enable={_KINDS} {quiet}"

    def command(arguments: str) -> str:
        return f"{asked} --template='{template}' --template-location='' {arguments}"

    return Linter("cppcheck", "lint", "C or C++", command, parse_cppcheck, CPPCHECK_SUFFIXES)


def parse_cppcheck(output: str) -> tuple[Finding, ...]:
    return parse_findings(output, "cppcheck")


SHELLCHECK_SUFFIXES: Final = frozenset({".sh", ".bash"})


def make_shellcheck() -> Linter:
    def command(arguments: str) -> str:
        return f"shellcheck --format=gcc --severity=warning -- {arguments}"

    return Linter("shellcheck", "lint", "shell scripts", command, parse_shellcheck, SHELLCHECK_SUFFIXES)


def parse_shellcheck(output: str) -> tuple[Finding, ...]:
    return parse_findings(output, "shellcheck")
