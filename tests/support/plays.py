"""What the roles of played builds say: tasks, tests and code for toolz (pytest) and pyflakes (unittest)."""

from typing import Any

from building import DONE, Script, edit, tasks, write

INVERT: dict[str, Any] = {
    "id": "1",
    "title": "Add invert to dicttoolz",
    "text": "Add a function `invert(d)` to toolz/dicttoolz.py.",
    "criteria": ["invert({'a': 1}) == {1: 'a'}", "invert({}) == {}"],
    "files": ["toolz/dicttoolz.py"],
}
INVERT_TESTS = """\
from toolz.dicttoolz import invert


def test_invert_swaps_keys_and_values():
    assert invert({"a": 1, "b": 2}) == {1: "a", 2: "b"}


def test_invert_of_nothing():
    assert invert({}) == {}
"""
INVERT_CODE = '''

def invert(d):
    """Swap keys and values."""
    return {value: key for key, value in d.items()}
'''
WRONG_INVERT = INVERT_CODE.replace("{value: key", "{key: value")

TALLY: dict[str, Any] = {
    "id": "tally",
    "title": "Count what pyflakes finds",
    "text": "Add a module pyflakes/tally.py with a function `tally(source)`.",
    "criteria": ["tally('import os') == 1", "tally('x = 1') == 0"],
    "files": ["pyflakes/tally.py"],
}
TALLY_TESTS = """\
import unittest

from pyflakes.tally import tally


class TestTally(unittest.TestCase):
    def test_an_unused_import_counts(self):
        self.assertEqual(tally("import os"), 1)

    def test_good_code_counts_nothing(self):
        self.assertEqual(tally("x = 1"), 0)
"""
TALLY_CODE = '''\
"""Count what pyflakes finds."""

import ast

from pyflakes.checker import Checker


def tally(source):
    """The number of messages for a source text."""
    return len(Checker(ast.parse(source)).messages)
'''
WRONG_TALLY = TALLY_CODE.replace("len(Checker(ast.parse(source)).messages)", "0")

SHOUT: dict[str, Any] = {
    "id": "shout",
    "title": "Say a tally aloud",
    "text": "Add a function `shout(source)` to pyflakes/loud.py, which uses `tally`.",
    "criteria": ["shout('import os') == '1!'"],
    "after": ["tally"],
    "files": ["pyflakes/loud.py"],
}
SHOUT_TESTS = """\
import unittest

from pyflakes.loud import shout


class TestShout(unittest.TestCase):
    def test_a_tally_is_shouted(self):
        self.assertEqual(shout("import os"), "1!")
"""
SHOUT_CODE = '''\
"""Say a tally aloud."""

from pyflakes.tally import tally


def shout(source):
    """The tally, with emphasis."""
    return f"{tally(source)}!"
'''
NOD: dict[str, Any] = {
    "id": "nod",
    "title": "Nod",
    "text": "Add a function `nod()` to pyflakes/nod.py.",
    "criteria": ["nod() == 'yes'"],
    "files": ["pyflakes/nod.py"],
}
NOD_TESTS = """\
import unittest

from pyflakes.nod import nod


class TestNod(unittest.TestCase):
    def test_it_nods(self):
        self.assertEqual(nod(), "yes")
"""
NOD_CODE = 'def nod():\n    """Agree."""\n    return "yes"\n'

TALLY_TEST_FILE = "pyflakes/test/test_tally.py"


def one_task() -> dict[str, Any]:
    """`tally`, written right at once."""
    return {
        "plan": [tasks(TALLY)],
        "tally/specify": [write(TALLY_TEST_FILE, TALLY_TESTS), DONE],
        "tally/implement": [write("pyflakes/tally.py", TALLY_CODE), DONE],
    }


def two_tasks() -> dict[str, Any]:
    """`tally`, which needs a reviewer's word, then `shout`, which needs `tally`; both are refined."""
    return {
        "plan": [tasks(SHOUT, TALLY)],
        "tally/specify": [write(TALLY_TEST_FILE, TALLY_TESTS), DONE],
        "tally/implement": [
            write("pyflakes/tally.py", WRONG_TALLY),
            DONE,
            edit("pyflakes/tally.py", "return 0", "return len(Checker(ast.parse(source)).messages)"),
            DONE,
        ],
        "tally/review/1": ["tally() answers 0 for everything: count the messages of a Checker."],
        "tally/refine": ["It is good as it is."],
        "shout/specify": [write("pyflakes/test/test_loud.py", SHOUT_TESTS), DONE],
        "shout/implement": [write("pyflakes/loud.py", SHOUT_CODE), DONE],
        "shout/refine": [
            edit("pyflakes/loud.py", "The tally, with emphasis.", "The tally, and a sign."),
            DONE,
        ],
    }


def script(**more: Any) -> Script:
    """`one_task`, with other replies; `__` stands for the slash in a conversation's name."""
    return one_task() | {name.replace("__", "/"): replies for name, replies in more.items()}
