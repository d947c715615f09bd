"""Edits as tool arguments: JSON, under the names that the tools of other agents have."""

import json
from typing import Any

import pytest

from kith.edits import (
    EditError,
    Hunk,
    Insert,
    Patch,
    Replace,
    ReplaceString,
    Whole,
    find_edits,
    make_changes,
    paths_of,
)

SWAP = ReplaceString("a.py", "x = 1", "x = 2")


def apply(value: Any, content: bytes | None, path: str = "a.py") -> bytes | None:
    edits = find_edits(json.dumps(value), (path,))
    (change,) = make_changes(edits, dict.fromkeys(paths_of(edits), content))
    return change.after


@pytest.mark.parametrize(
    "value",
    [
        {"path": "a.py", "old": "x = 1", "new": "x = 2"},
        {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"},
        {"command": "str_replace", "path": "./a.py", "old_str": "x = 1", "new_str": "x = 2"},
        {"name": "edit", "arguments": {"path": "a.py", "old_text": "x = 1", "new_text": "x = 2"}},
        {"function": {"name": "edit", "arguments": '{"path": "a.py", "old": "x = 1", "new": "x = 2"}'}},
        {"path": "a.py", "edits": [{"oldText": "x = 1", "newText": "x = 2"}]},
        [{"old": "x = 1", "new": "x = 2"}],
    ],
)
def test_a_replacement_under_the_names_of_several_tools(value: Any) -> None:
    assert find_edits(json.dumps(value), ["a.py"]) == (SWAP,)
    assert find_edits(f"```json\n{json.dumps(value, indent=1)}\n```\n", ["a.py"]) == (SWAP,)


def test_a_part_of_a_line_is_replaced_where_it_stands_once() -> None:
    value = {"path": "a.py", "old": "1", "new": "2"}
    assert apply(value, b"x = 1\r\n") == b"x = 2\r\n"
    with pytest.raises(EditError, match=r"\(a\.py\): the text stands there 2 times, at lines 1 and 2"):
        apply(value, b"x = 1\ny = 1\n")
    assert apply(value | {"replace_all": True}, b"x = 1\ny = 1\n") == b"x = 2\ny = 2\n"


def test_a_new_file_needs_no_old_text_and_an_old_file_does() -> None:
    value = {"path": "a.py", "new_text": "x = 1"}
    assert apply(value, None) == b"x = 1"
    with pytest.raises(EditError, match="is empty"):
        apply(value, b"y\n")
    assert find_edits(json.dumps({"file_path": "a.py", "content": "x\n"})) == (Whole("a.py", "x\n"),)


def test_lines_are_put_before_a_line_and_at_the_end() -> None:
    value = {"path": "a.py", "new_text": "new", "insert_line": 2}
    assert find_edits(json.dumps(value)) == (Insert("a.py", 2, "new"),)
    assert apply(value, b"one\r\ntwo") == b"one\r\nnew\r\ntwo"
    assert apply(value | {"insert_line": 3}, b"one\r\ntwo") == b"one\r\ntwo\r\nnew"
    assert apply(value | {"insert_line": 1}, b"\xef\xbb\xbfone\n") == b"\xef\xbb\xbfnew\none\n"
    # Anthropic's tool names the line above.
    assert apply(
        {"command": "insert", "insert_text": "new\n", "path": "a.py", "insert_line": 0}, b"one\n"
    ) == (b"new\none\n")
    with pytest.raises(EditError, match="there is no line 4; the file has 2 lines"):
        apply(value | {"insert_line": 4}, b"one\ntwo\n")


def test_a_patch_may_be_an_argument() -> None:
    block = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n"
    assert find_edits(json.dumps({"path": "a.py", "diff": block})) == (Replace("a.py", "x\n", "y\n"),)
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n"
    assert apply({"name": "apply_patch", "input": patch}, b"x\n") == b"y\n"
    with pytest.raises(EditError, match="no form"):
        find_edits(json.dumps({"path": "a.py", "patch": "do it"}))


def test_chunks_are_hunks_of_one_file() -> None:
    chunks = [
        {"changeContext": "def f():", "oldLines": ["    x"], "newLines": ["    y"], "isEndOfFile": False},
        {"changeContext": None, "oldLines": ["z", ""], "newLines": ["z", "w", ""], "isEndOfFile": True},
    ]
    (edit,) = find_edits(json.dumps(chunks), ["a.py"])
    assert isinstance(edit, Patch)
    assert edit.hunks[0].anchors == ("def f():",)
    assert edit.hunks[1] == Hunk((" z", "+w"), at_end=True)
    assert apply(chunks, b"def f():\n    x\nz\n") == b"def f():\n    y\nz\nw\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"path": "a.py", "old": "x", "new": ', "not JSON that can be read"),
        ('{"path": "a.py", "old": 1, "new": "y"}', "'old' must be text"),
        ('{"path": "a.py", "new": "y", "insert_line": "2"}', "'insert_line' must be a whole number"),
        ('{"old": "x", "new": "y"}', "names no file"),
        ('{"path": "a.py", "old": "x"}', "no new one"),
        ('[{"path": "a.py", "chunks": [{"oldLines": [""], "newLines": [""]}]}]', "neither old nor new"),
        ('{"path": "../a.py", "old": "x", "new": "y"}', "contains '..'"),
        ("[" * 30 + '{"old": "x", "new": "y"}' + "]" * 30, "too deep"),
        ("[" * 100_000 + '"old": ', "not JSON that can be read"),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused(text: str, words: str) -> None:
    with pytest.raises(EditError, match=words):
        paths_of(find_edits(text, form="tool"))


def test_other_json_is_no_edit_and_a_cut_one_is_refused() -> None:
    assert find_edits('{"answer": 42, "path": "a.py"}', ["a.py"]) == ()
    assert find_edits('{"name": "read", "arguments": {"path": "a.py"}}', ["a.py"]) == ()
    with pytest.raises(EditError, match="cut"):
        find_edits('{"path": "a.py", "old": "x', ["a.py"], "length")


def test_a_command_that_creates_a_file_does_not_replace_one() -> None:
    edits = find_edits('{"command": "create", "path": "a.py", "file_text": "x\\n"}')
    assert make_changes(edits, {"a.py": None})[0].after == b"x\n"
    with pytest.raises(EditError, match="exists already"):
        make_changes(edits, {"a.py": b"y\n"})
