"""Tests of the kernel assert on values: a sentence of the product can be improved without touching them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from places import ROOT

WORDED = ("features", "program", "terminal", "view")  # these tests may read what a person reads
_SENTENCE = re.compile(r"[A-Za-z]{2,}( [a-z]{2,}){2}")  # three words or more in a row
# Asserted texts of three words or more that the product writes, by the reason for it. It only gets shorter.
ALLOWED = {
    "a command line is a value": {"kith models pull", "yarn workspaces run test"},
    "a name of a part of the window is a key": {"calls of tools", "checks and hints", "files that you named"},
}


def texts(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and _SENTENCE.search(each.value):
            yield each.value.strip()


def asserted(file: Path) -> set[str]:
    """The texts in `assert` and in `match=`, without the escapes of a pattern."""
    found = set[str]()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Assert):
            found |= set(texts(node.test))
        elif isinstance(node, ast.keyword) and node.arg == "match":
            found |= {text.replace("\\", "") for text in texts(node.value)}
    return found


def test_the_kernels_tests_pin_no_sentence() -> None:
    sources = (file.read_text("utf-8") for file in sorted((ROOT / "src" / "kith").rglob("*.py")))
    written = "\0".join(text for source in sources for text in texts(ast.parse(source)))
    tests = [
        file
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        if (folder := file.relative_to(ROOT / "tests").parts)[0] not in WORDED and len(folder) > 1
    ]
    pinned = {text: file for file in tests for text in asserted(file) if text in written}
    allowed = {text for texts in ALLOWED.values() for text in texts}
    assert {text: str(file) for text, file in pinned.items() if text not in allowed} == {}
    assert allowed <= pinned.keys(), "take these from the list"
