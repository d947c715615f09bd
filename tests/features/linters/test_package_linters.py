"""clippy, eslint, go vet and clang-tidy, by reports that these tools wrote.

`linter_output/` holds reports of clippy 0.1.95, eslint 9.39.5, go 1.19.8 and clang-tidy as they came; only
the folder's name was changed.
"""

import os
import pwd
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating import LIMITS, judge, make_repository
from kith.agent.linters import find_linters
from kith.core.values import Finding
from kith.features.linters import package_linters
from kith.features.linters.known_linters import parse_clang_tidy
from kith.gates.linters import lint_gate, types_gate

OUTPUT = Path(__file__).parent / "linter_output"
PARSERS = {
    "clippy.jsonl": package_linters.parse_clippy,
    "eslint.json": package_linters.parse_eslint,
    "go_vet.txt": package_linters.parse_go_vet,
    "clang_tidy.txt": parse_clang_tidy,
}
FOUND = {
    "clippy.jsonl": [
        ("src/lib.rs", 2, "warning", "unused_variables"),
        ("src/lib.rs", 3, "warning", "clippy::needless_return"),
        ("src/lib.rs", 1, "warning", "clippy::ptr_arg"),
        ("src/lib.rs", 3, "warning", "clippy::len_zero"),
    ],
    "eslint.json": [
        ("/home/ada/p/src/a.js", 2, "error", "no-unused-vars"),
        ("/home/ada/p/src/a.js", 3, "warning", "eqeqeq"),
        ("/home/ada/p/src/b.js", 1, "error", "syntax"),
    ],
    "go_vet.txt": [("/home/ada/p/a.go", 6, "warning", "printf")],
    "clang_tidy.txt": [("a.cpp", 2, "warning", "bugprone-integer-division")],
}


def read(name: str) -> str:
    return (OUTPUT / name).read_text()


def places(found: tuple[Finding, ...]) -> list[tuple[str, int, str, str]]:
    return [(each.path, each.line, each.severity, each.rule) for each in found]


@pytest.mark.parametrize("name", FOUND)
def test_recorded_reports_are_read(name: str) -> None:
    assert places(PARSERS[name](read(name))) == FOUND[name]


@pytest.mark.parametrize("name", FOUND)
def test_other_lines_around_a_report_are_skipped(name: str) -> None:
    assert places(PARSERS[name](f"npm warn [x]\n{read(name)}\n{{ warning: done\n")) == FOUND[name]


@given(st.sampled_from(sorted(FOUND)), st.integers(0, 6_000), st.text(max_size=9))
def test_a_cut_report_never_breaks_the_reader(name: str, cut: int, more: str) -> None:
    for finding in PARSERS[name](read(name)[:cut] + more):
        assert finding.line >= 1 and finding.end >= 0


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ({"Cargo.toml": "", "src/lib.rs": ""}, ["clippy"]),
        ({"eslint.config.mjs": "", "a.ts": ""}, ["eslint"]),
        ({"package.json": '{"eslintConfig": {}}', "a.js": ""}, ["eslint"]),
        ({"package.json": "{", "a.js": ""}, []),
        ({"a.js": "", "b.go": "", "c.rs": ""}, []),
        ({"go.mod": "", "a.go": ""}, ["go vet"]),
        ({"CMakeLists.txt": "", "a.cpp": ""}, ["cppcheck", "clang-tidy"]),
    ],
)
def test_a_package_says_which_linters_it_has(files: dict[str, str], names: list[str]) -> None:
    found = find_linters(list(files), lambda path: files[path].encode())
    assert [each.name for each in found] == names


def test_types_are_not_checked_without_a_type_checker(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "project", {"a.py": "x = 1\n"})
    verdict = judge(root, {"a.py": "x = 2\n"}, lambda home: types_gate((), LIMITS, home))
    assert verdict.ok and verdict.feedback and not verdict.figures


CARGO = '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n'
CMAKE = "cmake_minimum_required(VERSION 3.16)\nproject(p CXX)\nadd_library(a a.cpp)\n"
# A linter's program, a project with an old finding, a file, what a change adds to it, and the finding.
PROJECTS = {
    "cargo-clippy": (
        {"Cargo.toml": CARGO, "src/lib.rs": "pub fn empty(v: &[u8]) -> bool {\n    v.len() == 0\n}\n"},
        "src/lib.rs",
        "\npub fn full(v: &[u8]) -> bool {\n    return !v.is_empty();\n}\n",
        "src/lib.rs:6: ",
    ),
    "go": (
        {"go.mod": "module example.com/p\n\ngo 1.19\n", "a.go": "package p\n"},
        "a.go",
        '\nimport "fmt"\n\nfunc A() {\n\tfmt.Printf("%d", "a")\n}\n',
        "a.go:6: ",
    ),
    "clang-tidy": (
        {"CMakeLists.txt": CMAKE, ".clang-tidy": "Checks: '-*,bugprone-*'\n", "a.cpp": "int whole(int n);\n"},
        "a.cpp",
        "double half(int n) { return n / 2; }\n",
        "a.cpp:2: ",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("program", PROJECTS)
def test_an_installed_linter_finds_what_a_change_brings(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shutil.which(program):
        pytest.skip(f"needs {program}")
    monkeypatch.setenv("HOME", pwd.getpwuid(os.getuid()).pw_dir)  # which has the toolchains
    files, path, more, place = PROJECTS[program]
    root = make_repository(tmp_path / "project", files)
    linters = find_linters(list(files), lambda path: files[path].encode())
    after: dict[str, str | None] = {path: files[path] + more}
    verdict = judge(root, after, lambda home: lint_gate(linters, LIMITS, home))
    assert place in verdict.feedback and verdict.figures == {"findings": 1.0}
