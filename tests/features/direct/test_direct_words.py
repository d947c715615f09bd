"""Plain wordings of edits that need no model, and requests that only look like one."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kith.features.direct.edits import (
    AppendText,
    DeleteFile,
    DeleteLines,
    DeleteMatching,
    DeleteText,
    Direct,
    InsertAtLine,
    InsertText,
    PrependText,
    RenameFile,
    RenameSymbol,
    ReplaceText,
)
from kith.features.direct.words import describe, nearest_form, parse_direct

X = ("x.txt",)
A_TO_B = ReplaceText("a", "b", X)
PHRASINGS: list[tuple[str, Direct]] = [
    # replace
    ('replace "a" with "b" in x.txt', A_TO_B),
    ("REPLACE 'a' With 'b' IN x.txt.", A_TO_B),
    ("Please replace `a` with `b` in x.txt", A_TO_B),
    ("Could you replace “a” by “b” in x.txt, please?", A_TO_B),
    ('can you please replace every "a" with "b" in x.txt', A_TO_B),
    ('replace all occurrences of "a" with "b" in x.txt', A_TO_B),
    ('replace every occurrence of "a" in x.txt with "b"', A_TO_B),
    ('replace each instance of the word "a" with the word "b" in the file x.txt', A_TO_B),
    ('replace the string "a" with "b" inside x.txt', A_TO_B),
    ('In x.txt, replace "a" with "b"', A_TO_B),
    ('in x.txt: change "a" to "b"', A_TO_B),
    ('in the file x.txt please change "a" into "b"', A_TO_B),
    ('within x.txt replace "a" by "b".', A_TO_B),
    ('change "a" to "b" in x.txt', A_TO_B),
    ('Change all "a" to "b" in x.txt!', A_TO_B),
    ('change the text "a" in x.txt to "b"', A_TO_B),
    ('turn "a" into "b" in x.txt', A_TO_B),
    ('convert "a" to "b" in x.txt', A_TO_B),
    ('swap "a" with "b" in x.txt', A_TO_B),
    ('substitute "b" for "a" in x.txt', A_TO_B),
    ('substitute "a" with "b" in x.txt', A_TO_B),
    ('use "b" instead of "a" in x.txt', A_TO_B),
    ('write "b" in place of "a" in x.txt', A_TO_B),
    ('instead of "a" use "b" in x.txt', A_TO_B),
    ('"a" should be "b" in x.txt', A_TO_B),
    ('"a" -> "b" in x.txt', A_TO_B),
    ('replace "a" → "b" in x.txt', A_TO_B),
    ('correct "teh" to "the" in README.md', ReplaceText("teh", "the", ("README.md",))),
    ('update "1.2.3" to "1.2.4" in pyproject.toml', ReplaceText("1.2.3", "1.2.4", ("pyproject.toml",))),
    ("replace 8080 with 9090 in config.toml", ReplaceText("8080", "9090", ("config.toml",))),
    ("change 8080 to 9090 in config.toml", ReplaceText("8080", "9090", ("config.toml",))),
    ("replace old_name with new_name in docs/api.md", ReplaceText("old_name", "new_name", ("docs/api.md",))),
    ("change v1.2 to v1.3 in README.md", ReplaceText("v1.2", "v1.3", ("README.md",))),
    ('replace "a" with "b" in x.txt and y.txt', ReplaceText("a", "b", ("x.txt", "y.txt"))),
    ('replace "a" with "b" in x.txt, y.txt, and z.txt', ReplaceText("a", "b", ("x.txt", "y.txt", "z.txt"))),
    ('in x.txt and y.txt, replace "a" with "b"', ReplaceText("a", "b", ("x.txt", "y.txt"))),
    ('replace "a" with "b" in src/**/*.py', ReplaceText("a", "b", ("src/**/*.py",))),
    ('replace "a" with "b" in all *.md files', ReplaceText("a", "b", ("*.md",))),
    ('replace "a" with "b" everywhere', ReplaceText("a", "b", ("**",))),
    ('replace "a" with "b" in all files', ReplaceText("a", "b", ("**",))),
    ('replace "a" with "b" across the whole project', ReplaceText("a", "b", ("**",))),
    (
        'change "http://a" to "https://a" throughout the repository',
        ReplaceText("http://a", "https://a", ("**",)),
    ),
    (r'replace the regex "v\d+" with "v2" in x.txt', ReplaceText(r"v\d+", "v2", X, regex=True)),
    (
        r'replace the regular expression "(\w+)!" by "\\1" in x.txt',
        ReplaceText(r"(\w+)!", r"\1", X, regex=True),
    ),
    (r'replace every pattern "a+" with "b" in x.txt', ReplaceText("a+", "b", X, regex=True)),
    (r"s/a+/b/g in x.txt", ReplaceText("a+", "b", X, regex=True)),
    ('replace "a" with "" in x.txt', ReplaceText("a", "", X)),
    (r'replace "a\nb" with "c" in x.txt', ReplaceText("a\nb", "c", X)),
    ("I'd like you to replace 'a' with 'b' in x.txt", A_TO_B),
    ('now replace "a" with "b" in Makefile', ReplaceText("a", "b", ("Makefile",))),
    # append and prepend
    ('append "x" to notes.md', AppendText("x", ("notes.md",))),
    ('please append the line "x" to the file notes.md', AppendText("x", ("notes.md",))),
    ('append "x" to the end of notes.md', AppendText("x", ("notes.md",))),
    ('add "x" to the end of notes.md', AppendText("x", ("notes.md",))),
    ('add "x" at the bottom of notes.md', AppendText("x", ("notes.md",))),
    ('put "x" at the end of notes.md', AppendText("x", ("notes.md",))),
    ('add a new line "x" at the end of app.py', AppendText("x", ("app.py",))),
    ('in notes.md, add "x" at the end', AppendText("x", ("notes.md",))),
    ('add "*.log" to .gitignore', AppendText("*.log", (".gitignore",))),
    ('add "requests" to requirements.txt', AppendText("requests", ("requirements.txt",))),
    ('append to notes.md: "x"', AppendText("x", ("notes.md",))),
    ('append "x" to a.md and b.md', AppendText("x", ("a.md", "b.md"))),
    ('prepend "x" to notes.md', PrependText("x", ("notes.md",))),
    ('add "x" at the top of notes.md', PrependText("x", ("notes.md",))),
    ('insert "x" at the beginning of notes.md', PrependText("x", ("notes.md",))),
    ('put "# Title" at the very top of README.md', PrependText("# Title", ("README.md",))),
    ('add the line "import os" to the top of app.py', PrependText("import os", ("app.py",))),
    # insert
    ('insert "x" before "y" in a.py', InsertText("x", "y", True, "a.py")),
    ('insert "x" after "y" in a.py', InsertText("x", "y", False, "a.py")),
    ('insert the line "x" right after the line "y" in a.py', InsertText("x", "y", False, "a.py")),
    ('add "x" above "y" in a.py', InsertText("x", "y", True, "a.py")),
    ('put "x" below "y" in a.py', InsertText("x", "y", False, "a.py")),
    ('in a.py insert "x" before "y"', InsertText("x", "y", True, "a.py")),
    ('in a.py, add "x" under "y"', InsertText("x", "y", False, "a.py")),
    ('insert "x" in a.py after "y"', InsertText("x", "y", False, "a.py")),
    ('before "y" in a.py insert "x"', InsertText("x", "y", True, "a.py")),
    ('insert "x" at line 3 of a.py', InsertAtLine("x", 3, True, "a.py")),
    ('insert "x" before line 3 in a.py', InsertAtLine("x", 3, True, "a.py")),
    ('add "x" after line 3 in a.py', InsertAtLine("x", 3, False, "a.py")),
    ('in a.py, insert "x" at line 3', InsertAtLine("x", 3, True, "a.py")),
    ('insert "x" in a.py at line 3', InsertAtLine("x", 3, True, "a.py")),
    # delete
    ('delete "a" from x.txt', DeleteText("a", X)),
    ('remove "a" in x.txt', DeleteText("a", X)),
    ('please remove all occurrences of "a" from x.txt', DeleteText("a", X)),
    ('in x.txt, delete every "a"', DeleteText("a", X)),
    ('get rid of "a" in x.txt', DeleteText("a", X)),
    ("remove old_name from x.txt", DeleteText("old_name", X)),
    (r'delete the regex "\s+$" in x.txt', DeleteText(r"\s+$", X, regex=True)),
    ("delete line 3 of x.txt", DeleteLines(3, 3, "x.txt")),
    ("remove lines 3-5 from x.txt", DeleteLines(3, 5, "x.txt")),
    ("delete lines 3 to 5 in x.txt", DeleteLines(3, 5, "x.txt")),
    ('delete all lines containing "a" from x.txt', DeleteMatching("a", X)),
    ('remove every line that contains "a" in x.txt', DeleteMatching("a", X)),
    ("delete the file old/notes.md", DeleteFile("old/notes.md")),
    # rename
    ("rename greet to salute", RenameSymbol("greet", "salute")),
    ("Rename `greet` to “salute”.", RenameSymbol("greet", "salute")),
    ("please rename the function greet to salute", RenameSymbol("greet", "salute")),
    ("rename greet() to salute() everywhere", RenameSymbol("greet", "salute")),
    ("rename class Foo to Bar across the project", RenameSymbol("Foo", "Bar")),
    ("rename Class.method to run", RenameSymbol("Class.method", "run")),
    ("rename greet -> salute", RenameSymbol("greet", "salute")),
    ("change the name of the function greet to salute", RenameSymbol("greet", "salute")),
    ("rename notes.md to docs/notes.md", RenameFile("notes.md", "docs/notes.md")),
    ("move notes.md to docs/", RenameFile("notes.md", "docs/")),
    ("rename the file LICENSE to COPYING", RenameFile("LICENSE", "COPYING")),
]

NO_EDITS = [
    "",
    "fix the failing test",
    "rename it to salute",
    "rename greet to salute and update the docs",
    "rename greet to a-b",
    "rename function greet to salute in app.py only",
    "replace tabs with spaces in x.txt",
    "replace the parser with a faster one in parser.py",
    "replace every print with logging in app.py",
    'replace "foo" with a constant in a.py',
    'replace "a” with "b" in x.txt',
    'replace "a" with "b" in x.txt. Then run the tests.',
    'replace "a" with "b" in x.txt, but not in comments',
    'replace "a" with "b"',
    "change timeout to 30 in config.py",
    "change the default of retries to 5 in client.py",
    "add a test to test_x.py",
    'add "verbose" option to cli.py',
    'add "import os" to app.py',
    "add 3 tests to test_x.py",
    "append the results to the list in a.py",
    'append "x" to the list in a.py',
    "insert a check before the call in a.py",
    'insert "x" near "y" in a.py',
    "delete the unused imports from a.py",
    "remove the cache from server.py",
    "delete build",
    'make "a" bold in x.html',
    "in x.txt, fix the typos",
    "move the helper to utils.py",
    "why does app.py print twice?",
    'use "b" in x.txt',
]


@pytest.mark.parametrize(("task", "direct"), PHRASINGS, ids=[task for task, _ in PHRASINGS])
def test_plain_wording_is_understood(task: str, direct: Direct) -> None:
    assert parse_direct(task) == direct


def test_phrasings_are_a_hundred() -> None:
    assert len({task for task, _ in PHRASINGS}) >= 100 and len(NO_EDITS) >= 20


@pytest.mark.parametrize("task", NO_EDITS)
def test_what_only_looks_like_an_edit_is_for_a_model(task: str) -> None:
    assert parse_direct(task) is None


@pytest.mark.parametrize("direct", [direct for _, direct in PHRASINGS], ids=[task for task, _ in PHRASINGS])
def test_canonical_form_reads_as_itself(direct: Direct) -> None:
    assert parse_direct(describe(direct)) == direct


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1, max_size=20)


@given(TEXT, TEXT)
def test_canonical_form_keeps_any_text(old: str, new: str) -> None:
    direct = ReplaceText(old, new, ("x.txt",))
    assert parse_direct(describe(direct)) == direct


WORDS = (
    "replace append insert delete rename the with in to before after all a file please x.py line 3 every of "
    'occurrence "x" and , regex string add end top change'
)


@given(
    st.lists(st.sampled_from([*WORDS.split(), " " * 1_500, "\n" * 1_500]), max_size=60).map(" ".join)
    | st.text(max_size=200)
)
@example("replace" + " " * 3_900 + "x")
@example("s/a/b/" + " " * 3_900 + "x")
@example("in x.py" + " " * 3_900 + 'replace "a"')
def test_reading_never_hangs_and_never_fails(task: str) -> None:
    parse_direct(task)


@pytest.mark.parametrize(
    ("task", "form"),
    [
        ("replace tabs with spaces in x.txt", 'replace "OLD" with "NEW" in FILE'),
        ("please add a line to notes.md", 'append "TEXT" to FILE'),
        ("remove the cache", 'delete "TEXT" from FILE'),
        ("fix the failing test", ""),
        ("address the review", ""),
    ],
)
def test_nearest_form_is_offered_to_follow(task: str, form: str) -> None:
    assert nearest_form(task) == form
