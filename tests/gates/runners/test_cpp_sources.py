"""Which sources are tests, by what CMake 3.25 lists of a project, and CTest of its tests."""

import json

import pytest

from kith.gates.reports import ProjectPaths
from kith.gates.runners.cpp import COMPILED, LINKED, find_test_sources

BUILD = "/p/.kith-build"
# As `gtest_discover_tests`, `catch_discover_tests`, and two calls of `add_test` made them.
TESTS = [
    ("Shapes.Area", ["all_of_them", "--gtest_filter=Shapes.Area", "--gtest_also_run_disabled_tests"]),
    ("an area, of two", ["checks", "an area\\, of two"]),
    ("plain", ["spec/plain"]),
    ("starts", ["app", "--version"]),
]
COMPILES = [
    ("shapes.dir/shapes.cpp.o", "shapes.cpp"),
    ("all_of_them.dir/spec/shapes.cpp.o", "spec/shapes.cpp"),
    ("all_of_them.dir/helpers.cpp.o", "helpers.cpp"),
    ("app.dir/app.cpp.o", "app.cpp"),
    ("app.dir/helpers.cpp.o", "helpers.cpp"),
    ("checks.dir/spec/catch.cpp.o", "spec/catch.cpp"),
    ("plain.dir/plain.cpp.o", "spec/plain.cpp"),
]
PLACE = ProjectPaths("/p", frozenset(source for _, source in COMPILES))


def listed(**others: bytes) -> dict[str, bytes]:
    tests = [{"name": name, "command": [f"{BUILD}/{words[0]}", *words[1:]]} for name, words in TESTS]
    rows = [
        {
            "directory": BUILD,
            "command": f"/usr/bin/c++    -o CMakeFiles/{made} -c /p/{source}",
            "file": f"/p/{source}",
        }
        for made, source in COMPILES
    ]
    return {
        "ctest.json": json.dumps({"tests": tests}).encode(),
        COMPILED: json.dumps(rows).encode(),
        **others,
    }


def test_sources_of_programs_that_test_are_tests() -> None:
    assert find_test_sources(listed(), PLACE) == {"spec/shapes.cpp", "spec/catch.cpp", "spec/plain.cpp"}


@pytest.mark.parametrize(
    "links",
    [
        "b/CMakeFiles/plain_target.dir/link.txt: -o ../spec/plain\nb/CMakeFiles/app.dir/link.txt: -o app\n",
        "build spec/plain: C_EXECUTABLE_LINKER__plain_target_Debug CMakeFiles/plain_target.dir/plain.cpp.o\n"
        "build app: CXX_EXECUTABLE_LINKER__app_Debug CMakeFiles/app.dir/app.cpp.o\n",
    ],
)
def test_a_program_with_another_name_than_its_target(links: str) -> None:
    files = listed()
    files[COMPILED] = files[COMPILED].replace(b"plain.dir", b"plain_target.dir")
    assert "spec/plain.cpp" not in find_test_sources(files, PLACE)
    found = find_test_sources({**files, LINKED: links.encode()}, PLACE)
    assert found == {"spec/shapes.cpp", "spec/catch.cpp", "spec/plain.cpp"}


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        (["tests/unit.c", "tests/help.c", "src/half.c"], {"tests/unit.c", "tests/help.c"}),
        (["checks/unit.c", "src/half.c"], {"checks/unit.c", "src/half.c"}),  # nothing tells them apart
    ],
)
def test_what_a_program_of_tests_compiles_besides(sources: list[str], found: set[str]) -> None:
    listing = {"tests": [{"name": "unit", "command": ["/p/b/unit"]}]}
    compiled = [
        {"directory": "/p/b", "file": f"/p/{path}", "output": f"CMakeFiles/unit.dir/{path}.o"}
        for path in sources
    ]
    files = {"ctest.json": json.dumps(listing).encode(), COMPILED: json.dumps(compiled).encode()}
    assert find_test_sources(files, ProjectPaths("/p", frozenset(sources))) == found


def test_a_build_that_lists_nothing_tells_no_sources() -> None:
    assert not find_test_sources({}, PLACE)
    assert not find_test_sources(listed(**{COMPILED: b"["}), PLACE)
    assert not find_test_sources(listed(**{"ctest.json": b'{"tests": [{"name": "a"}]}'}), PLACE)
