"""Documents: one table for a terminal and for Markdown, and foreign names that do nothing in either."""

from kith.view.document import Block, Code, DataTable, markdown, plain_lines

TABLE = DataTable(
    ("file", "commits", "heat", "kind"),
    [(Code("a|b.py"), "1,024", "100%", "source"), ((Code("f"), " in ", Code("c.py:3")), "7", "", "test")],
)


def test_a_terminal_shows_figures_to_the_right_and_names_last() -> None:
    assert list(plain_lines(TABLE)) == [
        "commits  heat  kind    file",
        "  1,024  100%  source  a|b.py",
        "      7        test    f in c.py:3",
    ]


def test_a_long_name_ends_on_a_line_of_its_own() -> None:
    path = "d/" * 30 + "c.py:3"
    table = DataTable(("function", "lines"), [((Code("name"), " in ", Code(path)), "7")])
    assert list(plain_lines(table))[1:] == ["    7  name in", f"       {path}"]


def test_markdown_has_the_same_cells_and_keeps_bars_in_code() -> None:
    assert markdown(TABLE).split("\n") == [
        "| file | commits | heat | kind |",
        "|---|---:|---:|---|",
        "| `a\\|b.py` | 1,024 | 100% | source |",
        "| `f` in `c.py:3` | 7 |  | test |",
    ]


def test_nothing_foreign_acts() -> None:
    parts = ("x\x1b[31m", Block(["y\u202e"]), DataTable(("a", "b"), [("n\nm", "1")]))
    for told in ("\n".join(line for part in parts for line in plain_lines(part)), *map(markdown, parts)):
        assert all(char.isprintable() or char == "\n" for char in told)
    assert list(plain_lines(parts[2])) == ["b  a", "1  n\\nm"]


def test_markdown_has_no_picture_or_code_of_others() -> None:
    assert markdown("![x](http://a/b.png)") == "!\\[x](http://a/b.png)"
    assert markdown("\\[x](y)") == "\\\\\\[x](y)"
    assert markdown((Code("a``<b>"),)) == "```a``<b>```"
