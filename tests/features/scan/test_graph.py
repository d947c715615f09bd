"""The graph of modules: its knots against brute force, imports as written, and the files they mean."""

import ast
from itertools import permutations, product

from hypothesis import given
from hypothesis import strategies as st

from kith.context.imports import Resolver, find_imports, imports_of_module
from kith.features.scan.graph import count_dependents, find_knots, shortest_cycle
from steps import count_steps

NODES = "abcdef"
graphs = st.dictionaries(
    st.sampled_from(NODES), st.sets(st.sampled_from(NODES), max_size=4), max_size=len(NODES)
).map(lambda graph: {node: graph.get(node, set()) for node in NODES})


def reachable(graph: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Pairs with a way from the first to the second, by trying all again and again."""
    ways = {(node, target) for node, targets in graph.items() for target in targets}
    while more := {(a, d) for (a, b), (c, d) in product(ways, ways) if b == c} - ways:
        ways |= more
    return ways


@given(graphs)
def test_knots_are_what_brute_force_says(graph: dict[str, set[str]]) -> None:
    ways = reachable(graph)
    expected = {
        tuple(sorted(b for b in NODES if b == a or ((a, b) in ways and (b, a) in ways)))
        for a in NODES
        if (a, a) in ways
    }
    knots = find_knots(graph)
    assert set(knots) == expected and len(knots) == len(expected)
    assert [len(knot) for knot in knots] == sorted(map(len, knots), reverse=True)


@given(graphs)
def test_the_shown_cycle_is_one_and_no_shorter_one_goes_through_its_start(graph: dict[str, set[str]]) -> None:
    for knot in find_knots(graph):
        way = shortest_cycle(graph, knot)
        assert way[0] == knot[0] and set(way) <= set(knot)
        assert all(b in graph[a] for a, b in zip(way, (*way[1:], way[0]), strict=True))
        for shorter in permutations(knot, len(way) - 1):
            if shorter[:1] == way[:1]:
                around = zip(shorter, (*shorter[1:], shorter[0]), strict=True)
                assert not all(b in graph[a] for a, b in around)


def test_a_long_chain_needs_no_recursion_and_linear_work() -> None:
    def steps(size: int) -> int:
        ring = {str(n): {str((n + 1) % size)} for n in range(size)}
        [knot] = find_knots(ring)
        assert len(knot) == size
        return count_steps(lambda: find_knots(ring))

    assert steps(8_000) < 5 * steps(2_000)


def test_dependents_are_counted_once_each_and_nobody_leans_on_itself() -> None:
    graph = {"a": {"b", "a"}, "b": {"c"}, "d": {"b", "c"}}
    assert count_dependents(graph) == {"b": 2, "c": 2}


# --- imports -----------------------------------------------------------------------------------

MODULE = """\
from __future__ import annotations
import os, a.b
from . import sibling
from ..other import x, y
from a import *
if TYPE_CHECKING:
    from only import Types
try:
    import fast
except ImportError:
    import slow
class K:
    import inner
def later():
    import os
    from lazy import z
"""


def test_python_imports_are_read_from_the_tree() -> None:
    assert imports_of_module(ast.parse(MODULE), MODULE) == (
        *("..other:x,y", ".:sibling", "__future__:annotations", "a.b", "a:*", "fast", "inner"),
        *("os", "slow", "~lazy:z", "~only:Types"),
    )


def test_other_imports_are_read_by_patterns() -> None:
    cpp = '#include "a/b.h"\n#  include <string>\n#include <lib/c.hpp>\n// #include "no.h"\n'
    assert find_imports("x.cpp", cpp) == ("<lib/c.hpp", "a/b.h")
    script = (
        "import x from './x';\nexport * from \"../y\";\nconst z = require('./z'); import('./w')\n"
        "import r from 'react'\n"
    )
    assert find_imports("x.ts", script) == ("../y", "./w", "./x", "./z")
    go = 'package a\nimport "fmt"\nimport (\n\t"example.com/m/b"\n\tc "example.com/m/c"\n)\n'
    assert find_imports("x.go", go) == ("example.com/m/b", "example.com/m/c", "fmt")
    assert find_imports("go.mod", "module example.com/m\n\ngo 1.22\n") == ("module example.com/m",)
    rust = "mod a;\npub mod b;\nuse crate::a::Thing;\nuse std::fmt;\nmod inline { }\n"
    assert find_imports("x.rs", rust) == ("crate::a::Thing", "mod a", "mod b")


FILES = """
    src/p/__init__.py src/p/a.py src/p/b.py src/p/q/__init__.py src/p/q/c.py tool.py scripts/x.py scripts/y.py
    other/x.py deep/x.py lib/h.h lib/x/y.hpp src/m.cpp web/a.ts web/b/index.js go.mod cmd/main.go pkg/u/u.go
    r/src/lib.rs r/src/a.rs r/src/b/mod.rs r/src/b/c.rs __init__.py
"""
RESOLVER = Resolver(sorted(FILES.split()), {"": "example.com/m"})


def meant(path: str, *imports: str) -> list[str]:
    return [target for target, _ in RESOLVER.resolve(path, imports)]


def test_python_names_mean_modules_of_the_project() -> None:
    assert meant("src/p/a.py", "p.b") == meant("src/p/a.py", ".:b") == ["src/p/b.py"]
    assert meant("src/p/a.py", ".q:c,Thing") == ["src/p/q/c.py", "src/p/q/__init__.py"]
    assert meant("src/p/q/c.py", "..:a") == ["src/p/a.py"]
    assert meant("src/p/q/c.py", "...:nothing") == []
    assert meant("src/p/a.py", "os", "numpy.linalg", "p.none", "x") == []
    assert list(RESOLVER.resolve("src/p/a.py", ["~p.b"])) == [("src/p/b.py", True)]
    assert meant("tool.py", ".:tool", "tool") == ["tool.py", "tool.py"]


def test_a_script_means_the_one_beside_it() -> None:
    assert meant("scripts/x.py", "y", "tool") == ["scripts/y.py", "tool.py"]
    assert meant("other/x.py", "x", "y") == ["other/x.py"]


def test_the_standard_library_is_hidden_only_from_the_top() -> None:
    inner = Resolver(["deep/typing/__init__.py", "deep/typing/x.py", "deep/a.py"])
    assert list(inner.resolve("deep/a.py", ["typing:Any", "typing.x"])) == []
    top = Resolver(["test/__init__.py", "test/helper.py", "a.py"])
    assert list(top.resolve("a.py", ["test:helper"])) == [("test/helper.py", False)]


def test_headers_scripts_packages_and_crates() -> None:
    assert meant("src/m.cpp", "../lib/h.h", "h.h", "<x/y.hpp", "string.h") == [
        "lib/h.h",
        "lib/h.h",
        "lib/x/y.hpp",
    ]
    assert meant("web/a.ts", "./b", "./a.js", "../nothing") == ["web/b/index.js", "web/a.ts"]
    assert meant("cmd/main.go", "example.com/m/pkg/u", "fmt", "example.com/mm/pkg/u") == ["pkg/u/"]
    assert meant("r/src/lib.rs", "mod a", "mod b") == ["r/src/a.rs", "r/src/b/mod.rs"]
    assert meant("r/src/b/mod.rs", "mod c", "crate::a::X", "super::a::Y") == [
        "r/src/b/c.rs",
        "r/src/a.rs",
        "r/src/a.rs",
    ]
    assert meant("r/src/b/c.rs", "super::Item") == ["r/src/b/mod.rs"]


@given(
    st.sampled_from(FILES.split()),
    st.lists(st.text("ab./:~<*, crate::superself mod", max_size=12), max_size=5),
)
def test_what_is_meant_is_always_in_the_project(path: str, imports: list[str]) -> None:
    names = set(FILES.split())
    for target in meant(path, *imports):
        assert target in names or target.endswith("/")
