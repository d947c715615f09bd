"""What a text defines, with the line that says so, and how a name is looked for."""

from hypothesis import given
from hypothesis import strategies as st

from kith.context.outline import Definition, choose_named, find_definitions, last_part

PYTHON = """\
LIMIT = {
    "a": 1,
}

@cached(
    size=3,
)
def outer(
    a: int,
    b: str = "x",
) -> int:
    return 1

class Cache(Base, metaclass=Meta):
    async def get(self, key): return key
"""
CPP = """\
#define MAX(a) (a)
namespace ns {
template <class T>
class Box : public Base {
  // get() is quick
  int get() const { return 0; }
};
int
open(int x)
{
  return x;
}
}
"""


def heads(path: str, text: str) -> dict[str, tuple[str, str]]:
    return {each.name: (each.sort, each.signature) for each in find_definitions(path, text)}


def test_python_heads() -> None:
    assert heads("a.py", PYTHON) == {
        "LIMIT": ("constant", "LIMIT = {"),
        "outer": ("function", 'def outer(a: int, b: str = "x") -> int'),
        "Cache": ("class", "class Cache(Base, metaclass=Meta)"),
        "Cache.get": ("method", "async def get(self, key): return key"),
    }


def test_cpp_heads() -> None:
    assert heads("a.hpp", CPP) == {
        "MAX": ("function", "#define MAX(a) (a)"),
        "ns": ("namespace", "namespace ns"),
        "ns::Box": ("class", "class Box : public Base"),
        "ns::Box::get": ("method", "int get() const { return 0; }"),
        "ns::open": ("function", "open(int x)"),
    }


def test_other_languages_say_what_they_define() -> None:
    assert heads("a.ts", "export const go = (x) => x\n  class K {\n}\n")["go"][0] == "function"
    assert heads("a.go", "var Limit = 3\ntype T struct {\n}\n") == {
        "Limit": ("constant", "var Limit = 3"),
        "T": ("class", "type T struct"),
    }
    assert heads("a.rs", "mod inner;\nimpl Show for Bar {\n    fn x() {}\n}\n")["inner"][0] == "namespace"


def named(*names: str) -> list[Definition]:
    return [Definition("a.py", name, "function", 1, 1, "") for name in names]


def found(definitions: list[Definition], name: str) -> list[str]:
    return [each.name for each in choose_named(definitions, name)]


def test_a_name_is_found_by_its_spelling_then_its_letters_then_its_last_part() -> None:
    known = named("Cache.get", "ns::Cache::get", "GET", "Store.get", "widget")
    assert found(known, "get") == ["Cache.get", "ns::Cache::get", "Store.get"]
    assert found(known, "Cache.get") == found(known, "Cache::get") == ["Cache.get", "ns::Cache::get"]
    assert found(known, "cache.GET") == ["Cache.get", "ns::Cache::get"]
    assert found(known, "module.get") == ["Cache.get", "ns::Cache::get", "Store.get"]
    assert found(known, "Get") == ["Cache.get", "ns::Cache::get", "GET", "Store.get"]
    assert found(known, "gets") == []


@given(
    st.lists(st.sampled_from(["a", "B", "a.b", "A.b", "x::a", "a.B"]), max_size=6),
    st.text("aAbB.:", max_size=4),
)
def test_what_is_found_ends_as_asked(names: list[str], asked: str) -> None:
    for name in found(named(*names), asked):
        assert last_part(name).lower() == last_part(asked).lower()


@given(st.sampled_from(["a.py", "a.cpp", "a.ts"]), st.text("def clas():{}@,\n x=", max_size=80))
def test_a_head_is_one_short_line(path: str, text: str) -> None:
    for each in find_definitions(path, text):
        assert "\n" not in each.signature and len(each.signature) <= 160
