"""Which names a text uses, whatever the language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.context.outline import find_references

PYTHON = '''\
"""A word in a docstring."""
import os  # a comment's word
value = os.getcwd() + "plain" + r\'raw\' + b"bytes"
print(f"{inner.name!r:>{width}} text", 'other')
broken = "no end
after
'''
CPP = """\
#include "header.h"  // hidden "
/* hidden ' too */ auto first = L"wide"; char c = '"'; int many = 1'000'000;
after(R"(raw)", 'x'); /* no end
swallowed
"""


def test_python_without_strings_and_comments() -> None:
    assert find_references("a.py", PYTHON) == {
        **dict.fromkeys(("import", "value", "getcwd", "print", "inner", "name", "width"), 1),
        **dict.fromkeys(("broken", "after"), 1),
        "os": 2,
    }


def test_cpp_without_strings_and_comments() -> None:
    names = ("include", "auto", "first", "char", "int", "many", "after")
    assert find_references("a.hpp", CPP) == dict.fromkeys(names, 1)


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.js", "const go = 'no' + `yes ${name}`; // no", {"const", "go", "yes", "name"}),
        ("a.rs", "fn run<'life>(x: &'life str) {}", {"fn", "run", "life", "str"}),
        ("a.sh", 'build "$no" # no\nrun', {"build", "run"}),
        ("a.py", "größe = x1 + y", {"größe", "x1"}),
        ("a.py", 'f"""{one}\n{two(three)}"""', {"one", "two", "three"}),
        ("a.py", 'rb"no" + Rf"{yes}"', {"yes"}),
    ],
)
def test_names_of_other_texts(path: str, text: str, names: set[str]) -> None:
    assert set(find_references(path, text)) == names


def test_each_use_counts() -> None:
    assert find_references("a.c", "add(add(add))")["add"] == 3


@given(st.sampled_from(["a.py", "a.cpp", "a.ts", "a.sh"]), st.text("ab'\"#/*\\{}\n fr", max_size=60))
def test_any_text_is_read_to_its_end_and_only_its_names_are_found(path: str, text: str) -> None:
    for name in find_references(path, text):
        assert name in text and name.isidentifier()
    assert find_references(path, text + "\n'''\n\"\"\"\n*/\n") is not None


def test_an_open_string_of_many_kilobytes_takes_no_time() -> None:
    for opening in ('"""', "'", "/*", 'f"{', "#"):
        assert find_references("a.py", opening + "\\x y" * 100_000) is not None
