"""Whole files in fences, and the much more frequent prose that must stay prose."""

import pytest

from kith.edits import EditError, Whole, find_edits, make_changes


@pytest.mark.parametrize(
    "above",
    [
        "src/a.py",
        "./src/a.py",
        "**src/a.py**",
        "### `src/a.py`",
        "File: src/a.py",
        "`src/a.py` (new):",
        "1. src/a.py\n",
    ],
)
def test_a_name_directly_above_a_fence_makes_a_file(above: str) -> None:
    assert find_edits(f"Here:\n\n{above}\n```python\nx = 1\n```\nDone.") == (Whole("src/a.py", "x = 1\n"),)


def test_the_fence_may_name_the_file() -> None:
    assert find_edits("```python:src/a.py\nx = 1\n```") == (Whole("src/a.py", "x = 1\n"),)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "No change is needed.",
        "Call it like this:\n```python\nmain()\n```",
        "Change `a.py` so that it prints:\n\n```\nhello\n```",
        "In a.py you write\n```python\nx = 1\n```",
        "Run this to see a.py:\n```bash\ncat a.py\n```",
        "a.py\n```bash\npython a.py\n```",
        "The output of v1.2:\n```\nok\n```",
        "See https://example.org/a.py\n```\nx\n```",
        "a.py says x = 1, and <<<<<<< SEARCH blocks are fine.",
    ],
)
def test_prose_with_samples_holds_no_edits(reply: str) -> None:
    assert find_edits(reply, ["a.py"]) == ()
    assert find_edits(reply, ["a.py"], "length") == ()


def test_a_file_with_fences_in_it_needs_a_longer_fence_or_languages() -> None:
    inner = "# Use\n```sh\nkith\n```\n"
    wanted = (Whole("README.md", inner),)
    assert find_edits(f"README.md\n````\n{inner}````") == wanted
    assert find_edits(f"README.md\n```markdown\n{inner}```") == wanted


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("a.py\n```\nx = 1\n", "not closed"),
        ("a.py\n```\nx\n```\na.py\n```\ny\n```", "given twice"),
        ("a.py\n```\nx = 1\n# ... rest of the code unchanged\n```", "leaves parts out"),
        ("a.js\n```\n// ... existing code ...\n```", "leaves parts out"),
    ],
)
def test_what_would_lose_text_is_refused(reply: str, words: str) -> None:
    with pytest.raises(EditError, match=words):
        find_edits(reply)


def test_a_rewritten_file_keeps_its_mark_its_terminators_and_its_missing_newline() -> None:
    before = b"\xef\xbb\xbfone\r\ntwo\r\nthree"
    (change,) = make_changes([Whole("a.txt", "one\n2\nthree\n")], {"a.txt": before})
    assert change.after == b"\xef\xbb\xbfone\r\n2\r\nthree"


def test_whole_files_that_were_asked_for_may_be_named_in_the_sentence_above() -> None:
    reply = "Here is the new `a.py` for you:\n\n```\nx = 1\n```\nRun it:\n```\npython a.py\n```\n"
    assert find_edits(reply, ["a.py", "b.py"], form="whole") == (Whole("a.py", "x = 1\n"),)
    assert find_edits(reply, ["a.py", "b.py"]) == ()
    alone = "The file is now:\n\n```python\nx = 1\n```\n```bash\npython a.py\n```\n"
    assert find_edits(alone, ["a.py"], form="whole") == (Whole("a.py", "x = 1\n"),)
    assert find_edits(alone.replace("bash", ""), ["a.py"], form="whole") == ()


@pytest.mark.parametrize("named", ["../cart.py", ".git/hooks/pre-commit", "`sub/CODEOWNERS`"])
def test_a_fence_below_a_path_is_never_taken_for_the_file_that_the_reply_is_about(named: str) -> None:
    (edit,) = find_edits(f"{named}\n```\nx\n```\n", {"cart.py"}, form="whole", path="cart.py")
    assert edit.path == named.strip("`")


@pytest.mark.parametrize("words", [("ORIGINAL", "UPDATED"), ("HEAD", "topic"), ("SEARCH:", "REPLACE")])
def test_a_block_with_other_markers_does_not_become_the_file(words: tuple[str, str]) -> None:
    block = f"<<<<<<< {words[0]}\nx = 1\n=======\nx = 2\n>>>>>>> {words[1]}\n"
    with pytest.raises(EditError, match=rf"holds '<<<<<<< {words[0]}'"):
        find_edits(f"a.py\n```python\n{block}```\n", ["a.py"])
    heading = "Title\n=======\n"
    assert find_edits(f"a.md\n```\n{heading}```\n", ["a.md"]) == (Whole("a.md", heading),)
