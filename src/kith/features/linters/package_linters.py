"""Run the linters of Cargo, npm and Go packages, and read their JSON reports."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from kith.core.values import Finding, Severity
from kith.features.linters.known_linters import as_line, as_text
from kith.gates.linters import Linter

# clippy, for Rust. It builds the package, so the project's own build scripts run.

CLIPPY_SUFFIXES: Final = frozenset({".rs"})


def make_clippy() -> Linter:
    def command(arguments: str) -> str:
        return "cargo clippy --quiet --offline --all-targets --message-format=json"

    return Linter(
        "clippy",
        "lint",
        "Cargo.toml",
        command,
        parse_clippy,
        CLIPPY_SUFFIXES,
        whole=True,
        obeys=True,
        program="cargo-clippy",
    )


def parse_clippy(output: str) -> tuple[Finding, ...]:
    """Source: the Cargo book, "External tools", and the rustc book, "JSON Output"."""
    lines = (_object(line) for line in output.splitlines())
    return tuple(dict.fromkeys(found for data in lines if (found := _clippy_finding(data.get("message")))))


def _clippy_finding(message: Any) -> Finding | None:
    if not isinstance(message, dict) or message.get("level") not in ("error", "warning"):
        return None
    spans = message.get("spans")
    marked = [each for each in spans if isinstance(each, dict)] if isinstance(spans, list) else []
    span = next((each for each in marked if each.get("is_primary") is True), None)
    if span is None or not isinstance(span.get("file_name"), str):
        return None
    code = message.get("code")
    rule = as_text(code.get("code")) if isinstance(code, dict) else ""
    begin, end = as_line(span.get("line_start")), as_line(span.get("line_end"))
    severity: Severity = "error" if message["level"] == "error" else "warning"
    return Finding(
        span["file_name"],
        begin,
        severity,
        rule or "rustc",
        as_text(message.get("message")),
        "clippy",
        max(begin, end),
    )


# eslint, for JavaScript and TypeScript. Its configuration is a program.

ESLINT_SUFFIXES: Final = frozenset({".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"})
ESLINT_CONFIGS: Final = (
    *(f"eslint.config.{ending}" for ending in ("js", "mjs", "cjs", "ts", "mts", "cts")),
    *(f".eslintrc{ending}" for ending in (".js", ".cjs", ".yaml", ".yml", ".json", "")),
)


def make_eslint(configured: str) -> Linter:
    def command(arguments: str) -> str:
        return f'PATH="$PWD/node_modules/.bin:$PATH" eslint --format json -- {arguments}'

    return Linter("eslint", "lint", configured, command, parse_eslint, ESLINT_SUFFIXES, obeys=True)


def parse_eslint(output: str) -> tuple[Finding, ...]:
    """Source: eslint's documentation, "Formatters Reference", json."""
    files = next((each for each in _values(output, "[") if isinstance(each, list)), [])
    return tuple(_eslint_findings(files))


def _eslint_findings(files: list[Any]) -> Iterator[Finding]:
    for file in files:
        messages = file.get("messages") if isinstance(file, dict) else None
        if not isinstance(messages, list) or not isinstance(file.get("filePath"), str):
            continue
        for each in messages:
            # What has no line is about the file: that eslint was told to ignore it.
            if isinstance(each, dict) and each.get("severity") in (1, 2) and each.get("line"):
                begin = as_line(each.get("line"))
                yield Finding(
                    file["filePath"],
                    begin,
                    "error" if each["severity"] == 2 else "warning",
                    as_text(each.get("ruleId")) or "syntax",
                    as_text(each.get("message")),
                    "eslint",
                    max(begin, as_line(each.get("endLine"))),
                )


# go vet, for Go. It type-checks the packages, so they are built in part.

VET_SUFFIXES: Final = frozenset({".go"})


def make_go_vet() -> Linter:
    def command(arguments: str) -> str:
        return "go vet -json ./..."

    return Linter(
        "go vet",
        "lint",
        "go.mod",
        command,
        parse_go_vet,
        VET_SUFFIXES,
        whole=True,
        obeys=True,
        program="go",
    )


def parse_go_vet(output: str) -> tuple[Finding, ...]:
    """One object a package: analyzers, and the findings of each with `posn` as `file:line:column`.

    Source: `go tool vet help`, -json, and golang.org/x/tools/go/analysis/unitchecker.
    """
    return tuple(dict.fromkeys(found for each in _values(output, "{") for found in _vet_findings(each)))


def _vet_findings(packages: Any) -> Iterator[Finding]:
    for analyzers in packages.values() if isinstance(packages, dict) else ():
        for rule, found in analyzers.items() if isinstance(analyzers, dict) else ():
            for each in found if isinstance(found, list) else ():
                posn = as_text(each.get("posn")) if isinstance(each, dict) else ""
                path, line, *_ = *posn.rsplit(":", 2), ""
                if path and line.isdecimal() and len(line) < 10:
                    yield Finding(
                        path, max(1, int(line)), "warning", rule, as_text(each.get("message")), "go vet"
                    )


# JSON among other lines.


def _object(line: str) -> dict[str, Any]:
    try:
        data = json.loads(line) if line.startswith("{") else {}
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _values(output: str, opening: str) -> Iterator[Any]:
    """The JSON values that begin a line with `opening`; other lines are skipped."""
    decode: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().raw_decode
    at = 0
    while (at := output.find(opening, at)) >= 0:
        if at and output[at - 1] != "\n":
            at += 1
            continue
        try:
            value, at = decode(output, at)
        except (ValueError, RecursionError):
            at += 1
        else:
            yield value
