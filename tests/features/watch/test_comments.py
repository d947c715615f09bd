"""AI comments in source text of many languages."""

import pytest

from kith.features.watch.comments import find_comments, question_words, task_words


@pytest.mark.parametrize(
    ("path", "line", "kind", "words"),
    [
        ("a.py", "x = 1  # make it 2 AI!", "do", "make it 2"),
        ("a.py", "# AI! make it 2", "do", "make it 2"),
        ("a.py", "# Implement it. AI!", "do", "Implement it."),
        ("a.py", "# ai! lower case will do", "do", "lower case will do"),
        ("a.py", "# what is this, AI?", "ask", "what is this"),
        ("a.py", "# these lines are meant AI", "note", "these lines are meant"),
        ("a.py", "# AI: these lines are meant", "note", "these lines are meant"),
        ("a.c", "/* fix this AI! */", "do", "fix this"),
        ("a.cpp", "int x; // why? ai?", "ask", "why?"),
        ("a.js", "/** as a class. AI! */", "do", "as a class."),
        ("a.rs", "/// explain AI?", "ask", "explain"),
        ("a.html", "<!-- centre this AI! -->", "do", "centre this"),
        ("a.vue", "{# a button AI! #}", "do", "a button"),
        ("a.md", "<!-- AI! shorter -->", "do", "shorter"),
        ("a.sql", "SELECT 1 -- two AI!", "do", "two"),
        ("a.lua", "-- two AI!", "do", "two"),
        ("a.el", ";; two AI!", "do", "two"),
        ("a.ml", "(* two AI! *)", "do", "two"),
        ("a.tex", "% two AI!", "do", "two"),
        ("Makefile", "\t@echo # two AI!", "do", "two"),
        ("a.unknown", "; two AI!", "do", "two"),
        ("tool", "# two AI!", "do", "two"),
    ],
)
def test_a_comment_is_read(path: str, line: str, kind: str, words: str) -> None:
    (found,) = find_comments(path, f"one\n{line}\n".encode())
    assert (found.line, found.kind, found.words) == (2, kind, words)
    assert found.text and found.text in line


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", "# we love openai!"),
        ("a.py", "# AI models are nice"),
        ("a.py", "# the open-ai! of it"),
        ("a.py", "# said so by an ai"),
        ("a.py", "url = 'https://x#AI!'"),
        ("a.py", "print('AI!')"),
        ("a.c", "url = https://x/AI!"),
        ("a.md", "# Now with AI!"),
        ("a.ipynb", '"# do AI!"'),
        ("a.py", "# AI!!"),
    ],
)
def test_other_text_is_none(path: str, line: str) -> None:
    assert find_comments(path, line.encode()) == ()


def test_a_line_of_many_marks_is_read_in_time() -> None:
    line = "# " * 900 + "AI!"
    assert len(find_comments("a.py", f"{line}\n".encode() * 200)) == 200


def test_tasks_and_questions_name_each_place() -> None:
    source = b"# this one AI\nx = 1\n# twice as much AI!\n# why AI?\n"
    comments = find_comments("a.py", source)
    words = task_words(comments)
    assert words.splitlines()[0] == "twice as much; why"
    assert "- a.py:1: # this one AI\n- a.py:3: # twice as much AI!" in words
    assert "Remove these 3 comments" in words and "Answer each comment that asks" in words
    assert question_words(comments).splitlines()[0] == "why"
