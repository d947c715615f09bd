"""The linters that kith knows: for Python, C, C++ and shells; how each is asked and read."""

import json
import re
from typing import Any, Final

from kith.core.values import Finding, Severity
from kith.gates.linters import Linter
from kith.gates.toolchain import BUILD_FOLDER
from kith.gates.toolchains.cmake import configure_line


def installed(program: str) -> str:
    """The start of a command that needs this program, and would do something else first."""
    return f"command -v {program} >/dev/null || exit 127"


def as_line(value: Any) -> int:
    """A line number out of somebody's JSON, 1 where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1


def as_text(value: Any, otherwise: str = "") -> str:
    return value if isinstance(value, str) else otherwise


# Linters that report as compilers do: clang-tidy and cppcheck for C and C++, and shellcheck.

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
    """Every line that is a finding; notes, which explain the finding before them, are skipped."""
    found = []
    for match in _FINDING.finditer(output):
        severity = _SEVERITIES.get(match["severity"])
        if severity and match["severity"] != "note":
            line = max(1, int(match["line"]))
            found.append(
                Finding(match["path"], line, severity, match["rule"] or by, match["text"].strip(), by)
            )
    return tuple(found)


# clang-tidy, for C++ that CMake builds: it needs to know how each file is compiled.

CLANG_TIDY_SUFFIXES: Final = frozenset({".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"})
_COMMANDS: Final = f"{BUILD_FOLDER}/compile_commands.json"


def make_clang_tidy(configured: str) -> Linter:
    """`configured`: the file that holds the project's checks, "" when clang-tidy's own are used."""

    def command(arguments: str) -> str:
        configured = f"[ -f {_COMMANDS} ] || {{ {configure_line()}; }} >&2 || exit 1"
        return f"{installed('clang-tidy')}; {configured}; clang-tidy --quiet -p {BUILD_FOLDER} {arguments}"

    why = configured or "C++ that CMake builds"
    return Linter("clang-tidy", "lint", why, command, parse_clang_tidy, CLANG_TIDY_SUFFIXES, obeys=True)


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


RUFF_SUFFIXES: Final = frozenset({".py", ".pyi"})
# ruff's defaults grow from version to version; these are the ones for plain mistakes.
_FEW: Final = "--isolated --select=E4,E7,E9,F"
# Undefined names, and code that cannot be compiled or does not do what it says.
_ERRORS: Final = ("E9", "F63", "F7", "F82")


def make_ruff(configured: str) -> Linter:
    """`configured`: the file that holds the project's rules, "" when it has none."""
    rules = "" if configured else f" {_FEW}"

    def command(arguments: str) -> str:
        # One finding a line: what is cut or mixed with warnings spoils no more than itself.
        return f"ruff check --no-cache --force-exclude --output-format=json-lines{rules} -- {arguments}"

    return Linter(
        "ruff", "lint", configured or "Python without rules of its own", command, parse_ruff, RUFF_SUFFIXES
    )


def parse_ruff(output: str) -> tuple[Finding, ...]:
    """Source: https://docs.astral.sh/ruff/settings/#output-format."""
    return tuple(found for line in output.splitlines() if (found := _finding(line)))


def _finding(line: str) -> Finding | None:
    try:
        data = json.loads(line) if line.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("filename"), str):
        return None
    rule = as_text(data.get("code")) or "syntax"
    begin, end = _row(data.get("location")), _row(data.get("end_location"))
    return Finding(
        data["filename"], begin, _severity(rule), rule, as_text(data.get("message")), "ruff", max(begin, end)
    )


def _row(place: Any) -> int:
    return as_line(place.get("row")) if isinstance(place, dict) else 1


def _severity(rule: str) -> Severity:
    wrong = rule in ("syntax", "invalid-syntax") or rule.startswith(_ERRORS)
    return "error" if wrong else "warning"


# mypy, for projects that configure it: types are checked the way the project checks them.

MYPY_SUFFIXES: Final = frozenset({".py", ".pyi"})


def make_mypy(configured: str, whole: bool) -> Linter:
    """`whole`: the configuration itself names what is checked, so no path is given."""

    def command(arguments: str) -> str:
        asked = "mypy -O json --no-error-summary"
        return asked if whole else f"{asked} -- {arguments}"

    return Linter("mypy", "types", configured, command, parse_mypy, MYPY_SUFFIXES, whole=whole, obeys=True)


def parse_mypy(output: str) -> tuple[Finding, ...]:
    """Source: mypy's `--output=json`, one object a line; notes belong to the error before them."""
    return tuple(found for line in output.splitlines() if (found := _mypy_finding(line)))


def _mypy_finding(line: str) -> Finding | None:
    try:
        data = json.loads(line) if line.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("file"), str) or data.get("severity") == "note":
        return None
    rule = as_text(data.get("code")) or "mypy"
    return Finding(
        data["file"], as_line(data.get("line")), "error", rule, as_text(data.get("message")), "mypy"
    )


# pyright, for projects that configure it.

PYRIGHT_SUFFIXES: Final = frozenset({".py", ".pyi"})


def make_pyright(configured: str) -> Linter:
    def command(arguments: str) -> str:
        return f"pyright --outputjson {arguments}"

    return Linter("pyright", "types", configured, command, parse_pyright, PYRIGHT_SUFFIXES, obeys=True)


def parse_pyright(output: str) -> tuple[Finding, ...]:
    """Lines count from 0 there. Source: pyright's docs/command-line.md, "JSON Output"."""
    begin, end = output.find("{"), output.rfind("}")
    try:
        data = json.loads(output[begin : end + 1])
    except (ValueError, RecursionError):
        return ()
    told = data.get("generalDiagnostics") if isinstance(data, dict) else None
    return (
        tuple(found for each in told if (found := _pyright_finding(each))) if isinstance(told, list) else ()
    )


def _pyright_finding(data: Any) -> Finding | None:
    if not isinstance(data, dict) or not isinstance(data.get("file"), str):
        return None
    told = data.get("severity")
    if told not in ("error", "warning"):
        return None
    rule, text = as_text(data.get("rule")) or "pyright", as_text(data.get("message"))
    begin, end = _line(data, "start"), _line(data, "end")
    return Finding(
        data["file"], begin, "error" if told == "error" else "warning", rule, text, "pyright", max(begin, end)
    )


def _line(data: dict[str, Any], side: str) -> int:
    place = data.get("range")
    place = place.get(side) if isinstance(place, dict) else None
    line = place.get("line") if isinstance(place, dict) else None
    return as_line(line + 1) if isinstance(line, int) else 1
