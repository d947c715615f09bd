"""A check's name in a line: a short command whole, a long one by what runs the tests."""

import pytest

from kith.agent.ecosystems import ecosystems
from kith.core.check_names import name_check
from kith.gates.toolchains import find_candidates

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
        ("cargo test --workspace --all-features --locked 2>&1 | tee target/the/log.txt", "cargo test"),
        ("make test PYTEST_ADDOPTS='-q -x; -k \"not slow and not net\"' VERBOSE=1 JOBS=4", "make test"),
        (f"PYTHONPATH={60 * 's'} python3 -m pytest -q tests", "pytest"),
        (f"A={60 * 's'} python3 -W error -m django test core", "django test"),
        (f"A={60 * 's'} python3 tests/manage.py test core", "manage.py test"),
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
    found = [each for group in find_candidates(files, files.get, ecosystems()) for each in group]
    assert found and {name_check(each.test) for each in found} <= {each.name for each in found}
