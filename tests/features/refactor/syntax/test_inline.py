"""Inlining variables and functions, and everything whose value or order could change."""

import pytest

from kith.features.refactor.syntax.inline import inline
from refactoring import after, code, refusal


def inlined(text: str, name: str) -> str:
    files = {"a.py": text}
    return after(files, inline(code(files), "a.py", name))["a.py"]


@pytest.mark.parametrize(
    ("text", "name", "then"),
    [
        ("def f(a):\n    b = a + 1\n    return b * 2\n", "f.b", "def f(a):\n    return (a + 1) * 2\n"),
        ("def f(a):\n    b = a + 1\n    return b\n", "f.b", "def f(a):\n    return a + 1\n"),
        ("def f(a):\n    b = g(a)\n    if b: return 1\n", "f.b", "def f(a):\n    if g(a): return 1\n"),
        (
            "def f(a):\n    b = a\n    print(b)\n    return b.c\n",
            "f.b",
            "def f(a):\n    print(a)\n    return a.c\n",
        ),
        ("W = 2  # wide\nx = W * W\n", "W", "# wide\nx = 2 * 2\n"),
        ("W = -2\nx = W ** W\n", "W", "x = (-2) ** (-2)\n"),
        ("def f():\n    b = 1, 2\n    return g(b)\n", "f.b", "def f():\n    return g((1, 2))\n"),
        (
            "def f(a):\n    b = (a\n         .c())\n    return b\n",
            "f.b",
            "def f(a):\n    return (a\n         .c())\n",
        ),
        (
            "def f(a):\n    if a:\n        b = 1\n        return b\n",
            "f.b",
            "def f(a):\n    if a:\n        return 1\n",
        ),
    ],
)
def test_a_value_stands_where_its_name_stood(text: str, name: str, then: str) -> None:
    assert inlined(text, name) == then


def test_a_function_of_one_expression_stands_where_it_was_called() -> None:
    text = '''\
def twice(n, by=2):
    """N times two."""
    return n * by


def area(a, b): return a * b


print(twice(3 + 4), twice(n=x.y, by=3) + 1)
print(area(b=1, a=2))
'''
    made = inlined(text, "twice")
    assert made.endswith("print((3 + 4) * 2, (x.y * 3) + 1)\nprint(area(b=1, a=2))\n")
    assert "def twice" not in made
    assert inlined(made, "area") == "print((3 + 4) * 2, (x.y * 3) + 1)\nprint(2 * 1)\n"


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        (
            "def f(a):\n    b = 1\n    b = 2\n    return b\n",
            "f.b",
            "gets its value in several places (lines 2, 3)",
        ),
        ("def f(a):\n    b = g()\n    return b + b\n", "f.b", "used 2 times; inlined it would not be."),
        (
            "def f(a):\n    b = g()\n    h()\n    return b\n",
            "f.b",
            "the code between this value and its use may",
        ),
        ("def f(a):\n    b = g()\n    return h() + b\n", "f.b", "something else would happen before"),
        (
            "def f(a):\n    b = g()\n    return a and b\n",
            "f.b",
            "its use is not always evaluated, or not only once.",
        ),
        (
            "def f(a):\n    b = g()\n    return [b for x in a]\n",
            "f.b",
            "not always evaluated, or not only once.",
        ),
        ("def f(a):\n    b = a\n    a = 2\n    return b\n", "f.b", "a changes, so its value is not inlined."),
        (
            "def f(a):\n    b = a\n    return lambda a: b\n",
            "f.b",
            "a would mean something else there.",
        ),
        ("def f(a):\n    for b in a: print(b)\n", "f.b", "b is not set by a plain assignment."),
        (
            "def f(a):\n    while a:\n        print(b)\n        b = 1\n",
            "f.b",
            "is used where its value may not be set.",
        ),
        ("def f(a):\n    b = 'x'\n    return f'{b}'\n", "f.b", "cannot be inside this f-string."),
        ("N = 'none'\ndef f(a): return a is N\n", "N", "`is` asks for the very object"),
        ("def f(a):\n    b = 1\n", "f.b", "a.py:2: nothing uses b."),
        ("__all__ = ['N']\nN = 1\nprint(N)\n", "N", "N is in __all__, so others may use it."),
        ("class A:\n    n = 1\n", "A.n", "only variables and functions are inlined."),
        (
            "def f(n):\n    n += 1\n    return n\nf(1)\n",
            "f",
            "a.py:1: f does more than return one expression.",
        ),
        ("def f(n): return n + n\nf(g())\n", "f", "a.py:2: g() would be evaluated 2 times."),
        ("def f(n): return n\nmap(f, [])\n", "f", "a.py:2: f is not called here, but handed on."),
        ("def f(n): return f(n)\nf(1)\n", "f", "a.py:1: f calls itself."),
        ("k = 1\ndef f(n): return n + k\ndef g(k): return f(k)\n", "f", "k means something else in g."),
        ("def f(a, b): return b - a\nf(g(), h())\n", "f", "the order of a and b could change."),
    ],
)
def test_it_refuses_what_would_not_be_the_same(text: str, name: str, why: str) -> None:
    assert why in refusal(lambda: inlined(text, name))


def test_what_another_module_uses_stays() -> None:
    files = {"a.py": "N = 1\nprint(N)\n", "b.py": "from a import N\n"}
    assert refusal(lambda: inline(code(files), "a.py", "N")) == "a.py: N is used by b.py, too."
