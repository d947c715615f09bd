"""Complexity: known functions in several languages, and texts that are made to break a parser."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.features.scan.complexity import FunctionMeasures, functions
from sparing import first

PYTHON = """\
import os


class Cache:
    def get(self, key, default=None, *rest, deep=False, **more):
        if key in self and (deep or rest):
            return self[key]
        elif default is not None:
            return default
        else:
            for each in rest:
                while each:
                    try:
                        each = each[0] if deep else None
                    except (KeyError, IndexError):
                        break
        return [a for a in rest if a]

    @staticmethod
    def plain():
        def inner(x):
            return x and 1

        return inner


async def choose(value):
    match value:
        case 1 | 2:
            return "few"
        case _:
            async with value as opened:
                return opened
"""
CPP = """\
#include "a.h"
namespace outer {
class Box {
 public:
  int size(int a, char const* b = "{", ...) const {
    if (a > 0 && b) {
      for (int i = 0; i < a; ++i) { while (i) --i; }
    } else if (a < 0) {
      return a ? 1 : 2;
    }
    switch (a) { case 1: return 1; case 2: break; default: return 3; }
    try { run(); } catch (...) { }
    return 0;
  }
};
}  // namespace outer
int& outer::first(void) { return x; }
"""
SCRIPT = """\
export async function load(a, b = {x: 1}) { // {
  if (a && b) { for (const i of a) { if (i) { return "}" } } } else if (c) { d(); }
  return a ? b : c?.d ?? e;
}
const go = async (x) => {
  try { await y() } catch (e) { z() }
};
"""
RUST = """\
impl<'a> Foo<'a> {
    pub fn new(&self, x: &'a str, y: Vec<(u8, u8)>) -> Result<Self, Error> {
        match x { "a" => { if y.len() > 1 && true { return Ok(1) } } _ => loop { break; } }
    }
}
"""


def by_name(path: str, text: str) -> dict[str, FunctionMeasures]:
    return {each.name: each for each in functions(path, text)}


def test_python_is_exact() -> None:
    found = by_name("a.py", PYTHON)
    assert list(found) == ["Cache.get", "Cache.plain", "Cache.plain.inner", "choose"]
    get = found["Cache.get"]
    assert (get.first, get.last, get.lines, get.parameters) == (5, 17, 13, 5)
    # 1, if, and, or, elif, for, while, except, the choice in the assignment, the comprehension
    assert get.cyclomatic == 10
    assert get.nesting == 4  # if, for, while, try
    assert found["Cache.plain"].cyclomatic == 1
    assert found["Cache.plain.inner"].cyclomatic == 2
    choose = found["choose"]
    assert (choose.cyclomatic, choose.nesting, choose.parameters) == (3, 2, 1)


def test_a_chain_of_elif_is_not_deep_and_deep_code_costs_more() -> None:
    chain = "def f(a):\n    if a == 1:\n        return 1\n" + "".join(
        f"    elif a == {n}:\n        return {n}\n" for n in range(2, 9)
    )
    nest = (
        "def f(a):\n" + "".join(f"{'    ' * n}if a > {n}:\n" for n in range(1, 9)) + "    " * 9 + "return a\n"
    )
    [flat], [deep] = functions("a.py", chain), functions("a.py", nest)
    assert flat.cyclomatic == deep.cyclomatic == 9
    assert (flat.nesting, deep.nesting) == (1, 8)
    assert (flat.cognitive, deep.cognitive) == (8, sum(range(1, 9)))


def test_an_if_in_an_else_is_deep() -> None:
    text = "def f(a):\n    if a:\n        return 1\n    else:\n        if a:\n            return 2\n"
    [found] = functions("a.py", text)
    assert (found.nesting, found.cognitive) == (2, 4)


def test_cpp_is_read_by_its_grammar() -> None:
    found = by_name("a.cpp", CPP)
    size = found["outer::Box::size"]
    assert (size.first, size.last, size.parameters) == (5, 14, 3)
    # 1, if, &&, for, while, else if, ?:, two cases, catch
    assert size.cyclomatic == 10
    assert size.nesting == 3
    assert found["outer::first"].parameters == 0


@pytest.mark.parametrize("path", ["a.js", "a.ts"])
def test_scripts_are_estimated_by_their_braces(path: str) -> None:
    found = by_name(path, SCRIPT)
    load = found["load"]
    assert (load.first, load.last, load.parameters) == (1, 4, 2)
    assert load.cyclomatic == 8  # ?? counts as a choice too
    assert load.nesting == 3
    assert (found["go"].cyclomatic, found["go"].first, found["go"].last) == (2, 5, 7)


def test_a_lifetime_in_rust_is_no_string() -> None:
    found = by_name("a.rs", RUST)
    assert (found["new"].cyclomatic, found["new"].parameters, found["new"].nesting) == (3, 2, 2)


def test_what_is_no_code_and_what_is_broken_has_no_functions() -> None:
    assert functions("README.md", "def f():\n    pass\n") == ()
    assert functions("a.py", "def f(:\n") == ()


BRANCHES = ["if a:", "while a:", "for b in a:", "with a:", "try:"]


@given(st.lists(st.sampled_from(BRANCHES), max_size=12))
def test_each_structure_counts_once_however_deep(structures: list[str]) -> None:
    lines = ["def f(a):"]
    for depth, structure in enumerate(structures, 1):
        lines.append("    " * depth + structure)
    lines.append("    " * (len(structures) + 1) + "pass")
    for depth in range(len(structures), 0, -1):
        if structures[depth - 1] == "try:":
            lines += ["    " * depth + "except OSError:", "    " * (depth + 1) + "pass"]
    [found] = functions("a.py", "\n".join(lines) + "\n")
    assert found.cyclomatic == 1 + len([each for each in structures if each != "with a:"])
    assert found.nesting == len(structures)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["a.py", "a.cpp", "a.js", "a.rs", "a.go", "a.java"]),
    st.lists(
        st.sampled_from(["{", "}", "(", ")", "if", "def f", "f(a)", '"', "'", "/*", "\n", " ", ":", "=>"])
    ),
)
def test_no_text_makes_it_raise(path: str, pieces: list[str]) -> None:
    text = "".join(pieces)
    for each in functions(path, text):
        assert 1 <= each.first <= each.last <= text.count("\n") + 1
        assert each.cyclomatic >= 1 and each.nesting >= 0 and each.parameters >= 0


@pytest.mark.parametrize("ending", first([".py", ".cpp", ".js", ".rs"]))
@pytest.mark.parametrize(
    "bomb",
    [
        "(" * 50_000,
        "{" * 50_000,
        "/*" * 50_000,
        '"""' * 30_001,
        "if a:\n" + " if a:\n" * 3_000,
        "f(a) { if (a) " * 10_000,
        "-" * 60_000 + "1",
        "x = " + "[" * 5_000 + "]" * 5_000,
        "a.b" + ".c" * 50_000,
        "\0\ud800\u202e" * 1_000,
    ],
    ids=range(10),
)
def test_bombs_do_no_harm(ending: str, bomb: str) -> None:
    functions(f"a{ending}", bomb)


def test_a_deep_tree_is_measured_without_recursion() -> None:
    text = "def f(a):\n    return " + "+".join(["a"] * 900) + "\n"
    assert ast.parse(text)
    [found] = functions("a.py", text)
    assert found.cyclomatic == 1
