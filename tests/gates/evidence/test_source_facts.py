"""What a text tells of what it uses is the same from memory, from a store, and read anew."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.values import Change
from kith.gates.evidence.affected_tests import find_reach
from kith.gates.evidence.source_facts import KnownSources, SourceFacts, read_facts

NAMES = (
    "pkg/a.py",
    "pkg/b.pyi",
    "pkg/__init__.py",
    "tests/test_a.py",
    "web/a.ts",
    "web/b.js",
    "test/b.test.ts",
)
LINES = (
    "from . import a",
    "from pkg.a import f",
    "import pkg; pkg.a.f()",
    "RUN = '-m pkg.a'",
    "import { a } from '@/a'",
    "import b from './b'",
    "open('web/b.js')",
    "def f(:",
)
MANY = {f"pkg/m{n}.py": f"import pkg.m{n + 1}\n".encode() for n in range(300)}

Tree = dict[str, bytes]
content = st.lists(st.sampled_from(LINES), max_size=3).map(lambda lines: "\n".join(lines).encode())
trees = st.dictionaries(st.sampled_from(NAMES), content)
edits = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(NAMES), content),
        st.tuples(st.just("delete"), st.sampled_from(NAMES), st.just(b"")),
        st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    ),
    max_size=6,
)


class Store(dict[str, str]):
    """A store in memory, which counts what it is asked."""

    asked = 0

    def load(self, key: str) -> str | None:
        self.asked += 1
        return self.get(key)

    def save(self, key: str, text: str) -> None:
        self[key] = text


def apply(tree: Tree, edit: tuple[str, str, bytes | str]) -> Tree:
    kind, path, other = edit
    rest = {each: data for each, data in tree.items() if each != path}
    if kind == "write" and isinstance(other, bytes):
        return {**rest, path: other}
    return (
        {**rest, other: tree[path]} if kind == "rename" and isinstance(other, str) and path in tree else rest
    )


@given(trees, edits)
def test_known_answers_equal_fresh_ones_after_any_edit(
    tree: Tree, edits: list[tuple[str, str, bytes | str]]
) -> None:
    store = Store()
    known = KnownSources(store, worth=1)
    for edit in [("delete", "", b""), *edits]:
        tree = apply(tree, edit)
        fresh = {path: read_facts(path, data.decode()) for path, data in tree.items()}
        assert known.look(tree) == KnownSources(store, worth=1).look(tree) == fresh
        for path in tree:
            change = (Change(path, b"x", tree[path]),)
            assert find_reach(tree, change, known=known) == find_reach(tree, change)


def test_only_new_contents_are_read() -> None:
    known = KnownSources()
    before = known.look(MANY)
    after = known.look({**MANY, "pkg/m7.py": b"import json\n"})
    assert after.pop("pkg/m7.py").imports == ("json",)
    assert all(facts is before[path] for path, facts in after.items())


def test_a_store_is_believed_instead_of_reading_again() -> None:
    store = Store()
    KnownSources(store).look(MANY)
    ((key, text),) = store.items()
    store[key] = text.replace('"pkg.m1"', '"other"')
    assert KnownSources(store).look(MANY)["pkg/m0.py"].imports == ("other",)


def test_few_texts_need_no_store() -> None:
    store = Store()
    KnownSources(store).look({"a.py": b"import b\n"})
    assert (store.asked, store) == (0, {})


def test_each_tree_has_facts_of_its_own() -> None:
    store = Store()
    for root in ("/one", "/other"):
        KnownSources(store, Path(root)).look(MANY)
    assert len(store) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: text.replace('["', '[1,"', 1),
        lambda text: '{"x": [["\\ud800"]]}',
    ],
)
def test_a_damaged_store_is_read_again(damage: Callable[[str], str]) -> None:
    store = Store()
    fresh = KnownSources(store).look(MANY)
    ((key, text),) = store.items()
    store[key] = damage(text)
    assert KnownSources(store).look(MANY) == fresh
    assert store[key] == text


def test_the_same_text_under_another_ending_tells_something_else() -> None:
    text = b"import a from './b'\n"
    found = KnownSources().look({"a.ts": text, "a.py": text, "c.ts": text})
    assert found["a.ts"] == found["c.ts"] == SourceFacts(imports=("./b",))
    assert found["a.py"] == SourceFacts()
