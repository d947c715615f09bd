"""Where definitions begin and end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.context.symbols import Symbol, find_symbols

PYTHON = """\
import os
LIMIT: int = 3

@cached
def outer(a):
    def inner():
        pass
    return inner

class Cache:
    size = 0

    async def get(self, key):
        return key

if os.name == "nt":
    def only_there(): pass
"""
CPP = """\
#define MAX(a) (a)
template <class T>
class Box {
 public:
  int *get() const { return 0; }
};
namespace a::b {
int& open(int x)
{
  return x;
}
}
struct Point p;
int Box<int>::size() { return 0; }
enum class Side { left };
"""


def spans(path: str, text: str) -> dict[str, tuple[int, int]]:
    return {symbol.name: (symbol.first, symbol.last) for symbol in find_symbols(path, text)}


def test_python_is_read_by_its_own_parser() -> None:
    assert spans("a.py", PYTHON) == {
        "LIMIT": (2, 2),
        "outer": (4, 8),
        "Cache": (10, 14),
        "Cache.size": (11, 11),
        "Cache.get": (13, 14),
        "only_there": (17, 17),
    }


def test_python_that_does_not_parse_is_guessed() -> None:
    found = spans("a.py", "def f(:\n    pass\n\nclass A:\n    def m(self):\n        pass\n")
    assert found == {"f": (1, 2), "A": (4, 6), "m": (5, 6)}


def test_cpp_is_read_by_its_grammar() -> None:
    found = spans("a.hpp", CPP)
    assert found["MAX"] == (1, 1)
    assert found["Box"] == (2, 6)
    assert found["Box::get"] == (5, 5)
    assert found["a::b::open"] == (8, 11)
    assert found["Side"] == (15, 15)
    assert "Point" not in found


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.ts", "export default async function f<T>() {\n}\nconst g = async () => {\n}\n", ["f", "g"]),
        ("a.js", "class K {\n  m() {}\n}\nlet n = 3\n", ["K"]),
        ("a.go", "package x\nfunc (a *T) F() {\n}\ntype T struct {\n}\n", ["F", "T"]),
        ("a.rs", "impl<T> Show for Bar<T> {\n  pub fn x() {}\n}\npub struct Q;\n", ["Bar", "x", "Q"]),
        ("A.java", "public class A {\n  static int f(int a) {\n    if (a) {\n    }\n  }\n}\n", ["A", "f"]),
        ("a.rb", "class A\n  def m?\n  end\nend\n", ["A", "m?"]),
        ("a.sh", "build() {\n}\nfunction run {\n}\n", ["build", "run"]),
        ("a.txt", "def f(): pass\n", []),
    ],
)
def test_other_languages_are_guessed(path: str, text: str, names: list[str]) -> None:
    assert [symbol.name for symbol in find_symbols(path, text)] == names


def test_a_warning_in_a_foreign_file_is_not_ours(recwarn: pytest.WarningsRecorder) -> None:
    assert spans("a.py", 'def f(): return "\\d"\n') == {"f": (1, 1)}
    assert not [each for each in recwarn if each.category in (SyntaxWarning, DeprecationWarning)]


def test_deep_nesting_ends() -> None:
    assert find_symbols("a.cpp", "namespace a {" * 3000 + "}" * 3000)
    assert find_symbols("a.py", "x = " + "(" * 5000 + ")" * 5000 + "\n") is not None


@given(
    st.sampled_from(["a.py", "a.cpp", "a.ts", "a.go", "a.rs", "a.java", "a.rb", "a.sh"]),
    st.text(max_size=200),
)
def test_spans_lie_inside_the_text(path: str, text: str) -> None:
    text = text.replace("\r", "").replace("\f", "")
    lines = text.count("\n") + 1
    for symbol in find_symbols(path, text):
        assert isinstance(symbol, Symbol)
        assert 1 <= symbol.first <= symbol.last <= lines
