"""Conversations made shorter: what stays, what goes, and that templates still accept them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kith.context.compact import (
    View,
    ask_for_summary,
    cut,
    elide,
    joints,
    opening,
    shorten,
    show,
    summarise,
)
from kith.core.events import Compacted
from kith.core.values import Message, Text, Thinking, ToolCall, ToolResult, say
from threads import TASK, check_template, closed, lines, step, threads

EFFECTS = {"read": "read", "done": "read", "write": "write", "bash": "exec"}
views = st.builds(
    View,
    st.integers(0, 30),
    st.sampled_from(["", "All is well."]),
    st.integers(0, 30),
    st.integers(0, 30),
    st.sampled_from([0, 200, 1000]),
)


def test_an_old_result_becomes_one_line() -> None:
    messages = (
        say(TASK),
        *step(1, "read", "src/a.py", lines(120)),
        *step(2, "bash", "pytest -q", "exit code 0"),
    )
    shorter = elide(messages, len(messages))
    (result,) = shorter[2].results
    assert result.text == "[result of read src/a.py left out: 120 lines; ask for it again if you need it]"
    assert result.call_id == "c1"
    assert shorter[4] == messages[4]  # nothing is gained by leaving out a short one
    assert not [part for message in shorter for part in message.parts if isinstance(part, Thinking)]
    assert elide(messages, 2)[2] is messages[2]


@settings(max_examples=40)
@given(threads(), st.integers(0, 40))
def test_leaving_out_changes_results_only_and_once(thread: tuple[Message, ...], upto: int) -> None:
    shorter = elide(thread, upto)
    assert elide(shorter, upto) == shorter
    assert [message.role for message in shorter] == [message.role for message in thread]
    assert [message.calls for message in shorter] == [message.calls for message in thread]
    assert shorter[upto:] == thread[upto:]
    for message, before in zip(shorter, thread, strict=True):
        for result, old in zip(message.results, before.results, strict=True):
            assert (result.call_id, result.ok) == (old.call_id, old.ok) and len(result.text) <= len(old.text)
            assert "\n" not in result.text or result.text == old.text


@settings(max_examples=40)
@given(threads(), views, st.data())
def test_templates_accept_every_view(thread: tuple[Message, ...], view: View, data: st.DataObject) -> None:
    thread = closed(thread)
    at = data.draw(st.sampled_from(joints(thread)))
    check_template(show(thread, View(at, view.summary, view.elided, view.held, view.chars)))


@settings(max_examples=40)
@given(threads(), views)
def test_the_task_stays_word_for_word(thread: tuple[Message, ...], view: View) -> None:
    shown = show(thread, view)
    assert shown[0].role == "user" and TASK in shown[0].text
    if not view.chars or not view.held:
        assert shown[0] is thread[0]


@settings(max_examples=40)
@given(threads(), st.data())
def test_a_view_of_a_longer_thread_begins_like_that_of_a_shorter(
    thread: tuple[Message, ...], data: st.DataObject
) -> None:
    known = closed(thread)
    upto = data.draw(st.sampled_from(joints(known)))
    view = View(upto, "Something.", elided=upto, held=len(known), chars=300)
    shorter, longer = show(known, view), show(thread, view)
    assert longer == shorter + thread[len(known) :]


def test_a_summary_follows_the_task_and_leads_over_to_the_rest() -> None:
    thread = (
        say(TASK),
        *step(1, "read", "a.py", "x"),
        Message("assistant", (Text("Mended."),), "m"),
        say("Use tabs, not spaces.", "person"),
        *step(2, "write", "a.py", "Changed a.py."),
    )
    shorter = shorten(thread, 5, "a.py was mended.")
    assert [message.role for message in shorter] == ["user", "assistant", "user", "assistant", "tool"]
    assert shorter[0] is thread[0] and "a.py was mended." in shorter[1].text
    assert "Use tabs, not spaces." in shorter[2].text  # what a person said last is not lost in the summary
    assert shorter[3:] == thread[5:]
    assert shorten(thread, 4, "S")[2:] == thread[4:]  # who speaks next is the person: nothing leads over
    assert shorten(thread, 1, "S") == thread


@settings(max_examples=40)
@given(threads())
def test_a_summary_can_be_asked_for_at_every_joint(thread: tuple[Message, ...]) -> None:
    for at in joints(thread):
        if at >= opening(thread):
            asked = ask_for_summary(thread[:at])
            check_template(asked)
            assert asked[:at] == thread[:at] and asked[-1].role == "user"


def test_a_summary_says_what_is_certain_whatever_the_model_says() -> None:
    thread = (
        say(TASK),
        *step(1, "read", "a.py", "a.py, 3 lines:\nx"),
        *step(2, "write", "a.py", "Changed a.py:7 (+2 -1).\n..."),
        *step(3, "write", "b.py", "b.py does not hold old.", ok=False),
        *step(4, "bash", "pytest -q", "exit code 1\n3 failed"),
        *step(5, "done", "It is mended.", "It is mended."),
        Message("assistant", (Text("Two tests still fail."),), "m"),
        say("Do not touch the tests.", "person"),
    )
    told = summarise(thread, EFFECTS, "I mended it.", "", 3000)  # type: ignore[arg-type]
    assert told.startswith("I mended it.")
    assert "Changed:\n- Changed a.py:7 (+2 -1)." in told
    assert "Ran:\n- pytest -q: exit code 1" in told and "b.py" not in told
    assert told.endswith("Looked at:\n- a.py, 3 lines:"), "the end of a task is nothing that was looked at"
    alone = summarise(thread, EFFECTS, " ", "Before that, I looked around.\nChanged:\n- old", 3000)  # type: ignore[arg-type]
    assert alone.startswith("Before that, I looked around.\nSaid to me:\n- Do not touch the tests.")
    assert "My last words: Two tests still fail." in alone and "- old" not in alone


@settings(max_examples=40)
@given(threads(), st.text(max_size=3000), st.integers(300, 3000))
def test_a_summary_keeps_to_its_length(thread: tuple[Message, ...], words: str, chars: int) -> None:
    assert len(summarise(thread, EFFECTS, words, words, chars)) <= chars + 1  # type: ignore[arg-type]


@settings(max_examples=40)
@given(threads(), st.integers(200, 3000))
def test_no_text_is_longer_than_the_cut_but_what_a_person_said(
    thread: tuple[Message, ...], chars: int
) -> None:
    shorter = cut(thread, len(thread), chars)
    assert cut(shorter, len(shorter), chars) == shorter
    assert all(len(message.text) <= chars for message in shorter if message.author != "person")
    said = [message.text.partition("# Task\n") for message in thread if message.author == "person"]
    kept = [message.text for message in shorter if message.author == "person"]
    assert all(text.endswith(task or words) for text, (words, _, task) in zip(kept, said, strict=True))
    assert all(len(result.text) <= chars for message in shorter for result in message.results)


def test_the_layout_is_cut_before_the_task() -> None:
    task = "do this " * 50
    (shorter,) = cut([say(f"# The project\n{lines(200)}\n\n# Task\n{task}")], 1, 1000)
    assert shorter.text.endswith(f"\n\n# Task\n{task}") and len(shorter.text) <= 1000
    (shorter,) = cut([say(f"# The project\n{lines(200)}\n\n# Task\n{task * 9}")], 1, 1000)
    assert shorter.text == f"# Task\n{task * 9}"


def test_long_arguments_are_cut_too() -> None:
    call = ToolCall("c1", "write", {"path": "a.py", "text": "x" * 5000, "lines": 3})
    (shorter,) = cut([Message("assistant", (call,))], 1, 500)
    (args,) = [dict(each.args) for each in shorter.calls]
    assert (args["path"], args["lines"]) == ("a.py", 3) and len(args["text"]) <= 500


def test_events_of_the_log_make_the_same_view() -> None:
    events = [Compacted("t", 4, "", 9, 5), Compacted("t", 7, "S", 9, 5), Compacted("t", 9, "", 9, 5)]
    view = View()
    for event in events:
        view = view.after(event)
    assert view == View(upto=7, summary="S", elided=9)


def test_a_result_nobody_asked_for_is_left_out_too() -> None:
    (shorter,) = elide([Message("tool", (ToolResult("?", "x" * 300),))], 1)
    assert shorter.results[0].text.startswith("[result of a tool left out: 300 characters")
