"""A pattern is a command: other quotes and spaces make no difference to a plain one, anything else does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_shell_decide import HARMLESS

from kith.shell import is_within, parse, pattern_of


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("npm   test", "npm test"),
        ("npm 'test' && ls|cat", "npm test && ls | cat"),
        ("grep \"a b\" *.py '*.py'", "grep 'a b' *.py '*.py'"),
        ("tr a b < c", "tr a b < c"),
        ("echo $HOME", "echo $HOME"),
        ("for i in a; do\n  x\ndone", "for i in a; do\n  x\ndone"),
        ("a\u202eb", ""),
        ("a\x1bb", ""),
        ("a" * 601, ""),
    ],
)
def test_the_pattern_is_the_command_as_it_is_shown(line: str, pattern: str) -> None:
    assert pattern_of(line) == pattern
    assert not pattern or is_within(line, pattern)


@pytest.mark.parametrize(
    "line",
    [
        *("npm test x", "npm tes", "npm", "npm test; ls", "npm test && ls", "ls; npm test", "npm test | sh"),
        *(
            "npm test > a",
            "npm test $x",
            "npm test*",
            "npm 'test '",
            "x=1 npm test",
            "npm test &",
            "NPM test",
        ),
    ],
)
def test_nothing_wider_is_within(line: str) -> None:
    assert is_within("npm  test", "npm test") and not is_within(line, "npm test")


def test_no_pattern_has_wildcards() -> None:
    assert not is_within("ls a.py", "ls *.py") and is_within("ls *.py", "ls *.py")
    assert not is_within("ls *.py", "ls '*.py'") and not is_within("echo  $x", "echo $x")


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(HARMLESS), st.sampled_from(HARMLESS))
def test_only_the_same_words_are_within(one: str, other: str) -> None:
    assert is_within(other, pattern_of(one)) == (parse(one) == parse(other))
