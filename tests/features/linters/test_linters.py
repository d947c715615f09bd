"""The gates for lint and types, with the real tools: what a change brings counts, what was there does not."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating import LIMITS, in_trial, judge, make_repository
from kith.agent.linters import find_linters, project_linters
from kith.core.run import Run
from kith.core.values import Finding
from kith.features.linters import known_linters
from kith.gates.linters import Linted, Linter, as_arguments, lint_gate, run_linter, types_gate
from steps import count_steps

RUFF = (known_linters.make_ruff(""),)
OLD = "import os\n\n\ndef half(n):\n    return n / 2\n"  # `os` is not used


def find(**files: str) -> dict[str, Linter]:
    held = {name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()}
    linters = find_linters(held, lambda path: held[path].encode() if path in held else None)
    return {linter.name: linter for linter in linters}


def test_the_project_says_which_linters_there_are() -> None:
    assert list(find(a_dot_py="")) == ["ruff"]
    configured = find(a_dot_py="", pyproject_dot_toml="[tool.ruff]\n[tool.mypy]\nfiles = ['src']\n")
    assert list(configured) == ["ruff", "mypy"]
    assert "--select" not in configured["ruff"].command("a.py")
    assert "--select=E4,E7,E9,F" in find(a_dot_py="")["ruff"].command("a.py")
    assert configured["mypy"].whole and not find(a_dot_py="", mypy_dot_ini="[mypy]\n")["mypy"].whole
    assert find(a_dot_py="", setup_dot_cfg="[mypy]\nstrict = true\n").keys() == {"ruff", "mypy"}
    assert find(a_dot_py="", pyrightconfig_dot_json="{}").keys() == {"ruff", "pyright"}
    assert find(a_dot_cpp="", CMakeLists_dot_txt="").keys() == {"clang-tidy", "cppcheck"}
    assert find(a_dot_c="", run_dot_sh="").keys() == {"cppcheck", "shellcheck"}
    assert not find(readme_dot_md="")


def test_programs_of_a_committed_environment_are_the_projects_own() -> None:
    assert not find(a_dot_py="")["ruff"].obeys
    for place in ("_dot_venv__pyvenv_dot_cfg", "inner__pyvenv_dot_cfg", "pyvenv_dot_cfg"):
        assert all(each.obeys for each in find(a_dot_py="", run_dot_sh="", **{place: ""}).values())


@given(st.text())
def test_a_broken_manifest_says_nothing(text: str) -> None:
    assert "ruff" in find(a_dot_py="", pyproject_dot_toml=text, setup_dot_cfg=text)


def test_only_what_the_change_brings_counts(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "project", {"a.py": OLD})
    more = OLD + "\n\ndef double(n):\n    return m * 2\n"
    verdict = judge(root, {"a.py": more}, lambda home: lint_gate(RUFF, LIMITS))
    assert not verdict.ok and verdict.by == "lint" and verdict.figures == {"findings": 1.0}
    assert "a.py:9: Undefined name `m` (F821)" in verdict.feedback
    assert "os" not in verdict.feedback
    assert judge(root, {"a.py": OLD + "\n\nx = 1\n"}, lambda home: lint_gate(RUFF, LIMITS)).ok


def test_with_the_untouched_tree_a_finding_elsewhere_counts(tmp_path: Path) -> None:
    """Who removes the last use of an import makes a finding on a line that nobody touched."""
    used = "import os\nimport sys\n\nprint(os.name)\n"
    root = make_repository(tmp_path / "project", {"a.py": used})
    after: dict[str, str | None] = {"a.py": "# moved\n\nimport os\nimport sys\n\nprint(2)\n"}
    assert judge(root, after, lambda home: lint_gate(RUFF, LIMITS)).ok
    verdict = judge(root, after, lambda home: lint_gate(RUFF, LIMITS, home))
    assert "a.py:3: `os` imported but unused (F401)" in verdict.feedback
    assert "sys" not in verdict.feedback and verdict.figures["findings"] == 1


@pytest.mark.slow
def test_types_of_a_caller_elsewhere(tmp_path: Path) -> None:
    files = {
        "mypy.ini": "[mypy]\nfiles = .\n",
        "lib.py": "def half(n: int) -> float:\n    return n / 2\n",
        "use.py": "from lib import half\n\nx: str = half(3)\ny: float = half(4)\n",
    }
    root = make_repository(tmp_path / "project", files)
    after: dict[str, str | None] = {"lib.py": "def half(n: str) -> float:\n    return len(n) / 2\n"}
    found = find_linters(files, lambda path: files[path].encode())
    verdict = judge(root, after, lambda home: types_gate(found, LIMITS, home))
    assert verdict.by == "types" and verdict.figures == {"findings": 2.0}
    assert "use.py:4:" in verdict.feedback and "(arg-type)" in verdict.feedback
    assert "assignment" not in verdict.feedback  # that was there


def test_what_is_not_installed_is_skipped_and_said(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "project", {"a.py": OLD})
    absent = Linter(
        "nolint",
        "lint",
        "",
        lambda paths: f"nolint-xyz {paths}",
        known_linters.parse_ruff,
        known_linters.RUFF_SUFFIXES,
    )
    verdict = judge(root, {"a.py": "import sys\n"}, lambda home: lint_gate((absent,), LIMITS))
    assert verdict.ok and verdict.feedback == "nolint is not installed here, so it was not run."

    async def work(home: Run, run: Run) -> Linted:
        return await run_linter(run, absent, ["a.py"], LIMITS)

    linted = in_trial(root, work)
    assert not linted.findings and linted.problem == verdict.feedback


def test_names_of_files_are_only_names(tmp_path: Path) -> None:
    names = ["--fix.py", "@list.py", "a b.py", "$(touch hacked).py", "';touch hacked;'.py", "é.py"]
    root = make_repository(tmp_path / "project", dict.fromkeys(names, "import os\n"))

    async def work(home: Run, run: Run) -> tuple[Linted, list[str]]:
        return await run_linter(run, RUFF[0], names, LIMITS), list(await run.workspace.files())

    linted, files = in_trial(root, work)
    found = linted.findings
    assert {each.path for each in found} == set(names) and all(each.rule == "F401" for each in found)
    assert sorted(files) == sorted(names)


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)))
def test_no_name_is_an_option(names: list[str]) -> None:
    assert shlex.split(as_arguments(names)) == [f"./{name}" for name in names]


def test_many_files_take_several_commands(tmp_path: Path) -> None:
    names = [f"{'long' * 40}/{number:04}.py" for number in range(800)]
    root = make_repository(tmp_path / "project", {names[0]: ""})

    async def work(home: Run, run: Run) -> Linted:
        count = Linter(
            "count", "lint", "", "echo {} | wc -w; false".format, _count, known_linters.RUFF_SUFFIXES
        )
        return await run_linter(run, count, names, LIMITS)

    counted = [each.line for each in in_trial(root, work).findings]
    assert sum(counted) == 800 and len(counted) > 1


def _count(output: str) -> tuple[Finding, ...]:
    return (Finding(f"{'long' * 40}/0000.py", int(output), "error", "x", "", "echo"),)


@pytest.mark.skipif(not shutil.which("cppcheck"), reason="needs cppcheck")
def test_cppcheck_finds_what_a_change_brings(tmp_path: Path) -> None:
    good = "int third() {\n    int a[3] = {1, 2, 3};\n    return a[2];\n}\n"
    root = make_repository(tmp_path / "project", {"a.cpp": good})
    linters = (known_linters.make_cppcheck(),)
    bad = (
        good.replace("a[2]", "a[3]")
        + "#include <gtest/gtest.h>\nTEST(Third, Works) { EXPECT_EQ(third(), 3); }\n"
    )
    verdict = judge(root, {"a.cpp": bad}, lambda home: lint_gate(linters, LIMITS, home))
    assert verdict.figures == {"findings": 1.0} and "a.cpp:3: " in verdict.feedback
    assert "(arrayIndexOutOfBounds)" in verdict.feedback


PARSERS = {
    "ruff": known_linters.parse_ruff,
    "mypy": known_linters.parse_mypy,
    "pyright": known_linters.parse_pyright,
    "clang-tidy": known_linters.parse_clang_tidy,
    "cppcheck": known_linters.parse_cppcheck,
    "shellcheck": known_linters.parse_shellcheck,
}
TOLD = {
    "ruff": json.dumps({"filename": "/p/a.py", "code": "F401", "message": "m", "location": {"row": 3}}),
    "mypy": json.dumps({"file": "a.py", "line": 3, "code": "misc", "message": "m", "severity": "error"}),
    "pyright": json.dumps(
        {
            "generalDiagnostics": [
                {"file": "/p/a.py", "severity": "error", "message": "m", "range": {"start": {"line": 2}}}
            ]
        }
    ),
    "clang-tidy": "/p/a.cpp:3:5: warning: m [some-check]\n/p/a.cpp:3:9: note: because\n",
    "cppcheck": "a.cpp:3:5: error: m [nullPointer]\n",
    "shellcheck": "run.sh:3:1: warning: m [SC2034]\n",
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ("file", "filename", "line", "location", "range", "start", "generalDiagnostics", "row")
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@pytest.mark.parametrize("tool", PARSERS)
def test_what_a_tool_says_is_read(tool: str) -> None:
    noise = "" if tool == "pyright" else "warning: something else\n"
    (finding,) = PARSERS[tool](noise + TOLD[tool])
    assert (finding.line, finding.text, finding.by) == (3, "m", tool)


@given(
    st.sampled_from(sorted(PARSERS)),
    st.text() | JSON.map(json.dumps) | st.sampled_from(sorted(TOLD.values())),
    st.integers(0, 200),
)
def test_broken_output_never_breaks_the_reader(tool: str, output: str, cut: int) -> None:
    for finding in PARSERS[tool](output[:cut]):
        assert finding.line >= 1 and finding.by == tool and isinstance(finding.text, str)


@pytest.mark.slow
def test_the_linters_of_a_tree(repository: Path) -> None:
    async def work(home: Run, run: Run) -> tuple[Linter, ...]:
        return await project_linters(run)

    assert [linter.name for linter in in_trial(repository, work)] == ["ruff"]
    assert not subprocess.run(["git", "status", "--porcelain"], cwd=repository, capture_output=True).stdout


def test_each_file_of_a_large_tree_is_looked_at_once() -> None:
    files = [f"src/p{number // 400}/f{number}.{'py' if number % 2 else 'md'}" for number in range(42_000)]
    steps = count_steps(lambda: find_linters(files, lambda path: None))
    assert len(files) <= steps < len(files) + 1_000
