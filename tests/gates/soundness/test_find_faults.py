"""A change that cannot be right is refused before any test runs; a right one never is."""

import sys
import textwrap
from collections.abc import Mapping

import pytest

from kith.core.values import Change
from kith.gates.soundness import Fault
from kith.gates.soundness.find_faults import find_suspects

PACKAGE = {
    "src/shop/__init__.py": "from .cart import Cart\n\n__all__ = ['Cart', 'prices']\n",
    "src/shop/cart.py": "import os\n\n\nclass Cart:\n    pass\n\n\ndef total(cart):\n    return 0\n",
    "src/shop/prices.py": "from .cart import Cart, total\n\nBASE = 1\n",
    "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total([]) == 0\n",
}
Told = list[tuple[str, str, str]]


def find(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> tuple[Fault, ...]:
    """The new faults where `after` is written over `before`; no package outside the project is there."""
    files = {path: text for path, text in {**before, **after}.items() if text is not None}
    changes = tuple(
        Change(path, _bytes(before.get(path)), _bytes(text))
        for path, text in after.items()
        if before.get(path) != text
    )
    suspects = find_suspects(changes, files, lambda path: _bytes(files.get(path))).found
    return tuple(each.fault for each in suspects if each.sure or each.asks)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else textwrap.dedent(text).encode()


def in_package(after: Mapping[str, str | None]) -> Told:
    return [(each.path, each.kind, each.detail) for each in find(PACKAGE, after)]


# --- syntax ----------------------------------------------------------------------------------

CPP = """\
    #include <vector>
    #ifdef FAST
    int area(int a) {
    #else
    int area(long a) {
    #endif
        return a * 2;
    }
    #define BEGIN namespace shop {
    // an open ( in a comment, and 1'000 of them
    const char* text = R"(raw ") text)";
"""


@pytest.mark.parametrize(
    ("path", "good", "bad"),
    [
        ("a.py", "x = (1,\n     2)\n", "x = (1,\n     2\n"),
        ("a.py", "def f():\n    return 1\n", "def f():\nreturn 1\n"),
        ("a.py", "def f():\n    return 1\n", "x = 1\nreturn x\n"),
        ("a.py", "x = 1\n", "x = 1\n=======\n"),
        ("a.json", '{"a": 1}', '{"a": 1,}'),
        ("tsconfig.json", '{"a": 1}', '{"a": 1'),
        ("a.toml", "a = 1\n", "a = = 1\n"),
        ("a.yaml", "a: [1, 2]\n", "a: [1, 2\n"),
        ("a.cpp", CPP, CPP.replace("2;\n    }", "2;\n")),
        ("a.cpp", "int f(int a) {\n  return a;\n}\n", "int f(int a) {\n  return a\n}\n"),
        ("a.cpp", CPP + 'char c = f("a");\n', CPP + 'char c = f("a);\n'),
        ("a.h", "int f(int a);\n", "<<<<<<< HEAD\nint f(int a);\n"),
        ("a.c", "int f(int a) { return a; }\n", "int f(int a) { return a; }\n}\n"),
    ],
)
def test_a_file_that_parsed_and_does_not_is_a_fault(path: str, good: str, bad: str) -> None:
    assert [(each.path, each.kind) for each in find({path: good}, {path: bad})] == [(path, "syntax")]
    assert find({path: bad}, {path: bad + "\n"}) == ()  # it was broken before
    assert find({path: bad}, {path: good}) == ()


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", "x = 1\n", "type X = int\n"),
        ("a.py", "x = 1\n", "def f[T](x: T) -> T:\n    return x\n"),
        ("a.py", "x = {}\n", 'x = {}\ny = f"{x["a"]}"\n'),
        ("a.py", "x = 1\n", "try:\n    x = 1\nexcept KeyError, ValueError:\n    x = 2\n"),
        ("a.py", "x = 1\n", "lazy import os\n"),
        ("tsconfig.json", '{"a": 1}', '{"a": 1, // why\n}'),
        ("a.toml", "a = {b = 1}\n", "a = {\n  b = 1,\n}\n"),
        ("a.cpp", "int a;\n", "int a;\nMY_MACRO(b) { MY_END }\n"),
        ("a.cpp", "int a;\n", "int a;\nEXPORT int f() NOEXCEPT\nTRAIT(x)\n"),
        ("tests/data/broken.py", "", None),
        ("templates/app.py", "", None),
    ],
)
def test_what_may_be_newer_or_meant_so_is_none(path: str, before: str, after: str | None) -> None:
    old = {path: before} if after is not None else {}
    assert find(old, {path: after if after is not None else "def ({\n"}) == ()


def test_a_new_broken_module_is_a_fault() -> None:
    assert in_package({"src/shop/tax.py": "def f(:\n"}) == [("src/shop/tax.py", "syntax", "invalid syntax")]


# --- imports ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        ("from .carts import Cart", ".carts"),
        ("from .cart import Trolley", ".cart:Trolley"),
        ("from . import carts", ".:carts"),
        ("from shop.cart import Trolley", "shop.cart:Trolley"),
        ("from shop.carts import Trolley", "shop.carts"),
        ("import shop.carts", "shop.carts"),
        ("import requestz", "requestz"),
        ("from collections import OrderdDict", "collections:OrderdDict"),
    ],
)
def test_an_import_that_leads_nowhere_is_a_fault(line: str, detail: str) -> None:
    found = find(PACKAGE, {"src/shop/tax.py": f'"""Tax."""\n{line}\n'})
    assert detail in [each.detail for each in found]
    assert {(each.path, each.line, each.kind) for each in found} == {("src/shop/tax.py", 2, "import")}


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    import requestz\nexcept ImportError:\n    requestz = None\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .carts import Cart\n",
        "import pytest\nrequestz = pytest.importorskip('requestz')\nimport requestz.deep\n",
        "from contextlib import suppress\nwith suppress(ImportError):\n    import requestz\n",
        "def draw():\n    import requestz\n",
        "import sys\nsys.path.insert(0, 'vendor')\nimport requestz\n",
        "from .lazy import anything\n",
        "from .star import path\n",
        "from .made import version\n",
        "from ._speed import quick\n",
        "from .later import x, y, z\n",
        "import shop\nfrom shop import prices, cart\nfrom . import tax\n",
        "from other import helper\n",
    ],
)
def test_an_import_that_may_work_is_none(text: str) -> None:
    tree = PACKAGE | {
        "src/shop/lazy.py": "def __getattr__(name):\n    return name\n",
        "src/shop/star.py": "from os import *\n",
        "src/shop/_speed.pyx": "",
        "src/shop/later.py": "if 1:\n    x = 1\nfor y in ():\n    ...\ndef f():\n    global z\n    z = 1\n",
        "pyproject.toml": "[tool.setuptools_scm]\nwrite_to = 'src/shop/made.py'\n",
        "tools/other.py": "helper = 1\n",
    }
    # No other package is there in these tests, so those of the standard library are left to the gate's.
    found = find(tree, {"src/shop/tax.py": text})
    standard = ("typing", "pytest", "contextlib", "sys")
    assert [each for each in found if not each.detail.startswith(standard)] == []


def test_what_was_lost_before_is_nobodys() -> None:
    tree = PACKAGE | {"src/shop/tax.py": "from .gone import a\nb = undefined\n"}
    later = "from .gone import a\n\nfrom .gone import a as c\nb = undefined\nd = undefined\n"
    assert find(tree, {"src/shop/tax.py": later}) == ()


def test_who_still_imports_what_is_gone_is_named() -> None:
    cart = PACKAGE["src/shop/cart.py"].replace("def total", "def add_up")
    assert in_package({"src/shop/cart.py": cart}) == [
        ("src/shop/prices.py", "import", ".cart:total"),
        ("tests/test_cart.py", "import", "shop.cart:total"),
    ]
    assert in_package({"src/shop/cart.py": None, "src/shop/basket.py": PACKAGE["src/shop/cart.py"]}) == [
        ("src/shop/__init__.py", "import", ".cart"),
        ("src/shop/prices.py", "import", ".cart"),
        ("tests/test_cart.py", "import", "shop.cart"),
    ]


def test_a_whole_move_leaves_nothing_behind() -> None:
    moved = {
        path: text.replace("cart import", "basket import")
        for path, text in PACKAGE.items()
        if path != "src/shop/cart.py"
    }
    changes = moved | {"src/shop/cart.py": None, "src/shop/basket.py": PACKAGE["src/shop/cart.py"]}
    assert in_package(changes) == []


def test_tests_with_the_name_of_a_package_hide_nothing() -> None:
    tree = {"tests/typing/typing_a.py": "", "tests/test_a.py": "x = 1\n"}
    suspects = find_suspects(
        (Change("tests/test_a.py", b"x = 1\n", b"from typing import Literal\n"),),
        [*tree],
        lambda path: _bytes(tree.get(path)),
    )
    assert not [each for each in suspects.found if each.sure]


@pytest.mark.parametrize(
    ("line", "lost"),
    [
        ("import { a } from './a'", False),
        ("import { a } from './a.js'", False),
        ("import b from './b'", False),
        ("export * from './folder'", False),
        ("import c from './dist/c.js'", False),
        ("// import { a } from './aa'", False),
        ("const text = `\n  import { a } from './aa'`", False),
        ("import { a } from './aa'", True),
        ("import {\n  a,\n} from './aa'", True),
        ("const a = require('../a')", True),
        ("import './aa.css'", True),
    ],
)
def test_relative_imports_of_scripts(line: str, lost: bool) -> None:
    tree = {"web/a.ts": "", "web/b.json": "{}", "web/folder/index.tsx": "", "web/main.ts": ""}
    assert bool(find(tree, {"web/main.ts": f"{line}\n"})) == lost


def test_scripts_that_import_a_removed_file_are_named() -> None:
    tree = {"web/a.ts": "export const a = 1\n", "web/main.ts": "import { a } from './a'\n"}
    assert find(tree, {"web/a.ts": None}) == (Fault("web/main.ts", 1, "import", "./a"),)


# --- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    return undefined + 1\n",
        "@undefined\ndef f(): ...\n",
        "__all__ = ['undefined']\n",
        "__all__ = []\n__all__ += ['undefined']\n",
    ],
)
def test_an_undefined_name_is_a_fault(text: str) -> None:
    assert in_package({"src/shop/tax.py": text}) == [("src/shop/tax.py", "name", "undefined")]


@pytest.mark.parametrize(
    "text",
    [
        "from .cart import *\nprint(undefined)\n",
        "print(undefined)  # noqa: F821\n",
        "try:\n    undefined\nexcept NameError:\n    pass\n",
        "globals()['undefined'] = 1\nprint(undefined)\n",
        "exec('undefined = 1')\nprint(undefined)\n",
        "x: 'undefined' = 1\n",
        "class A:\n    b: B\n\nclass B: ...\n",
        "print(_('words'))\n",
        "__all__ = ['Cart']\ndef __getattr__(name): ...\n",
    ],
)
def test_a_name_that_may_be_given_is_none(text: str) -> None:
    assert in_package({"src/shop/tax.py": text}) == []


def test_names_that_a_linter_is_told_of_are_none() -> None:
    tree = PACKAGE | {"pyproject.toml": "[tool.ruff]\nbuiltins = ['undefined']\n"}
    assert find(tree, {"src/shop/tax.py": "print(undefined)\n"}) == ()


def test_names_that_a_file_puts_among_the_builtins_are_none() -> None:
    tree = PACKAGE | {"src/shop/start.py": "import builtins\n\nbuiltins.undefined = 1\n"}
    assert find(tree, {"src/shop/tax.py": "print(undefined)\n"}) == ()


def test_a_package_may_name_its_path() -> None:
    text = "print(__path__)\n"
    assert in_package({"src/shop/__init__.py": PACKAGE["src/shop/__init__.py"] + text}) == []
    assert in_package({"src/shop/tax.py": text}) == [("src/shop/tax.py", "name", "__path__")]


def test_after_an_edit_only_the_edited_file_is_read_again() -> None:
    module = "import os\n\n\ndef f_{0}(a: int) -> int:\n    return a + {0}\n" * 4
    before = {f"lib/m{number}.py": module.format(number) for number in range(30)}
    after = {path: f"{text}\n\nLIMIT = 1\n" for path, text in before.items()}
    calls = 0

    def count(frame: object, event: str, what: object) -> None:
        nonlocal calls
        calls += event == "call"

    def look(texts: Mapping[str, str]) -> int:
        nonlocal calls
        calls = 0
        sys.setprofile(count)
        try:
            assert find(before, texts) == ()
        finally:
            sys.setprofile(None)
        return calls

    whole = look(after)
    once_more = look(after | {"lib/m7.py": after["lib/m7.py"] + "MORE = 2\n"})
    assert once_more < whole / 5, f"{whole} calls, then {once_more}"
