"""Rust: `cargo test`, whose only stable report is what it prints."""

import re
import shlex
from collections.abc import Collection, Mapping
from typing import Final

from kith.gates.reports import CaseResult, Outcome, ProjectPaths, tell_apart, worst_of
from kith.gates.results.report_commands import REPORTS, leaves_reports
from kith.gates.toolchain import Ecosystem, Read, Runner, Toolchain, read_text

_RUST_PROGRAM: Final = re.compile(r"^running \d+ tests?$", re.M)
_RUST_TEST: Final = re.compile(r"^test (\S.*?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b", re.M)
_RUST_BLOCK: Final = re.compile(r"^---- (\S.*?) stdout ----\n(.*?)(?=^---- |^failures:$|\Z)", re.M | re.S)
_RUST_PANIC: Final = re.compile(
    r"panicked at (?:'(?P<old>.*?)', )?(?P<path>[^\s:]+):(?P<line>\d+):\d+:?\n?", re.S
)
_RUST_NOTE: Final = re.compile(r"^(?:note: run with `RUST_BACKTRACE|stack backtrace:$).*", re.M | re.S)
_RUST_FRAME: Final = re.compile(r"^ +\d+: (?:0x\w+ - )?(\S+)[^\n]*\n +at (?:\./)?([^\s:]+):(\d+)", re.M)
_OUTCOMES: Final[Mapping[str, Outcome]] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}


def read_cargo(files: Mapping[str, bytes], place: ProjectPaths) -> tuple[CaseResult, ...]:
    """Ids are Rust's paths: `module::tests::name`; of another program's test with this name, with a number.

    Stable Rust has no report but these lines. Programs run in the order of their names.
    """
    text = files.get("cargo.txt", b"").decode("utf-8", "replace")
    return tuple(
        tell_apart(case for program in _RUST_PROGRAM.split(text) for case in _program(program, place))
    )


def _program(text: str, place: ProjectPaths) -> tuple[CaseResult, ...]:
    told = dict(_RUST_BLOCK.findall(text))
    return worst_of(
        _rust_case(name, how, told.get(name, ""), place) for name, how in _RUST_TEST.findall(text)
    )


def _rust_case(name: str, how: str, block: str, place: ProjectPaths) -> CaseResult:
    panic = _RUST_PANIC.search(block)
    if panic is None:
        return place.case(name, _OUTCOMES[how], block)
    message = panic["old"] or block[panic.end() :]
    frames = [f"{path}:{line}: in {name}" for name, path, line in reversed(_RUST_FRAME.findall(block))]
    where = "\n".join(frames) or f"{panic['path']}:{panic['line']}: "
    return place.case(name, _OUTCOMES[how], _RUST_NOTE.sub("", message), where, error="panic")


def _report_cargo(line: str) -> str:
    """The whole list of tests, which a clipped output may lack; compilers speak on the other stream."""
    return f"RUST_BACKTRACE=1 {line} > {REPORTS}/cargo.txt; tests=$?; cat {REPORTS}/cargo.txt; exit $tests"


def _choose_cargo(line: str, only: tuple[str, ...]) -> str:
    if any(test.endswith(".rs") for test in only):
        return line
    names = (re.sub(r" \(\d+\)$", "", test) for test in only)  # a name is chosen in all programs
    return f"{line} -- --exact {shlex.join(dict.fromkeys(names))}"


CARGO: Final = Runner(
    "cargo",
    report=_report_cargo,
    read=lambda files, place, ran: read_cargo(files, place),
    choose=_choose_cargo,
    found_none=lambda ran: not ran.code and leaves_reports(),  # its report names all of its tests
    compiles=True,
)


def find_cargo(files: Collection[str], read: Read) -> tuple[Toolchain, ...]:
    """All packages of a workspace, and all their programs of tests although an earlier one fails."""
    if "Cargo.toml" not in files:
        return ()
    text = read_text(read, "Cargo.toml")
    workspace = " --workspace" if re.search(r"^\[workspace\]", text, re.M) else ""
    whole = Toolchain(
        "cargo test", "Rust", "Cargo.toml", f"cargo test --offline{workspace} --no-fail-fast", CARGO
    )
    if not workspace or not re.search(r"^\[package\]", text, re.M):
        return (whole,)
    top = Toolchain("cargo test", "Rust", "Cargo.toml", "cargo test --offline --no-fail-fast", CARGO)
    return (whole, top)


RUST: Final = Ecosystem(find_cargo, clues=r"Cargo\.toml", asked="always")
