"""Extracting functions: parameters, results, methods, and all that would change what the code does."""

import ast
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
import toolz

from kith.core.errors import UsageError
from kith.features.refactor.syntax.codebase import Codebase
from kith.features.refactor.syntax.extract import extract
from refactoring import after, code, refusal


def extracted(text: str, lines: str, name: str = "part") -> str:
    first, _, last = lines.partition("-")
    files = {"a.py": text}
    return after(files, extract(code(files), "a.py", int(first), int(last or first), name))["a.py"]


def test_what_lines_read_goes_in_and_what_is_used_later_comes_out() -> None:
    text = """\
        LIMIT = 3

        def f(rows: list[int], unused):
            total = 0
            # Sum up.
            for row in rows:
                total += row
                last = '''
            kept'''

            return min(total, LIMIT)
        """
    assert extracted(text, "5-9", "sum_up") == dedent("""\
        LIMIT = 3

        def sum_up(rows: list[int], total):
            # Sum up.
            for row in rows:
                total += row
                last = '''
            kept'''
            return total


        def f(rows: list[int], unused):
            total = 0
            total = sum_up(rows, total)

            return min(total, LIMIT)
        """)


def test_a_method_stays_with_its_object() -> None:
    text = """\
        class A:
            @classmethod
            def make(cls, x) -> int:
                y = cls.seen(x)
                return y + 1

            def show(self):
                print(self.name)
                print(1)
        """
    made = extracted(text, "4-4", "look")
    assert (
        "        y = cls.look(x)\n        return y + 1\n\n    @classmethod\n    def look(cls, x):\n" in made
    )
    assert "    def part(self):\n        print(self.name)\n" in extracted(text, "8-8")
    assert extracted(text, "9-9").startswith("def part():\n    print(1)\n\n\nclass A:")


def test_the_end_of_a_function_takes_its_return_along() -> None:
    text = "def f(a) -> int:\n    if a:\n        b = a\n        return b\n    return 0\n"
    assert extracted(text, "3-4").endswith("    if a:\n        return part(a)\n    return 0\n")
    assert extracted(text, "3-4").startswith("def part(a) -> int:\n    b = a\n    return b\n\n\n")


def test_what_awaits_is_awaited() -> None:
    text = "async def f(a):\n    b = await a\n    return b\n"
    assert extracted(text, "2") == (
        "async def part(a):\n    b = await a\n    return b\n\n\n"
        "async def f(a):\n    b = await part(a)\n    return b\n"
    )


def test_a_loop_carries_what_the_next_round_needs() -> None:
    text = "def f(a):\n    n = 0\n    for x in a:\n        print(n)\n        n = x\n"
    assert "        n = part(x)\n" in extracted(text, "5")


@pytest.mark.parametrize(
    ("text", "lines", "why"),
    [
        ("def f():\n    yield 1\n", "2", "a.py:2: a yield belongs to its function."),
        ("def f(a):\n    if a:\n        return 1\n    print(2)\n", "2-4", "a.py:3: a return in the middle"),
        (
            "def f(a):\n    for x in a:\n        if x: break\n",
            "3",
            "a.py:3: the loop of this break is not in these lines.",
        ),
        ("def f(a):\n    for x in a:\n        continue\n", "3", "a.py:3: the loop of this continue"),
        ("def f(a):\n    b = [\n        1]\n", "3", "a.py:3-3 cuts the statement of line 2 in two."),
        ("x = 1\n", "1", "a.py:1-1 is not inside a function."),
        ("def f():\n    print(1)\n\n\n\n", "4-5", "a.py:4-5 holds no whole statements."),
        (
            "def f(a):\n    if a:\n        x = 1\n    print(x)\n",
            "4",
            "a.py:4: x may have no value yet when this line",
        ),
        (
            "def f(a):\n    if a:\n        x = 1\n    print(x)\n",
            "2-3",
            "a.py:3: x may have no value at the end of these",
        ),
        (
            "def f(a):\n    global g\n    g = a\n",
            "3",
            "a.py:3: g is not a variable of this function, but it is set",
        ),
        (
            "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n    return g\n",
            "3-5",
            "a.py:4: an inner function here sets n, a variable of f.",
        ),
        ("def f(a):\n    del a\n", "2", "a.py:2: del a cannot be moved."),
        ("def f(a):\n    return locals()\n", "2", "a.py:2: locals() sees the variables"),
        ("def f(a, b):\n    g = lambda: b\n    b = a\n    return g()\n", "2", "sees b, which changes later."),
        ("part = 1\ndef f(a):\n    print(a)\n", "3", "a.py: part is already a name there."),
        (
            "class A:\n    def f(self, x):\n        x.__y()\n",
            "3",
            "a.py:3: __y is known inside its class only.",
        ),
        ("def f(): a = 1; b = 2\n", "1", "a.py:1-1 is not inside a function."),
    ],
)
def test_it_refuses_what_would_not_be_the_same(text: str, lines: str, why: str) -> None:
    assert why in refusal(lambda: extracted(text, lines))


def extract_anything(path: str, content: bytes, chance: random.Random, name: str) -> bytes:
    """The file with some statements of some function extracted, or as it was when that is refused."""
    bodies = [
        body
        for function in ast.walk(ast.parse(content))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        for part in ("body", "orelse")
        if isinstance(body := getattr(node, part, None), list) and body and isinstance(body[0], ast.stmt)
    ]
    body = chance.choice(bodies)
    start = chance.randrange(len(body))
    first, last = body[start], body[chance.randrange(start, len(body))]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return content  # a docstring
    try:
        done = extract(Codebase.of({path: content}), path, first.lineno, last.end_lineno, name)
    except UsageError:
        return content
    return done.files[path] or b""


@pytest.mark.slow
def test_a_real_project_does_the_same_after_many(tmp_path: Path) -> None:
    """Toolz passes its own tests and examples after dozens of random extractions, one upon the other."""
    shutil.copytree(
        Path(toolz.__file__).parent, tmp_path / "toolz", ignore=shutil.ignore_patterns("__pycache__")
    )
    chance, changed = random.Random(20), 0
    for name in ("itertoolz", "dicttoolz"):
        file = tmp_path / "toolz" / f"{name}.py"
        for number in range(16):
            before = file.read_bytes()
            file.write_bytes(extract_anything(file.name, before, chance, f"part_{number}"))
            changed += file.read_bytes() != before
    assert changed > 20
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--doctest-modules",
    ]
    command += ["toolz/itertoolz.py", "toolz/dicttoolz.py"]
    command += ["toolz/tests/test_itertoolz.py", "toolz/tests/test_dicttoolz.py"]
    quick = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(command, cwd=tmp_path, env=quick, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-2000:]
