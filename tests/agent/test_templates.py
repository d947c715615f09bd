"""A template becomes a task, and what does not fit is refused in one sentence."""

from pathlib import Path

import pytest

from kith.agent.templates import fill, fill_template, list_templates, read_template
from kith.core.errors import UsageError

TEXT = """---
about: mend something
command: run
what: text, what is broken
where: path?
way: quick|careful = careful
times: number = 2
---
Mend {what}.
Look at {where}.
Be {way}, {times} times.
"""


def filled(*words: str) -> str:
    return fill(read_template("mend", TEXT), words, lambda path: path == "src", lambda path: f"<{path}>")


def test_blanks_are_filled_and_lines_without_a_value_go() -> None:
    assert filled("what=it") == "Mend it.\nBe careful, 2 times."
    assert filled("what=it", "where=src", "way=quick") == "Mend it.\nLook at src.\nBe quick, 2 times."


def test_a_text_may_stand_in_a_file() -> None:
    assert filled("what=@log.txt").startswith("Mend <log.txt>.")


def test_a_value_that_holds_a_blank_is_left_as_it_is() -> None:
    assert filled("what={way} or {nothing}").startswith("Mend {way} or {nothing}.")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "Template mend needs what=... (text, or @FILE for what a file holds: what is broken)."),
        (("what=a", "wher=src"), "Template mend has no parameter 'wher'; did you mean where?"),
        (("what=a", "where=lib"), "where must be a file or folder of the project, not 'lib'."),
        (("what=a", "way=slow"), "way must be one of quick, careful, not 'slow'."),
        (("what=a", "times=x"), "times must be a whole number, not 'x'."),
        (("it",), "Template mend takes what=..., where=..., way=..., times=..., not 'it'."),
    ],
)
def test_what_does_not_fit_is_said(words: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(UsageError) as error:
        filled(*words)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Mend it.", "mine.md: it should begin with about, command between two lines of ---."),
        ("---\nabout: a\n---\nb", "mine.md: 'command' is missing."),
        ("---\nabout: a\ncommand: fly\n---\nb", "mine.md, line 3: command is run or build."),
        (
            "---\nabout: a\ncommand: run\n---\n{b}",
            "mine.md: the text uses {b}, which is not a parameter.",
        ),
    ],
)
def test_a_template_that_is_not_well_written_names_the_line(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as error:
        read_template("mine", text)
    assert str(error.value) == sentence


def test_every_shipped_template_can_be_read(home: Path) -> None:
    assert [each.name for each in list_templates()] == [
        *("bugfix", "coverage", "endpoint", "option", "port", "upgrade")
    ]


def test_one_of_the_users_own_takes_the_place_of_kiths(home: Path, tmp_path: Path) -> None:
    folder = home / ".config/kith/templates"
    folder.mkdir(parents=True)
    (folder / "bugfix.md").write_text("---\nabout: mine\ncommand: run\nbug: text\n---\nMy way: {bug}\n")
    assert fill_template("bugfix", ["bug=it crashes"], tmp_path) == "My way: it crashes"


def test_a_path_outside_of_the_project_is_none_of_it(home: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the project"):
        fill_template("coverage", ["path=../.."], tmp_path)
