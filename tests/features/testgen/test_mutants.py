"""Mutants: each differs in exactly its span and still parses; what says nothing is left alone."""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest
import tree_sitter_cpp
from hypothesis import given
from hypothesis import strategies as st
from tree_sitter import Language, Parser

from kith.features.testgen.mutants import (
    Mutant,
    apply_mutant,
    can_mutate,
    find_mutants,
    show_mutant,
    spread_mutants,
)
from places import SOURCE
from sparing import first

SPEC = find_spec("toolz")
TOOLZ = Path(SPEC.origin if SPEC and SPEC.origin else "").parent
MODULES = [TOOLZ / f"{name}.py" for name in ("itertoolz", "functoolz", "dicttoolz")]
KITH = sorted((SOURCE / "edits").glob("[a-m]*.py"))


def diffs(source: str, path: str = "m.py") -> set[tuple[str, str]]:
    return {(each.before, each.after) for each in find_mutants(path, source.encode())}


def in_cpp(body: str) -> set[tuple[str, str]]:
    return diffs(f"int f(int a, int b) {{ {body} }}", "m.cpp")


def check(path: str, source: bytes, mutant: Mutant) -> bytes:
    """What the fault makes of the source, after a look at its span."""
    after = apply_mutant(source, mutant)
    end = mutant.start + len(mutant.before.encode())
    assert source[mutant.start : end] == mutant.before.encode() != mutant.after.encode()
    assert after[: mutant.start] == source[: mutant.start]
    assert after[mutant.start + len(mutant.after.encode()) :] == source[end:]
    assert mutant.statement <= mutant.line == source.count(b"\n", 0, mutant.start) + 1
    return after


@pytest.mark.parametrize("path", first([*KITH, *MODULES], 3), ids=lambda path: path.name)
def test_python_mutants_differ_in_their_span_only_and_parse(path: Path) -> None:
    source = path.read_bytes()
    mutants = find_mutants(path.name, source)
    tree = ast.dump(ast.parse(source))
    assert path.name == "__init__.py" or len(mutants) > 5
    for mutant in spread_mutants(mutants, 25):
        assert ast.dump(ast.parse(check(path.name, source, mutant))) != tree


CPP = """\
#include <vector>
// a comment with a < b
namespace n {
template <class T> class Queue {
 public:
  explicit Queue(int most = 8) : most_(most) {}
  bool push(const T& item) {
    if (items_.size() >= most_ || closed_) return false;
    items_.push_back(item);
    return true;
  }
  int count(const T& item) const {
    int found = 0;
    for (int i = 0; i < (int)items_.size(); i++) {
      if (!(items_[i] == item)) continue;
      found += 1;
    }
    return found * 2 - found;
  }
  const char* name() const { return "queue"; }
 private:
  int most_; bool closed_ = false; std::vector<T> items_;
};
}
"""


def test_cpp_mutants_differ_in_their_span_only_and_parse() -> None:
    source = CPP.encode()
    mutants = find_mutants("queue.hpp", source)
    parser = Parser(Language(tree_sitter_cpp.language()))
    assert {mutant.within for mutant in mutants} == {"push", "count", "name"}
    for mutant in mutants:
        assert not parser.parse(check("queue.hpp", source, mutant)).root_node.has_error
    assert {"boundary", "boolean", "condition", "constant", "return", "removed", "loop", "arithmetic"} <= {
        mutant.operator for mutant in mutants
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", {("<", "<="), ("<", "!="), ("<", ">=")}),
        ("x = a is not b", {("is not", "is")}),
        ("x = a not in b", {("not in", "in")}),
        ("x = (a) and (b)", {("and", "or")}),
        ("x = a + b", {("+", "-")}),
        ("x += b", {("+=", "-="), ("x += b", "pass")}),
        ("x = 3", {("3", "4")}),
        ("x = 0.5", {("0.5", "1.5")}),
        ('x = ""', {('""', '"XX"')}),
        ("x = 'word'", {("'word'", '""')}),
        ("x = True", {("True", "False")}),
        ("x = f() if c else g()", {("c", "not (c)")}),
        ("if not x:\n    f()", {("not ", ""), ("f()", "pass")}),
        ("x = len(a) > 0", {(">", ">="), (">", "<="), ("0", "1")}),
        ("while a < b:\n    g()", {("<", "<="), ("<", ">="), ("g()", "pass")}),
        ("while a == b:\n    break", {("==", "!="), ("break", "continue")}),
        ("def f(a):\n    return a", {("a", "None")}),
        ("def f(a):\n    return not a", {("not ", ""), ("not a", "True"), ("not a", "False")}),
        ("def f(a):\n    raise Wrong('words')", {("raise Wrong('words')", "pass")}),
        ("if(a)and b: use.it", {("and", "or"), ("(a)and b", " not ((a)and b)")}),
        ("def f(a):\n    return(a)+b", {("+", "-"), ("(a)+b", " None")}),
        ("x = y if(a)else-1", {("a", "not (a)"), ("1", "2")}),
        ("for i in range(n): use.it", {("n", "(n) - 1")}),
        ("x = y[:n]", {("n", "(n) - 1")}),
        ("x.a = y", {("x.a = y", "pass")}),
        ("ä = 'ö' if ü > é else ö", {(">", ">="), (">", "!="), (">", "<="), ("'ö'", '""')}),
    ],
)
def test_what_is_planted_in_python(source: str, expected: set[tuple[str, str]]) -> None:
    assert diffs(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Words about 3 < 4."""',
        "def f(a: int = None) -> 'Text':\n    '''Words.'''",
        "import a.b",
        "assert a < b, 'words'",
        "if __name__ == '__main__':\n    main(3)",
        "if TYPE_CHECKING:\n    x = 3",
        "logger.debug('words', 3)",
        "print(a < b)",
        "__all__ = ['a']",
        "x = f'{a}{b + 1}'",
        "x: list[3]",
        "x = a * 1",
        "x = a + 0",
    ],
)
def test_what_nobody_could_notice_is_left_alone(source: str) -> None:
    assert diffs(source) - {("1", "2"), ("0", "1")} == set()


def test_taking_the_larger_of_two_has_no_boundary() -> None:
    assert diffs("if x > best:\n    best = x") == {(">", "<=")}
    assert (">", ">=") in diffs("if x > best:\n    best = x\n    n = m")
    assert (">", ">=") not in in_cpp("if (a > b) b = a; return b;")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a < b;", {("<", "<="), ("<", "!="), ("<", ">="), ("a < b", "true"), ("a < b", "false")}),
        ("return a && b;", {("&&", "||"), ("a && b", "true"), ("a && b", "false")}),
        ("a += 2u;", {("+=", "-="), ("2u", "3u"), ("a += 2u;", ";")}),
        ("if (a) return 7;", {("a", "!(a)"), ("7", "8")}),
        ("if (!a) return true;", {("!", ""), ("true", "false")}),
        ("while (a) { break; }", {("a", "!(a)"), ("break;", "continue;")}),
        ("switch (a) { case 1: break; }", {("1", "2")}),
        ("g(s.size() > 0);", {(">", ">="), (">", "<="), ("0", "1"), ("g(s.size() > 0);", ";")}),
        ("while (a < b) g(); ", {("<", "<="), ("<", ">="), ("g();", ";")}),
        ("for (int i = a; i < b; i++) g(i);", {("<", "<="), ("<", ">="), ("g(i);", ";")}),
        ("if (a) return!a;", {("a", "!(a)"), ("!", " "), ("!a", " true"), ("!a", " false")}),
        ("for (;; ++a) g();", {("g();", ";")}),
        ("std::cerr << a + b << 3; assert(a < 3); int t[4]; static_assert(1 < 2);", set()),
        ("return 010 + 0x1F;", {("+", "-"), ("010 + 0x1F", "{}")}),
    ],
)
def test_what_is_planted_in_cpp(body: str, expected: set[tuple[str, str]]) -> None:
    assert in_cpp(body) == expected


def test_main_and_what_stands_outside_functions_is_left_alone() -> None:
    assert diffs("int limit = 3;\nint main() { return run(3) < 4; }", "m.cpp") == set()


def test_windows_lines_and_a_mark_in_front_stay() -> None:
    source = b"\xef\xbb\xbfx = 1\r\nif x < 2:\r\n    y = 3\r\n"
    mutants = find_mutants("m.py", source)
    assert {(each.line, each.before) for each in mutants} == {(1, "1"), (2, "<"), (2, "2"), (3, "3")}
    assert all(check("m.py", source, each).count(b"\r\n") == 3 for each in mutants)


def test_only_the_lines_asked_for() -> None:
    source = b"x = 1\ny = 2\nz = 3\n"
    assert [each.before for each in find_mutants("m.py", source, ((2, 2),))] == ["2"]


@pytest.mark.parametrize("source", [b"def f(:", b"x = '\xff'", b"x = 1\ry = 2", b"\0"])
def test_what_cannot_be_read_has_no_mutants(source: bytes) -> None:
    assert find_mutants("m.py", source) == ()


def test_other_languages_are_not_guessed_at() -> None:
    assert not can_mutate("main.rs")
    assert find_mutants("main.rs", b"fn f() -> i32 { 3 }") == ()


def test_few_of_many_come_from_every_function() -> None:
    source = "\n".join(f"def f{n}(a):\n    return a + {n} < 9" for n in range(6)).encode()
    chosen = spread_mutants(find_mutants("m.py", source), 6)
    assert [each.within for each in chosen] == [f"f{n}" for n in range(6)]
    assert chosen == spread_mutants(find_mutants("m.py", source), 6)


@given(st.integers(0, 40))
def test_a_limit_is_a_limit(limit: int) -> None:
    mutants = find_mutants("queue.hpp", CPP.encode())
    chosen = spread_mutants(mutants, limit)
    assert len(chosen) == min(limit, len(mutants)) == len(set(chosen))


def test_a_source_that_changed_is_refused() -> None:
    mutant = find_mutants("m.py", b"x = 1")[0]
    with pytest.raises(ValueError, match="no longer"):
        apply_mutant(b"y =  1", mutant)


def test_a_mutant_is_shown_as_the_lines_it_touches() -> None:
    source = b"def f(a, b):\n    if a < b:\n        return a\n    return b\n"
    mutant = next(each for each in find_mutants("m.py", source) if each.after == "<=")
    assert show_mutant(source, mutant) == "m.py:2 in f\n-     if a < b:\n+     if a <= b:"
