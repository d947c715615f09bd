"""A check's name in a line: a short command whole, a long one by what runs the tests."""

import pytest

from kith.core.events import Judged
from kith.core.evidence import CheckEvidence, Standing
from kith.core.values import Ran
from kith.gates.toolchains import find_candidates
from kith.view.check_names import name_check
from kith.view.evidence import check_lines
from kith.view.items import GateVerdict
from kith.view.wording import line_of

LONG = "cmake -S . -B build -DCMAKE_BUILD_TYPE=Debug && cmake --build build --parallel 2"
CTEST = f"{LONG} && cmake -E chdir build ctest --output-on-failure"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("PYTHONPATH=src python3 -m pytest -q", "PYTHONPATH=src python3 -m pytest -q"),
        ("mvn -B -o test", "mvn -B -o test"),
        (CTEST, "ctest"),
        (f"export A=1 B='x y'; {CTEST}", "ctest"),
        (f"{LONG} && build/test/tests", "tests"),
        (f"{LONG} && build/a_test && 'build/b_test'", "a_test, b_test"),
        (
            "test -f configure || autoreconf -fi && test -f Makefile || ./configure && make -k check",
            "make check",
        ),
        (f"{'mvn -B -o -Dsome.option=' + 40 * 'x'} --fail-at-end test", "mvn test"),
        (f"./gradlew --offline {30 * '-x '} cleanTest test", "gradlew test"),
        (f"python3 -m pytest -q && {CTEST}", "pytest, ctest"),
        (f"{LONG}\n(make test-unit)\n", "make test-unit"),
        (f"PYTHONPATH={60 * 's'} python3 -m pytest -q tests", "pytest"),
        (f"uv run --extra {60 * 'd'} python -m unittest discover", "unittest"),
        (f"node {8 * 'scripts/'}all.js", "node scripts/scripts/scripts/scripts/scripts/scripts/scr ..."),
        (f"echo '{60 * 'x'}", f"echo '{50 * 'x'} ..."),
    ],
)
def test_a_long_command_is_named_by_what_tests(command: str, name: str) -> None:
    assert name_check(command) == name


def test_what_kith_finds_has_a_short_name() -> None:
    files = {
        "CMakeLists.txt": b"project(a CXX)\nenable_testing()\nadd_subdirectory(test)\n",
        "test/CMakeLists.txt": b"add_executable(t t.cpp)\nadd_test(NAME t COMMAND t)\n",
        "test/t.cpp": b"int main() {}\n",
    }
    found = [each for group in find_candidates(files, files.get) for each in group]
    assert found and {name_check(each.test) for each in found} <= {each.name for each in found}


def test_lines_and_the_receipt_name_a_long_check() -> None:
    now = Standing(0, 3, 0, 0, 1.0, counted=True)
    evidence = CheckEvidence(CTEST, "held", "reached", now, now)
    ran = (Ran(CTEST, 0, "", 1.0),)
    before = Judged(CTEST, True, 0, ran=ran, when="before", figures={"tests": 3})
    lines = [
        line_of(GateVerdict("1", (), 0.0, judged))[1]
        for judged in (
            before,
            Judged(CTEST, True, 0, ran=ran, when="before"),
            Judged(CTEST, True, 1, ran=ran, evidence=evidence),
            Judged(CTEST, True, 1, ran=ran),
            Judged(CTEST, False, 1, "It fails.", ran=(Ran(CTEST, 8, "", 1.0),)),
        )
    ]
    assert lines == [
        "  · before the change: 3 pass (ctest, 1.0 s)",
        "  · before the change ctest passes",
        "  ✓ ctest: 3 pass  1.0 s",
        "  ✓ ctest passes  1.0 s",
        "  ✗ ctest fails (exit 8)  1.0 s\n      It fails.",
    ]
    assert list(check_lines(evidence)) == ["ctest: 3 pass, 1.0 s (before: 3 pass, 1.0 s)"]
