"""Docstrings and long comments: their lines after the first."""

from kith.context.explanations import find_explanations

PYTHON = '''"""A module.

It does things.
"""


class Cache:
    """
    Keeps things.

    For long.
    """

    SQL = """
    select
    """

    # one
    # two
    # three
    def get(self):
        """Short."""

    # one
    # two
    # three
    # four
    async def put(self):
        """Put.

        More.
        """
        return 1
'''


def found(path: str, text: str) -> list[str]:
    lines = text.split("\n")
    return [lines[number - 1].strip() for number in sorted(find_explanations(path, lines))]


def test_of_python_docstrings_and_long_comments_the_first_line_stays() -> None:
    assert found("a.py", PYTHON) == [
        *("", "It does things.", '"""'),
        *("", "For long.", '"""'),
        *("# two", "# three", "# four"),
        *("", "More.", '"""'),
    ]


def test_docstrings_are_found_in_text_that_python_refuses() -> None:
    assert found("a.py", "def f(:\n    '''A\n    B\n    '''\n") == ["B", "'''"]
    assert found("a.py", 'def f(\n    a,\n) -> None:  # b\n    r"""A\n    B"""\n') == ['B"""']


def test_other_strings_are_no_explanation() -> None:
    assert not found("a.py", 'x = {"a":\n"""1\n2\n3"""}\nrun(\n"""1\n2"""\n)\n')
    assert not found("a.txt", '"""A\nB\n"""\n')


def test_comments_of_other_languages() -> None:
    block = "/**\n * Adds.\n *\n * @param a\n */\nint add(int a);\n"
    assert found("a.cpp", block) == ["*", "* @param a", "*/"]
    assert found("a.c", "/* Adds.\n   One\n\n   two. */\nint a;\n") == ["One", "", "two. */"]
    assert found("a.rs", "/// A.\n/// B.\n/// C.\n/// D.\nfn add() {}\n/// E.\n") == [
        "/// B.",
        "/// C.",
        "/// D.",
    ]
    assert not found("a.c", "#include <a.h>\n#include <b.h>\n#define C 1\n#ifdef D\n#endif\n")
    assert not found("a.c", "*a = 1;\n*b = 2;\n*c = 3;\n*d = 4;\n--e;\n--f;\n--g;\n--h;\n")
