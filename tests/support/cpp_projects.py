"""C and C++ projects: CTest, GoogleTest, Catch2, a plain Makefile. They compile, so they take seconds."""

from prepared import Project, right, swap, wrong

SHAPES = """\
#include "shapes.h"

int area(int width, int height) {
    return width * height;
}

int perimeter(int width, int height) {
    return width + height;
}
"""
HEADER = "#pragma once\nint area(int width, int height);\nint perimeter(int width, int height);\n"
SOURCES = {"shapes.cpp": SHAPES, "shapes.h": HEADER}
FIXED = swap(SHAPES, ("return width + height", "return 2 * (width + height)"))
BREAKS = swap(SHAPES, ("return width * height", "return width * width"))
REFACTOR = swap(SHAPES, ("return width * height", "int all = width * height;\n    return all"))
CRASHES = swap(SHAPES, ("return width * height", "__builtin_trap()"))
UNDECLARED = swap(SHAPES, ("return width * height", "return width * depth"))
CMAKE = (
    "cmake_minimum_required(VERSION 3.16)\nproject(shapes CXX)\nenable_testing()\n"
    "add_library(shapes shapes.cpp)\n"
)
PLAIN = {
    **SOURCES,
    "CMakeLists.txt": CMAKE
    + "foreach(name area perimeter)\n  add_executable(test_${name} test_${name}.cpp)\n"
    "  target_link_libraries(test_${name} shapes)\n  add_test(NAME ${name} COMMAND test_${name})\n"
    "endforeach()\n",
    "test_area.cpp": '#include "shapes.h"\n\nint main() { return area(2, 3) == 6 ? 0 : 1; }\n',
    "test_perimeter.cpp": '#include "shapes.h"\n\nint main() { return perimeter(2, 3) == 10 ? 0 : 1; }\n',
}
NAMELESS = {
    **SOURCES,
    "app.cpp": '#include "shapes.h"\n\nint main(int count, char**) { area(count, 1); return 0; }\n',
    "CMakeLists.txt": CMAKE + "add_executable(app app.cpp)\ntarget_link_libraries(app shapes)\n"
    "add_test(NAME starts COMMAND app --version)\nadd_subdirectory(checks)\n",
    "checks/CMakeLists.txt": "function(add_check name)\n  add_executable(check_${name} ${name}.cpp)\n"
    "  target_include_directories(check_${name} PRIVATE ..)\n  target_link_libraries(check_${name} shapes)\n"
    "  add_test(NAME ${name} COMMAND check_${name})\nendfunction()\n"
    "add_check(area)\nadd_check(perimeter)\n",
    "checks/area.cpp": PLAIN["test_area.cpp"],
    "checks/perimeter.cpp": PLAIN["test_perimeter.cpp"],
}
BESIDE = {
    "src/shapes.cpp": SHAPES,
    "src/shapes.h": HEADER,
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.16)\nproject(shapes CXX)\nenable_testing()\n"
    "foreach(name area perimeter)\n  add_executable(run_${name} tests/${name}.cpp src/shapes.cpp)\n"
    "  target_include_directories(run_${name} PRIVATE src)\n"
    "  add_test(NAME ${name} COMMAND run_${name})\nendforeach()\n",
    "tests/area.cpp": PLAIN["test_area.cpp"],
    "tests/perimeter.cpp": PLAIN["test_perimeter.cpp"],
}
GOOGLETEST = {
    **SOURCES,
    "CMakeLists.txt": CMAKE + "find_package(GTest REQUIRED)\nadd_executable(all_tests test_shapes.cpp)\n"
    "target_include_directories(all_tests PRIVATE .)\n"
    "target_link_libraries(all_tests shapes GTest::gtest_main)\nadd_test(NAME all COMMAND all_tests)\n",
    "test_shapes.cpp": """\
#include "shapes.h"
#include <gtest/gtest.h>

TEST(Shapes, Area) {
    EXPECT_EQ(area(2, 3), 6);
}

TEST(Shapes, Perimeter) {
    EXPECT_EQ(perimeter(2, 3), 10);
}
""",
}
CATCH = {
    **SOURCES,
    "CMakeLists.txt": CMAKE
    + "add_executable(all_tests main.cpp test_shapes.cpp)\ntarget_link_libraries(all_tests shapes)\n"
    "add_test(NAME all COMMAND all_tests)\n",
    "main.cpp": "#define CATCH_CONFIG_MAIN\n#define CATCH_CONFIG_FAST_COMPILE\n#include <catch2/catch.hpp>\n",
    "test_shapes.cpp": """\
#include "shapes.h"
#include <catch2/catch.hpp>

TEST_CASE("area") {
    REQUIRE(area(2, 3) == 6);
}

TEST_CASE("perimeter") {
    REQUIRE(perimeter(2, 3) == 10);
}
""",
}
MAKE = {
    **SOURCES,
    "Makefile": "CXX ?= c++\n\ntest: test_area\n\t./test_area\n\n"
    "test_area: test_area.cpp shapes.cpp shapes.h\n\t$(CXX) -o $@ test_area.cpp shapes.cpp\n",
    "test_area.cpp": '#include "shapes.h"\n#include <cassert>\n\nint main() { assert(area(2, 3) == 6); }\n',
    ".gitignore": "test_area\n",
}

PROJECTS = (
    Project(
        "CTest",
        PLAIN,
        (
            right("fix it", {"shapes.cpp": FIXED}, "proven", "fixed", fixed=["perimeter"]),
            right("refactor", {"shapes.cpp": REFACTOR}, "held", "reached", failing=["perimeter"]),
            wrong("break one", {"shapes.cpp": BREAKS}, broken=["area"], failing=["perimeter"]),
            wrong("a crash", {"shapes.cpp": CRASHES}, broken=["area"], failing=["perimeter"]),
            wrong("it does not compile", {"shapes.cpp": UNDECLARED}, broken=["area"], says="depth"),
            wrong(
                "a test is no longer built",
                {
                    "shapes.cpp": BREAKS,
                    "CMakeLists.txt": swap(
                        PLAIN["CMakeLists.txt"], ("name area perimeter", "name perimeter")
                    ),
                },
                broken=["area"],
                failing=["perimeter"],
            ),
        ),
        slow=True,
    ),
    Project(
        "CTest with programs that compile what they test",
        BESIDE,
        (
            right("fix it", {"src/shapes.cpp": FIXED}, "proven", "fixed", fixed=["perimeter"]),
            wrong("break one", {"src/shapes.cpp": BREAKS}, broken=["area"], failing=["perimeter"]),
            wrong(
                "expect what it does",
                {"tests/perimeter.cpp": swap(BESIDE["tests/perimeter.cpp"], ("== 10", "== 5"))},
                broken=["perimeter"],
            ),
        ),
        slow=True,
    ),
    Project(
        "CTest with sources that are not named like tests",
        NAMELESS,
        (
            right("fix it", {"shapes.cpp": FIXED}, "proven", "fixed", fixed=["perimeter"]),
            wrong(
                "break one and expect that",
                {
                    "shapes.cpp": BREAKS,
                    "checks/area.cpp": swap(NAMELESS["checks/area.cpp"], ("== 6", "== 4")),
                },
                broken=["area"],
                failing=["perimeter"],
                says="weakens or alters these tests: area",
            ),
            wrong(
                "expect what it does",
                {"checks/perimeter.cpp": swap(NAMELESS["checks/perimeter.cpp"], ("== 10", "== 5"))},
                broken=["perimeter"],
            ),
            right(
                "the request asks for another value",
                {
                    "shapes.cpp": BREAKS,
                    "checks/area.cpp": swap(NAMELESS["checks/area.cpp"], ("== 6", "== 4")),
                },
                "held",
                "reached",
                request="area() must return the square of the width; change the tests",
                adapted=["area"],
                failing=["perimeter"],
            ),
            right(
                "a program that is no test",
                {"app.cpp": swap(NAMELESS["app.cpp"], ("return 0", "return 1 - 1"))},
                "unproven",
                "not_reached",
                failing=["perimeter"],
            ),
        ),
        slow=True,
    ),
    Project(
        "GoogleTest",
        GOOGLETEST,
        (
            right("fix it", {"shapes.cpp": FIXED}, "proven", "fixed", fixed=["all::Shapes.Perimeter"]),
            wrong(
                "break one",
                {"shapes.cpp": BREAKS},
                broken=["all::Shapes.Area"],
                failing=["all::Shapes.Perimeter"],
            ),
            wrong(
                "break one and disable its test",
                {
                    "shapes.cpp": BREAKS,
                    "test_shapes.cpp": swap(
                        GOOGLETEST["test_shapes.cpp"], ("Shapes, Area", "Shapes, DISABLED_Area")
                    ),
                },
                broken=["all::Shapes.Area"],
                failing=["all::Shapes.Perimeter"],
            ),
            wrong(
                "break one and expect that",
                {
                    "shapes.cpp": BREAKS,
                    "test_shapes.cpp": swap(
                        GOOGLETEST["test_shapes.cpp"], ("area(2, 3), 6", "area(2, 3), 4")
                    ),
                },
                broken=["all::Shapes.Area"],
                failing=["all::Shapes.Perimeter"],
            ),
            right(
                "a function and its test are renamed",
                {
                    "shapes.cpp": swap(SHAPES, ("int area", "int surface")),
                    "shapes.h": swap(HEADER, ("int area", "int surface")),
                    "test_shapes.cpp": swap(
                        GOOGLETEST["test_shapes.cpp"],
                        ("area(", "surface("),
                        ("Shapes, Area", "Shapes, Surface"),
                    ),
                },
                "held",
                "reached",
                adapted=["all::Shapes.Area"],
                added=["all::Shapes.Surface"],
                failing=["all::Shapes.Perimeter"],
            ),
        ),
        seconds=300.0,
        slow=True,
    ),
    Project(
        "Catch2",
        CATCH,
        (
            right("fix it", {"shapes.cpp": FIXED}, "proven", "fixed", fixed=["all::perimeter"]),
            wrong("break one", {"shapes.cpp": BREAKS}, broken=["all::area"], failing=["all::perimeter"]),
        ),
        seconds=300.0,
        slow=True,
    ),
    Project(
        "make with a compiler",
        MAKE,
        (
            right("refactor", {"shapes.cpp": REFACTOR}, "held", "reached"),
            wrong("break it", {"shapes.cpp": BREAKS}, says="area(2, 3) == 6"),
            wrong("it does not compile", {"shapes.cpp": UNDECLARED}, says="depth"),
        ),
        slow=True,
    ),
    Project(
        "C++ without tests",
        SOURCES,
        (
            right("refactor", {"shapes.cpp": REFACTOR}, "unproven", "no_tests"),
            wrong(
                "it does not compile",
                {"shapes.cpp": UNDECLARED},
                "no_tests",
                says="shapes.cpp no longer loads",
            ),
            right(
                "a header from a folder that only its build knows",
                {"shapes.cpp": f'#include "limits/most.hpp"\n{REFACTOR}', "libs/limits/most.hpp": ""},
                "unproven",
                "no_tests",
            ),
        ),
        slow=True,
    ),
)
