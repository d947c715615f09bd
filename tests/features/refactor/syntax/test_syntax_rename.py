"""Renaming what a name means: scopes, imports, classes, and everything that must stay."""

import ast
from pathlib import Path
from textwrap import dedent

import pytest
import toolz
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.core.errors import UsageError
from kith.features.refactor.syntax.codebase import Codebase
from kith.features.refactor.syntax.rename import rename
from refactoring import Files, after, code, refusal

TOOLZ = Path(toolz.__file__).parent
SOURCES = {f"toolz/{path.relative_to(TOOLZ)}": path.read_bytes() for path in TOOLZ.rglob("*.py")}
PARSED = Codebase.of(SOURCES)


def renamed(files: Files, where: str, new: str) -> dict[str, str]:
    path, _, name = where.partition(":")
    return after(files, rename(code(files), path, name, new))


def one(text: str, name: str, new: str) -> str:
    return renamed({"a.py": text}, f"a.py:{name}", new)["a.py"]


@pytest.mark.parametrize(
    ("before", "name", "then"),
    [
        ("x = 1\ndef f(x):\n    return x\nprint(x)\n", "x", "y = 1\ndef f(x):\n    return x\nprint(y)\n"),
        ("x = 1\ndef f(x):\n    return x\nprint(x)\n", "f.x", "x = 1\ndef f(y):\n    return y\nprint(x)\n"),
        ("def f():\n    global x\n    x = 1\nx = 0\n", "x", "def f():\n    global y\n    y = 1\ny = 0\n"),
        ("x = [x for x in x]\n", "x", "y = [x for x in y]\n"),
        ("x = 1\nclass A:\n    x = x\n    z = x\n", "x", "y = 1\nclass A:\n    x = x\n    z = x\n"),
        ("def x(): ...\n@x\ndef g(): x()\n", "x", "def y(): ...\n@y\ndef g(): y()\n"),
        ("async def x(): ...\n", "x", "async def y(): ...\n"),
        ("class x: ...\ndef f(a: 'x | None'): ...\n", "x", "class y: ...\ndef f(a: 'y | None'): ...\n"),
        ("x = 'x'  # x\nprint(f'x {x!r:>{x}} {{x}}')\n", "x", "y = 'x'  # x\nprint(f'x {y!r:>{y}} {{x}}')\n"),
        ("__all__ = ['x']\nx = 1\n__all__ += ('x',)\n", "x", "__all__ = ['y']\ny = 1\n__all__ += ('y',)\n"),
        ("x = 1\nprint(a.x, f(x=x))\n", "x", "y = 1\nprint(a.x, f(x=y))\n"),
        ("é = 'é'; x = é; print(é, x)\n", "x", "é = 'é'; y = é; print(é, y)\n"),
        ("x = 0\r\nif x:\r\n\tx = 2\x0c\r\n", "x", "y = 0\r\nif y:\r\n\ty = 2\x0c\r\n"),
        ("import z as x\nx.x()\n", "x", "import z as y\ny.x()\n"),
        ("try: ...\nexcept E as x: x\n", "x", "try: ...\nexcept E as y: y\n"),
        ("match a:\n    case [x, *b]: x\n", "x", "match a:\n    case [y, *b]: y\n"),
        ("match a:\n    case {'x': 1, **x}: x\n", "x", "match a:\n    case {'x': 1, **y}: y\n"),
        ("if (x := 1) and [x := 2 for b in c]: x\n", "x", "if (y := 1) and [y := 2 for b in c]: y\n"),
    ],
)
def test_only_what_the_name_means_is_renamed(before: str, name: str, then: str) -> None:
    assert one(before, name, "y") == then


def test_a_byte_order_mark_and_an_encoding_stay() -> None:
    content = b"\xef\xbb\xbfx = '\xc3\xa9'\n"
    assert rename(Codebase.of({"a.py": content}), "a.py", "x", "y").files == {
        "a.py": b"\xef\xbb\xbfy = '\xc3\xa9'\n"
    }
    latin = b"# -*- coding: latin-1 -*-\nx = '\xe9'; x\n"
    done = rename(Codebase.of({"a.py": latin}), "a.py", "x", "y")
    assert done.files == {"a.py": b"# -*- coding: latin-1 -*-\ny = '\xe9'; y\n"}


PACKAGE = {
    "src/shop/__init__.py": "from .prices import total as total, net\n__all__ = ['net']\n",
    "src/shop/prices.py": "def total(all):\n    return sum(all)\n\ndef net(all):\n    return total(all)\n",
    "src/shop/cart.py": "from . import prices\nfrom shop.prices import total as plus\nprices.total, plus\n",
    "src/shop/old.py": "import shop.prices\nimport shop\nshop.prices.total(shop.total([]))\n",
    "src/shop/everything.py": "from .prices import *\ntotal([])\n",
    "src/shop/deep/__init__.py": "",
    "src/shop/deep/far.py": "from ..prices import total\ndef f(total=total): return total\n",
    "tests/test_prices.py": "from shop import net, total\nimport other\nnet(total([])); other.total\n",
    "other.py": "total = 3\n",
}


def test_every_module_that_gets_the_name_follows() -> None:
    made = renamed(PACKAGE, "src/shop/prices.py:net", "without_tax")
    assert made["src/shop/__init__.py"].endswith("total as total, without_tax\n__all__ = ['without_tax']\n")
    assert made["tests/test_prices.py"].startswith("from shop import without_tax, total\n")
    made = renamed(PACKAGE, "src/shop/prices.py:total", "add")
    assert made == PACKAGE | {
        "src/shop/__init__.py": "from .prices import add as total, net\n__all__ = ['net']\n",
        "src/shop/prices.py": PACKAGE["src/shop/prices.py"].replace("total(", "add("),
        "src/shop/cart.py": "from . import prices\nfrom shop.prices import add as plus\nprices.add, plus\n",
        "src/shop/old.py": "import shop.prices\nimport shop\nshop.prices.add(shop.total([]))\n",
        "src/shop/everything.py": "from .prices import *\nadd([])\n",
        "src/shop/deep/far.py": "from ..prices import add\ndef f(total=add): return total\n",
    }


CLASSES = {
    "base.py": """\
        class Shape:
            sides: int = 0
            def area(self): return 0
            def show(self): return self.area()
        class Other:
            def area(self): return 1
        """,
    "square.py": """\
        from base import Shape, Other
        class Square(Shape):
            __slots__ = ("width",)
            def __init__(self, width): self.width = width
            def area(self): return super().area() + self.width ** 2
        def measure(shape: Shape, other: "Other"):
            mine = Square(2)
            return shape.area() + other.area() + mine.area() + Square.area(mine) + mine.width
        """,
}


def test_a_method_is_renamed_with_its_kin_and_nothing_else() -> None:
    made = renamed(CLASSES, "base.py:Shape.area", "size")
    assert made["base.py"].count("size") == 2
    assert "class Other:\n    def area(self)" in made["base.py"]
    assert "return shape.size() + other.area() + mine.size() + Square.size(mine)" in made["square.py"]
    assert "def size(self): return super().size()" in made["square.py"]
    assert made == renamed(CLASSES, "square.py:Square.area", "size")


def test_an_attribute_is_renamed_with_its_slot() -> None:
    made = renamed(CLASSES, "square.py:Square.width", "side")
    assert made["square.py"].count("side") == 4
    assert "width" in made["square.py"]  # the parameter


def test_an_object_of_unknown_class_is_renamed_only_where_one_class_can_be_meant() -> None:
    unclear = CLASSES | {"use.py": "def f(thing): return thing.area()\n"}
    assert refusal(lambda: renamed(unclear, "base.py:Shape.area", "size")).startswith(
        "use.py:1: thing.area may"
    )
    common = {"a.py": "class Spool:\n    def getvalue(self): ...\ndef f(stream): return stream.getvalue()\n"}
    assert "may belong to another class" in refusal(lambda: renamed(common, "a.py:Spool.getvalue", "text"))
    clear = CLASSES | {"use.py": "def f(thing): return thing.show()\n"}
    assert renamed(clear, "base.py:Shape.show", "tell")["use.py"] == "def f(thing): return thing.tell()\n"


def test_a_field_and_a_parameter_are_renamed_in_calls() -> None:
    files = {
        "a.py": "@dataclass\nclass P:\n    x: int\ndef f(x, *, y): return x + y\nP(x=1).x; f(x=1, y=2)\n",
        "b.py": "from a import P, f\nreplace(P(x=1), x=2); f(y=2, x=1); dict(x=1)\n",
    }
    assert renamed(files, "a.py:P.x", "left")["b.py"].endswith(
        "replace(P(left=1), left=2); f(y=2, x=1); dict(x=1)\n"
    )
    bound = {"a.py": "def f(x): ...\nfunctools.partial(f, x=1)\n"}
    assert renamed(bound, "a.py:f.x", "y") == {"a.py": "def f(y): ...\nfunctools.partial(f, y=1)\n"}
    assert renamed(files, "a.py:f.x", "left") == {
        "a.py": files["a.py"]
        .replace("f(x, *, y): return x", "f(left, *, y): return left")
        .replace("f(x=1", "f(left=1"),
        "b.py": files["b.py"].replace("f(y=2, x=1)", "f(y=2, left=1)"),
    }


@pytest.mark.parametrize(
    ("text", "name", "new", "why"),
    [
        ("x = y = 1\n", "x", "y", "a.py:1: y is already a name there."),
        (
            "x = 1\nprint(len)\n",
            "x",
            "len",
            "a.py:2: len is used there, and would then mean what x means now.",
        ),
        ("x = 1\ndef f(y): return x\n", "x", "y", "a.py:2: y means something else in this place."),
        ("x = 1\ndef f():\n    z = 2\n    return x\n", "f.z", "x", "a.py:4: x is used there"),
        ("x = 1\n", "z", "y", "a.py has no z"),
        ("wide = 1\n", "wid", "y", "a.py has no wid; did you mean wide?"),
        ("x = 1\n", "x", "class", "class is a keyword of Python."),
        ("x = 1\n", "x", "a-b", "'a-b' is not a plain name in Python."),
        ("x = 1\n", "x", "x", "Both names are x; there is nothing to do."),
        ("from m import x\n", "x", "y", "a.py:1: x is imported here; rename it where it is defined."),
        ("sorted = sorted\n", "sorted", "y", "a.py: sorted is also a builtin, so its uses are ambiguous"),
        ("x = (\n", "x", "y", "a.py:1 does not parse"),
        ("class A:\n    def __len__(self): ...\n", "A.__len__", "size", "Python itself calls __len__"),
    ],
)
def test_it_refuses_with_one_sentence_and_the_place(text: str, name: str, new: str, why: str) -> None:
    assert why in refusal(lambda: one(text, name, new))


def test_what_stays_in_words_is_told() -> None:
    files = {"a.py": "def old():\n    '''Call old.'''\n    return f'old {old}'  # old\n"}
    done = rename(code(files), "a.py", "old", "new")
    assert done.notes == ("Left alone in strings and comments: old in a.py:2, a.py:3, a.py:3.",)


def names_of_toolz() -> list[tuple[str, str]]:
    return [
        (path, f"{scope.name}.{name}".lstrip("."))
        for path in SOURCES
        for scope in PARSED.names(path).scopes.values()
        if scope.kind != "inner" and "<" not in scope.name
        for name in sorted(scope.bound)
        if not name.startswith("__")
    ]


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.deferred(lambda: st.sampled_from(names_of_toolz())))
def test_there_and_back_is_where_it_was(place: tuple[str, str]) -> None:
    path, name = place
    old, new = name.rpartition(".")[2], "entirely_new_name"
    try:
        there = rename(PARSED, path, name, new).files
    except UsageError:
        return  # it may refuse; what it does must be right
    made = SOURCES | {each: content for each, content in there.items() if content is not None}
    for each, content in there.items():
        assert content is not None
        assert ast.dump(ast.parse(content)).count(new) == content.decode().count(new)
        assert content.replace(new.encode(), old.encode()) == SOURCES[each]
    back = rename(Codebase.of(made), path, f"{name.removesuffix(old)}{new}", old).files
    assert made | dict(back) == SOURCES


def test_the_fixtures_are_what_they_seem() -> None:
    for files in (PACKAGE, CLASSES):
        for text in files.values():
            ast.parse(dedent(text))
