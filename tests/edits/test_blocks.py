"""Search/replace blocks in the dialects that models know."""

import pytest

from kith.edits import EditError, Replace, find_edits, make_changes

BLOCK = "<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\n"
WANTED = (Replace("src/a.py", "two\n", "TWO\n"),)


@pytest.mark.parametrize(
    "reply",
    [
        f"Here it is:\n\nsrc/a.py\n```python\n{BLOCK}```\nDone.",
        f"```python\nsrc/a.py\n{BLOCK}```",
        f"src/a.py\n{BLOCK}",
        f"### `src/a.py`:\n\n```\n{BLOCK}```",
        f"**src/a.py**\n<source>python\n{BLOCK}</source>",
        f'<edit path="src/a.py">\n{BLOCK}</edit>',
        f"```python:src/a.py\n{BLOCK}```",
        f"1. First:\n\n   src/a.py\n   ```\n   {BLOCK.replace(chr(10), chr(10) + '   ').rstrip()}\n   ```",
        f"src/a.py\n{BLOCK}".replace("\n", "\r\n"),
    ],
)
def test_the_name_stands_above_the_block_or_in_its_fence(reply: str) -> None:
    assert find_edits(reply) == WANTED


def test_a_later_block_without_a_name_belongs_to_the_same_file() -> None:
    reply = f"a.py\n```\n{BLOCK}\n{BLOCK.replace('two', 'three')}```\n"
    assert [edit.path for edit in find_edits(reply)] == ["a.py", "a.py"]


def test_a_block_without_any_name_means_the_only_known_file() -> None:
    assert find_edits(BLOCK, ["only.txt"]) == (Replace("only.txt", "two\n", "TWO\n"),)
    with pytest.raises(EditError, match="'two' names no file"):
        find_edits(BLOCK, ["one.txt", "other.txt"])


def test_a_bare_name_means_the_one_known_file_that_ends_so() -> None:
    assert find_edits(f"a.py\n{BLOCK}", ["src/a.py", "b.py"]) == WANTED
    assert find_edits(f"a.py\n{BLOCK}", ["src/a.py", "lib/a.py"])[0].path == "a.py"
    assert find_edits(f"src\\a.py\n{BLOCK}", ["src/a.py"]) == WANTED


def test_cline_writes_dashes_and_pluses() -> None:
    reply = "------- SEARCH\ntwo\n=======\nTWO\n+++++++ REPLACE\n"
    assert find_edits(reply, ["src/a.py"]) == WANTED


def test_roo_names_the_line_and_escapes_markers() -> None:
    upper = "<<<<<<< SEARCH\n:start_line:7\n-------\n\\=======\n"
    reply = f"a.md\n{upper}=======\n\\>>>>>>> REPLACE\n>>>>>>> REPLACE\n"
    assert find_edits(reply) == (Replace("a.md", "=======\n", ">>>>>>> REPLACE\n", 7),)


def test_copied_line_numbers_are_taken_off_and_name_the_line() -> None:
    numbered = (
        "a.py\n<<<<<<< SEARCH\n 9 | if x:\n10 |     y\n=======\n 9 | if x:\n10 |     z\n>>>>>>> REPLACE"
    )
    assert find_edits(numbered) == (Replace("a.py", "if x:\n    y\n", "if x:\n    z\n", 9),)
    some = "a.py\n<<<<<<< SEARCH\n3 | if x:\n    y\n5 | else:\n=======\nif z:\n>>>>>>> REPLACE"
    assert find_edits(some) == (Replace("a.py", "if x:\n    y\nelse:\n", "if z:\n", 3),)
    table = "a.py\n<<<<<<< SEARCH\n1 | x\n5 | y\n=======\n1 | x\n>>>>>>> REPLACE"
    assert find_edits(table) == (Replace("a.py", "1 | x\n5 | y\n", "1 | x\n"),)


def test_an_empty_upper_half_is_a_new_file() -> None:
    assert find_edits("new.py\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE") == (
        Replace("new.py", "", "x = 1\n"),
    )


def test_a_second_divider_that_closes_the_lower_half_is_forgiven_in_code_only() -> None:
    reply = "NAME\n<<<<<<< SEARCH\nx\n=======\nTitle\n=======\n>>>>>>> REPLACE"
    assert find_edits(reply.replace("NAME", "a.py")) == (Replace("a.py", "x\n", "Title\n"),)
    with pytest.raises(EditError, match="'=======' line"):
        find_edits(reply.replace("NAME", "a.md"))


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("a.py\n<<<<<<< SEARCH\ntwo\n=======\nTWO\n", "has no closing '>>>>>>> REPLACE' line"),
        ("a.py\n<<<<<<< SEARCH\ntwo\n>>>>>>> REPLACE\n", "for a.py has no '=======' line"),
        ("a.py\n<<<<<<<SEARCH\ntwo\n=======\n>>>>>>> REPLACE\n", "write '<<<<<<< SEARCH'"),
        ("a.py\n------- SEARCH\ntwo\n======= \nx\n+++++++ REPLACE\n", "no '=======' line"),
    ],
)
def test_a_broken_block_is_refused(reply: str, words: str) -> None:
    with pytest.raises(EditError, match=words):
        find_edits(reply)


def test_a_block_may_be_closed_by_a_divider_right_above_the_fence() -> None:
    broken = BLOCK.replace(">>>>>>> REPLACE", "=======")
    assert find_edits(f"src/a.py\n```python\n{broken}```\n\nsrc/a.py\n```\n{BLOCK}```") == WANTED * 2
    with pytest.raises(EditError):
        find_edits(f"src/a.md\n```\n{broken}```\n")


def test_a_line_that_is_a_known_name_names_the_file_whatever_it_looks_like() -> None:
    assert find_edits(f"a.py\n<source>x\n{BLOCK}", ["<source>x"])[0].path == "<source>x"


def test_a_name_that_was_said_beside_the_reply_wins_over_unknown_ones() -> None:
    assert find_edits(f"x.ts\n{BLOCK}", ["src/a.py", "b.py"], path="src/a.py") == WANTED
    assert find_edits(f"b.py\n{BLOCK}", ["src/a.py", "b.py"], path="src/a.py")[0].path == "b.py"
    with pytest.raises(EditError, match=r"contains '\.\.'"):
        find_edits(f"../x.ts\n{BLOCK}", ["src/a.py"], path="src/a.py")


def test_an_empty_upper_half_with_a_line_is_put_there() -> None:
    block = "a.py\n<<<<<<< SEARCH\n:start_line:2\n-------\n=======\nnew\n>>>>>>> REPLACE\n"
    (change,) = make_changes(find_edits(block), {"a.py": b"one\ntwo\n"})
    assert change.after == b"one\nnew\ntwo\n"


def test_copied_line_numbers_choose_between_equal_places() -> None:
    block = "a.py\n<<<<<<< SEARCH\n3 | x = 1\n=======\n3 | x = 2\n>>>>>>> REPLACE\n"
    (change,) = make_changes(find_edits(block), {"a.py": b"x = 1\ny\nx = 1\n"})
    assert change.after == b"x = 1\ny\nx = 2\n"


def test_lines_to_put_into_the_middle_of_a_file_make_no_new_one() -> None:
    block = "b.py\n<<<<<<< SEARCH\n:start_line:7\n-------\n=======\nx = 1\n>>>>>>> REPLACE\n"
    with pytest.raises(EditError) as caught:
        make_changes(find_edits(block), {"b.py": None})
    assert caught.value.absent


def test_the_folder_of_the_examples_in_prompts_is_none() -> None:
    assert find_edits(f"path/to/a.py\n{BLOCK}", ["a.py", "b.py"])[0].path == "a.py"
    assert find_edits(f"path/to/a.py\n{BLOCK}", ["a.py", "path/to/b.py"])[0].path == "path/to/a.py"
    assert find_edits("path/to/a.py\n```\nx\n```\n", ["a.py", "b.py"])[0].path == "a.py"
