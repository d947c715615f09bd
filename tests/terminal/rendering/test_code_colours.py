"""Code is coloured a line at a time, with what an earlier line began kept in mind, and no character lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.terminal.rendering.code import Colours
from kith.terminal.rendering.spans import plain

LANGUAGES = "py c js ts html yaml json sh rust go ruby diff toml sql no".split(" ")  # noqa: SIM905
WORDS = """def f(x): ' " /* */ // # `${x}` <!-- --> <a b='c'> r#" \\ x { } ( ) 0x1f 1.5 return <<EOF EOF é"""
PIECES = st.sampled_from([*WORDS.split(" "), '"""', " ", "    ", "+ a", "- b", "@@ -1 +1 @@"])


@settings(deadline=None, max_examples=25)
@given(st.sampled_from(LANGUAGES), st.lists(st.lists(PIECES, max_size=6).map("".join), max_size=8))
def test_no_character_is_lost(language: str, lines: list[str]) -> None:
    colours = Colours(language)
    assert [plain(colours.take(line)) for line in lines] == lines


def roles(language: str, *lines: str) -> list[set[str]]:
    colours = Colours(language)
    return [{span.role for span in colours.take(line)} for line in lines]


@pytest.mark.parametrize(
    ("language", "lines", "role"),
    [
        ("py", ('"""It begins', "goes on", 'and ends."""'), "code.string"),
        ("c", ("/* It begins", "goes on", "and ends. */"), "code.comment"),
        ("js", ("/* It begins", "goes on", "and ends. */"), "code.comment"),
        ("go", ("/* It begins", "goes on", "and ends. */"), "code.comment"),
        ("html", ("<!-- It begins", "goes on", "and ends. -->"), "code.comment"),
        ("js", ("`It begins", "goes on", "and ends.`"), "code.string"),
    ],
)
def test_what_goes_over_lines(language: str, lines: tuple[str, ...], role: str) -> None:
    assert roles(language, *lines) == [{role}] * len(lines)
    assert roles(language, *lines, "x")[-1] != {role}


def test_a_comments_sign_in_a_string_begins_none() -> None:
    assert "code.comment" not in roles("c", 'char *s = "/*";', "int x;")[1]
    assert roles("c", "// a /* b", "x;")[1] == {"code.text"}
    assert roles("c", "int a; /* b */ int c;", "x;")[1] == {"code.text"}


def test_a_copy_goes_its_own_way() -> None:
    colours = Colours("py")
    colours.take('x = """')
    copy = colours.copy()
    copy.take('"""')
    assert {span.role for span in colours.take("def f(): pass")} == {"code.string"}
    assert "code.keyword" in {span.role for span in copy.take("def f(): pass")}


def test_too_long_a_line_is_not_looked_into() -> None:
    assert roles("py", "x = 1; " * 500) == [{"code.text"}]


@pytest.mark.slow
def test_every_language_of_pygments_can_be_read_line_by_line() -> None:
    from pygments.lexers import get_all_lexers

    for name in (aliases[0] for _, aliases, _, _ in get_all_lexers() if aliases):
        colours = Colours(name)
        for line in WORDS.split(" ") * 2:
            assert plain(colours.take(line)) == line, name
