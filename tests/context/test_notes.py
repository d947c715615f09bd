"""Notes and skills as a model is told them: within their room, and found again where they were told."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.context.budget import estimate_tokens
from kith.context.compact import elide, files_shown, summarise
from kith.context.notes import (
    ProjectNote,
    Skill,
    add_notes,
    list_skills,
    part_notes,
    read_skill,
    share_room,
    tell_note,
)
from kith.core.errors import UsageError
from kith.core.values import Message, ToolCall, ToolResult, say

WORDS = st.text(st.sampled_from("abc def\n# é"), max_size=3_000)


@given(st.lists(st.integers(0, 5_000), max_size=6), st.integers(0, 9_000))
def test_room_is_shared_so_that_nobody_starves_while_another_feasts(needs: list[int], room: int) -> None:
    given = share_room(needs, room)
    assert sum(given) <= room and all(0 <= got <= need for got, need in zip(given, needs, strict=True))
    if sum(needs) <= room:
        assert list(given) == needs
    short = [got for got, need in zip(given, needs, strict=True) if got < need]
    assert not short or max(given) <= min(short) + 1


@given(WORDS, st.integers(0, 1_500))
def test_a_note_keeps_within_its_room(text: str, room: int) -> None:
    told = tell_note(ProjectNote("docs/AGENTS.md", text), room)
    assert estimate_tokens(told) <= room
    if estimate_tokens(text) + 60 < room:
        assert text.strip() in told


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
def test_notes_behind_an_answer_are_parted_from_it(answer: str, texts: list[str]) -> None:
    notes = [ProjectNote(f"{'a/' * (n + 1)}AGENTS.md", text) for n, text in enumerate(texts)]
    result = add_notes(ToolResult("1", answer), notes, 50_000)
    assert "".join(part_notes(result)) == result.text
    assert part_notes(result)[0] == answer
    assert files_shown([Message("tool", (result,))]) == tuple(note.path for note in notes)


def test_notes_stay_where_the_answer_is_left_out() -> None:
    call = Message("assistant", (ToolCall("1", "read", {"paths": ["a/x.py"]}),))
    result = add_notes(ToolResult("1", "long\n" * 100), [ProjectNote("a/AGENTS.md", "No globals.")], 500)
    shortened = elide([call, Message("tool", (result,))], 2)[1].results[0].text
    assert shortened.startswith("[result of read") and shortened.endswith("No globals.")


def test_a_summary_names_the_notes_that_it_stands_for() -> None:
    call = Message("assistant", (ToolCall("1", "read", {"paths": ["a/x.py"]}),))
    result = add_notes(ToolResult("1", "x"), [ProjectNote("a/AGENTS.md", "No globals.")], 500)
    words = summarise(
        [say("Do it."), call, Message("tool", (result,))], {"read": "read"}, "So far.", "", 2_000
    )
    assert words.endswith("Notes that hold here, to be read again:\n- a/AGENTS.md")


@pytest.mark.parametrize(
    ("text", "name", "about"),
    [
        ("---\nname: pdf\ndescription: Fill in forms\n---\nDo it.\n", "pdf", "Fill in forms"),
        ("---\ndescription: >\n  Fill in\n  forms\nlicense: MIT\n---\nDo it.", "folder", "Fill in forms"),
        ("\ufeff---\r\ndescription: Use this: always\r\n---\r\nDo it.", "folder", "Use this: always"),
        ("---\nname: \"a.b-c\"\ndescription: 'x'\nmetadata:\n  a: [1]\n---\nDo it.", "a.b-c", "x"),
    ],
)
def test_skills_are_read_as_people_write_them(text: str, name: str, about: str) -> None:
    skill = read_skill(text, "some/folder")
    assert (skill.name, skill.about, skill.words) == (name, about, "Do it.")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Do it.", "should begin with its name"),
        ("---\nname: x\n---\nDo it.", "its description is missing"),
        ("---\ndescription: x\n---\n", "its words are missing"),
        ("---\nname: a b/c\ndescription: x\n---\nDo it.", "is not a name for a skill"),
        ("---\nname: [a\ndescription: x\n---\nDo it.", "is not a name for a skill"),
    ],
)
def test_what_is_no_skill_is_said(text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        read_skill(text, "some/folder")


@given(st.text(max_size=400))
def test_nothing_makes_a_skill_fail_otherwise(text: str) -> None:
    for each in (text, f"---\n{text}\n---\nwords"):
        with suppress(UsageError):
            assert read_skill(each, "folder").words


@given(st.integers(0, 12), st.integers(0, 800))
def test_skills_are_listed_as_far_as_there_is_room(count: int, room: int) -> None:
    skills = [Skill(f"skill-{n}", "does something useful " * 3, "words", "folder") for n in range(count)]
    told = list_skills(skills, room)
    assert estimate_tokens(told) <= room
    if told:
        named = told.count("does something") // 3
        assert named == count or f"- {count - named} more" in told
