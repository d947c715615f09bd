"""The one fold: whatever happens, and however it comes, the same items."""

import json
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from kith.core.codec import decode_event, encode_event
from kith.core.events import (
    Answered,
    Asked,
    Called,
    Carded,
    Delta,
    Event,
    Forked,
    Notice,
    Options,
    Resumed,
    RunEnded,
    RunStarted,
    Said,
    Stepped,
    ToolBegan,
    ToolEnded,
    is_transient,
)
from kith.core.values import Answer, Message, Question, Spoken, Text, ToolCall, ToolResult, say
from kith.view.items import (
    AskedQuestion,
    Changed,
    ClosingWords,
    CouncilTalk,
    Item,
    Items,
    ModelStep,
    ModelTold,
    Note,
    PersonSpoke,
    RunResult,
    TaskBegun,
    ToolUse,
    WorkPart,
    fold_items,
)
from kith.view.wording import line_of
from played import Told, session, stories

CALL = ToolCall("c1", "read", {"paths": ["a.py"]})
USE = Said("task", Message("assistant", (Text("I look."), CALL), "m"))
RESULT = ToolResult("c1", "x = 1")


def told(*events: Event) -> list[Told]:
    return [(event, ()) for event in events]


def items_of(*events: Event) -> tuple[Item, ...]:
    return fold_items(told(*events))


@given(stories())
def test_changes_tell_all_that_the_fold_holds(story: list[Told]) -> None:
    items, shown = Items(), dict[str, Item]()
    for event, path in story:
        for changed in items.take(event, path):
            carry_out(shown, changed)
    assert shown == items.by_key and list(shown) == list(items.by_key)


def carry_out(shown: dict[str, Item], changed: Changed) -> None:
    """Do what a surface does that draws one change after the other."""
    if changed.step:
        step = shown[changed.step]
        assert isinstance(step, ModelStep)
        tools = tuple(changed.item if each.key == changed.item.key else each for each in step.tools)
        shown[step.key] = ModelStep(
            step.key,
            step.path,
            step.at,
            step.number,
            step.called,
            step.message,
            tools,  # type: ignore[arg-type]
        )
    else:
        assert changed.is_new is (changed.item.key not in shown)
        shown[changed.item.key] = changed.item


@given(stories(), st.data())
def test_a_log_in_any_batches_gives_the_same_items(story: list[Told], data: st.DataObject) -> None:
    stored = [each for each in story if not is_transient(each[0])]
    items, left = Items(), list(enumerate(stored, 1))
    while left:
        size = data.draw(st.integers(1, len(left)))
        for number, (event, path) in left[:size]:
            items.take(decode_event(type(event).__name__, encode_event(event)), path, 0.0, number)
        left = left[size:]
    assert tuple(items.by_key.values()) == fold_items(stored)


@given(stories(), st.data())
def test_a_fold_may_begin_anywhere(story: list[Told], data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(story)))
    assert all(line_of(each) for each in fold_items(story[begin:]))


def test_a_tool_use_is_completed_in_its_step() -> None:
    items = Items()
    for event in (Called("m", "edit", 1), USE):
        items.take(event)
    states: list[tuple[str, str]] = []
    ended = ToolEnded("c1", "read", True, 0.2, "a.py, 1 line")
    answered = Said("task", Message("tool", (RESULT,), "kith"))
    for event in (ToolBegan("c1", "read", "read", "a.py"), ended, answered):
        (changed,) = items.take(event)
        assert isinstance(changed.item, ToolUse) and not changed.is_new and changed.step == "1"
        states.append((changed.item.key, changed.item.state))
    assert states == [("1-0", "running"), ("1-0", "ended"), ("1-0", "answered")]
    (step,) = items.by_key.values()
    assert isinstance(step, ModelStep) and step.number == 1 and step.called and step.message == USE.message
    assert step.tools[0].result == RESULT and step.tools[0].ended == ended and step.tools[0].ok


def test_a_tool_without_a_call_stands_by_itself() -> None:
    (use,) = items_of(ToolBegan("x", "bash", "exec", "ls"), ToolEnded("x", "bash", False, 0.1, "exit 1"))
    assert isinstance(use, ToolUse) and use.key == "1" and use.target == "ls" and use.ok is False


def test_a_call_id_that_comes_again_belongs_to_the_newer_step() -> None:
    first, second = items_of(USE, USE, ToolEnded("c1", "read", True, 0.1))
    assert isinstance(first, ModelStep) and first.tools[0].state == "asked"
    assert isinstance(second, ModelStep) and second.tools[0].state == "ended"


def test_an_answer_completes_its_question() -> None:
    question = Question("q1", "tool", "Allow bash", ("yes", "no"))
    asked, note = items_of(Asked(question), Notice("meanwhile"), Answered("q1", Answer("yes")))
    assert asked == AskedQuestion("1", (), 0.0, question, Answer("yes")) and isinstance(note, Note)
    assert not items_of(Answered("gone", Answer("yes")))


def test_a_task_is_told_from_words_that_steer() -> None:
    task, steering, letter = items_of(
        RunStarted("Fix it", "/p", "m", "1"),
        Said("task", say("# Task\nFix it")),
        Said("task", say("Fix it with tabs")),
        Said("task", say("1 test failed", "tests")),
    )
    assert isinstance(task, TaskBegun) and task.given == say("# Task\nFix it")
    assert isinstance(steering, PersonSpoke) and steering.text == "Fix it with tabs"
    assert isinstance(letter, ModelTold) and letter.message.author == "tests"


def test_a_part_and_its_end_are_one_item() -> None:
    (part,) = items_of(Stepped("plan", "began"), Stepped("plan", "failed", 2.0))
    assert isinstance(part, WorkPart) and part.step == Stepped("plan", "failed", 2.0)


def test_last_words_that_were_said_already_are_known() -> None:
    said = Said("task", Message("assistant", (Text("Done so.\n"),), "m"))
    *_, again = items_of(said, RunEnded("done", "Done so."))
    *_, new = items_of(said, RunEnded("failed", "It broke."))
    assert isinstance(again, RunResult) and again.said
    assert isinstance(new, RunResult) and not new.said


def test_words_of_kith_that_close_a_turn_are_no_step() -> None:
    (words,) = items_of(Said("task", Message("assistant", (Text("(interrupted)"),), "kith")))
    assert isinstance(words, ClosingWords)


def test_a_fork_shows_what_it_has_copied() -> None:
    copied = (Said("task", say("Look")), USE, Said("task", Message("tool", (RESULT,), "kith")))
    begun = RunStarted("Look (fork)", "/p", "", "1", Options(kind="fork"))
    forked = Forked("other", 3, copied, spoken=(Spoken("Look", 0, 500.0),))
    task, step, spoken = items_of(begun, forked, Said("task", say("Go on")))
    assert isinstance(task, TaskBegun) and (task.key, task.at, task.words) == ("2-c1", 500.0, "Look")
    assert isinstance(step, ModelStep) and step.key == "2-c3" and step.tools[0].result == RESULT
    assert isinstance(spoken, PersonSpoke)


def test_what_nobody_needs_to_see_is_no_item() -> None:
    assert not items_of(Resumed(), Carded("d", "m"), Delta("words"))


def test_a_session_has_items_of_nearly_every_kind() -> None:
    kinds = {type(item).__name__ for item in fold_items(session("words"))}
    assert {kind.__name__ for kind in Item.__subclasses__()} - kinds == {
        "ToolUse",
        "ClosingWords",
        "TaskList",
    }


def old(events: Iterable[tuple[str, dict[str, object]]]) -> tuple[Item, ...]:
    return items_of(*(decode_event(kind, json.dumps(body)) for kind, body in events))


def test_logs_of_earlier_versions_give_the_same_items() -> None:
    began = {"kind": "plan", "question": "How?", "members": {"A": "one"}}
    convened = json.loads(encode_event(Said("council/k", say(json.dumps(began), "kith"))))
    question = {"id": "q", "kind": "tool", "text": "Allow bash: make", "choices": ["yes", "no"]}
    started = {"task": "t", "root": "/p", "model": "m", "version": "0.1.0", "options": {"plan": "show"}}
    task, notice, talk, asked, part = old(
        [
            ("RunStarted", started),
            ("Notice", {"text": "Asking m", "level": "info"}),
            ("Said", convened),
            ("Asked", {"question": question}),
            ("Answered", {"question_id": "q", "answer": {"choice": "yes", "by": "a run without a terminal"}}),
            ("Stepped", {"name": "attempt 2", "state": "began", "seconds": 0.0}),
        ]
    )
    assert isinstance(task, TaskBegun) and task.words == "t"
    assert isinstance(notice, Note) and isinstance(notice.event, Notice) and notice.event.topic == "model"
    assert isinstance(talk, CouncilTalk) and talk.council == "k"
    assert isinstance(asked, AskedQuestion) and asked.question.target and asked.question.target.text == "make"
    assert asked.answer and asked.answer.unasked
    assert isinstance(part, WorkPart) and part.step.attempt == 2
