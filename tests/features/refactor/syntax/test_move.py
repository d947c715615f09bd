"""Moving definitions: what goes along, who follows, and when it is refused."""

import ast

import pytest

from kith.features.refactor.syntax.move import move
from refactoring import Files, after, code, refusal

SHOP = {
    "shop/__init__.py": "from .prices import total\n",
    "shop/prices.py": '''\
        """Prices."""

        import functools
        import math

        from .rates import RATE

        ROUND = 2


        # What a customer pays.
        # It is rounded.
        @functools.cache
        def total(net):  # cached
            """With tax."""
            return math.ceil(net * RATE)


        def show(net):
            return math.floor(total(net))
        ''',
    "shop/rates.py": "RATE = 1.2\n",
    "shop/cart.py": "from shop.prices import show, total as pay\nprint(pay(1), show(2))\n",
    "shop/late.py": "def f():\n    from .prices import total\n    return total(1)\n",
    "app.py": "from shop import prices\nimport shop.prices as p\n"
    "print(prices.total(1), prices.show(1), p.total(2))\n",
}


def moved(files: Files, where: str, target: str) -> dict[str, str]:
    path, _, names = where.partition(":")
    return after(files, move(code(files), path, names.split(",") if names else [], target))


def test_a_function_takes_its_decorators_comments_and_imports_along() -> None:
    made = moved(SHOP, "shop/prices.py:total", "shop/tax.py")
    assert made["shop/tax.py"] == (
        "import functools\nimport math\n\nfrom .rates import RATE\n\n\n"
        "# What a customer pays.\n# It is rounded.\n@functools.cache\n"
        'def total(net):  # cached\n    """With tax."""\n    return math.ceil(net * RATE)\n'
    )
    assert made["shop/prices.py"] == (
        '"""Prices."""\n\nimport math\n\nfrom .tax import total\n\nROUND = 2\n\n\n'
        "def show(net):\n    return math.floor(total(net))\n"
    )


def test_whoever_imports_it_follows() -> None:
    made = moved(SHOP, "shop/prices.py:total", "shop/tax.py")
    assert made["shop/__init__.py"] == "from .tax import total\n"
    assert made["shop/cart.py"].startswith(
        "from shop.prices import show\nfrom shop.tax import total as pay\n"
    )
    assert made["shop/late.py"] == "def f():\n    from .tax import total\n    return total(1)\n"
    assert made["app.py"] == (
        "from shop import prices\nimport shop.tax as p\nfrom shop.tax import total\n"
        "print(total(1), prices.show(1), p.total(2))\n"
    )


def test_a_module_moves_whole_and_is_gone() -> None:
    files = SHOP | {"shop/late.py": "from shop import rates\nprint(rates.RATE)\n"}
    made = moved(files, "shop/rates.py", "shop/config.py")
    assert "shop/rates.py" not in made
    assert made["shop/config.py"] == "RATE = 1.2\n"
    assert "from .config import RATE\n" in made["shop/prices.py"]
    assert made["shop/late.py"] == "from shop import config\nprint(config.RATE)\n"


def test_it_stands_before_what_needs_it_at_once() -> None:
    files = {
        "a.py": "from b import LIMIT\n\nTWICE = LIMIT * 2\n\n\ndef f():\n    return TWICE\n",
        "b.py": "LIMIT = 3\nOTHER = 4\n",
    }
    made = moved(files, "b.py:LIMIT", "a.py")
    assert made == {
        "a.py": "LIMIT = 3\n\nTWICE = LIMIT * 2\n\n\ndef f():\n    return TWICE\n",
        "b.py": "OTHER = 4\n",
    }


def test_all_and_star_imports_hand_on_what_they_did() -> None:
    files = {
        "p/__init__.py": "from .a import *\nfrom .b import *\n",
        "p/a.py": "__all__ = ['one', 'two']\n\n\ndef one(): ...\n\n\ndef two(): ...\n",
        "p/b.py": "__all__ = [\n    'three',\n]\n\n\ndef three(): ...\n",
        "p/c.py": "",
    }
    made = moved(files, "p/a.py:one", "p/b.py")
    assert made["p/a.py"] == "__all__ = ['two']\n\n\ndef two(): ...\n"
    assert made["p/b.py"].startswith("__all__ = [\n    'three',\n    'one',\n]\n")
    assert made["p/__init__.py"] == files["p/__init__.py"]
    made = moved(files, "p/a.py:one,two", "p/c.py")
    assert made["p/__init__.py"] == "from .a import *\nfrom .b import *\nfrom .c import one, two\n"
    assert made["p/a.py"] == "__all__ = []\n"


def test_the_target_keeps_its_line_ends() -> None:
    files = {"a.py": "def f():\n    return 1\n\n\nx = 1\n", "b.py": "y = 2\r\n"}
    assert moved(files, "a.py:f", "b.py")["b.py"] == "y = 2\r\n\r\n\r\ndef f():\r\n    return 1\r\n"


@pytest.mark.parametrize(
    ("files", "where", "target", "why"),
    [
        (
            {"a.py": "def f(): return g()\ndef g(): ...\n", "b.py": "from a import g\n"},
            "a.py:g",
            "c.md",
            "c.md is no Python file",
        ),
        (
            {"a.py": "def f(): return g()\ndef g(): return h()\ndef h(): ...\n", "b.py": ""},
            "a.py:g",
            "b.py",
            "a.py still uses g, which uses h of it: move both, or neither (g,h).",
        ),
        (
            {"a.py": "def f(): ...\n", "b.py": "import c\n", "c.py": "from a import f\n"},
            "a.py:f",
            "b.py",
            "c.py would have to import b.py, which imports it back: moving f there makes",
        ),
        (
            {"a.py": "def f(): ...\n", "b.py": "f = 1\n"},
            "a.py:f",
            "b.py",
            "b.py:1: f is already a name there.",
        ),
        (
            {"a.py": "import x\ndef f(): return x\n", "b.py": "from y import x\n"},
            "a.py:f",
            "b.py",
            "x means something else in b.py than in a.py.",
        ),
        (
            {"a.py": "if 1:\n    def f(): ...\n", "b.py": ""},
            "a.py:f",
            "b.py",
            "a.py does not define f by one statement",
        ),
        ({"a.py": "def f(): ...\n", "b.py": ""}, "a.py:g", "b.py", "a.py defines no g."),
        (
            {"a.py": "n = 0\ndef f():\n    global n\n    n += 1\n", "b.py": ""},
            "a.py:f",
            "b.py",
            "a.py:3: it changes n, a variable of a.py.",
        ),
        ({"a.py": "print(1)\ndef f(): ...\n", "b.py": ""}, "a.py", "b.py", "a.py:1 is not a definition"),
        ({"a.py": "f = 1\n", "b.py": "import a\nprint(a)\n"}, "a.py", "c.py", "b.py still needs a.py itself"),
    ],
)
def test_it_refuses_with_one_sentence(files: Files, where: str, target: str, why: str) -> None:
    assert why in refusal(lambda: moved(files, where, target))


def test_what_comes_out_parses() -> None:
    for text in moved(SHOP, "shop/prices.py:show,total", "shop/rates.py").values():
        ast.parse(text)
