"""Meson and autotools: which commands are chosen for a tree."""

from collections.abc import Mapping

import pytest

from kith.gates.toolchain import Toolchain
from kith.gates.toolchains import choose_clues, find_candidates

MESON = "project('a', 'c')\ntest('one', executable('one', 'one.c'))\n"


def groups(tree: Mapping[str, str]) -> tuple[tuple[Toolchain, ...], ...]:
    contents = {path: text.encode() for path, text in tree.items()}
    read = {path: contents[path] for path in choose_clues(contents, ())}  # only what is said to be read
    return find_candidates(contents, read.get, ())


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ("option('tests', type: 'boolean', value: false)", " -Dtests=true"),
        ("option('tests',\n  type : 'feature',\n  value : 'disabled'\n)", " -Dtests=enabled"),
        ("option('build-tests', type: 'boolean', value: false)", " -Dbuild-tests=true"),
        ("option('tests', type: 'boolean', value: true)", ""),
        ("option('tests', type: 'feature', value: 'auto')", ""),
        ("option('old_test', type: 'boolean', value: false, deprecated: 'tests')", ""),
        ("option('fuzz_tests', type: 'boolean', value: false)", ""),
        ("# option('tests', type: 'boolean', value: false)", ""),
    ],
)
def test_options_of_meson_that_build_no_tests_are_set(options: str, chosen: str) -> None:
    for name in ("meson.options", "meson_options.txt"):
        (group,) = groups({"meson.build": MESON, name: options})
        setup = [each.configure.partition("nodownload")[2] for each in group]
        assert setup == [f"{each} .kith-build/meson" for each in dict.fromkeys((chosen, ""))]


def test_ways_of_c_to_the_same_tests_are_alternatives() -> None:
    tree = {
        "CMakeLists.txt": "project(a)\nenable_testing()\nadd_test(one one)\n",
        "meson.build": MESON,
        "configure.ac": "",
        "Makefile.am": "TESTS = one\n",
    }
    (group,) = groups(tree)
    assert [each.name for each in group] == ["ctest", "ctest", "meson test", "make check"]
