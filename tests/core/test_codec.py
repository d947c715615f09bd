"""What is written to the log is read back equal, for every kind of event."""

import json
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.core import decisions, events, values
from kith.core.codec import KINDS, decode_event, encode_event
from kith.core.events import Event, Options, RunEnded, RunStarted, is_transient

words = st.text(st.characters(), max_size=20)  # lone surrogates included: file names need not be UTF-8
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**50), 2**50) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(words, json_values, max_size=3)
st.register_type_strategy(float, st.floats(0, 1e6, allow_nan=False))
st.register_type_strategy(str, words)
calls = st.builds(values.ToolCall, words, words, objects, words)
results = st.builds(values.ToolResult, words, words, st.booleans(), objects)
parts = st.builds(values.Text, words) | st.builds(values.Thinking, words, words) | calls | results
messages = st.builds(
    values.Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.lists(parts, max_size=4).map(tuple),
    words,
)
st.register_type_strategy(values.Message, messages)
st.register_type_strategy(values.ToolCall, calls)
st.register_type_strategy(values.ToolResult, results)
st.register_type_strategy(events.Carded, st.builds(events.Carded, words, words, objects))
st.register_type_strategy(
    decisions.Coached,
    st.builds(decisions.Coached, words, words, words, objects, st.sampled_from(["proposed", "adopted"])),
)
st.register_type_strategy(
    decisions.Routed,
    st.builds(
        decisions.Routed,
        words,
        st.lists(words, max_size=2).map(tuple),
        words,
        table=st.lists(objects, max_size=2).map(tuple),
    ),
)


st.register_type_strategy(
    events.RunEnded,
    st.builds(events.RunEnded, st.sampled_from(["done", "failed"]), words, answer=json_values),
)
st.register_type_strategy(
    Options, st.builds(Options, words, schema=st.none() | objects, check=st.lists(words).map(tuple))
)


def with_every_field(kind: type) -> st.SearchStrategy[Any]:
    """Build a struct from a value for each field: Hypothesis cannot call the factory of a default."""
    return st.builds(kind, **{name: st.from_type(hint) for name, hint in get_type_hints(kind).items()})


for each in (events.Locked, events.Judged, events.Reviewed, decisions.Concluded):
    st.register_type_strategy(each, with_every_field)


TOOL_ENDED = {"call_id": "c", "name": "edit", "ok": False, "seconds": 0.1}
JUDGED = {"ok": False, "attempt": 1, "feedback": "Edit 1 (a.py): there is no such file."}


@pytest.mark.parametrize("kind", get_args(Event), ids=lambda kind: kind.__name__)
def test_round_trip(kind: type) -> None:
    @settings(max_examples=settings.default.max_examples // 2)  # there are many kinds
    @given(st.from_type(kind))
    def check(event: Event) -> None:
        text = encode_event(event)
        assert text.isascii()
        assert decode_event(kind.__name__, text) == event

    check()


def test_every_kind_is_known() -> None:
    declared = {
        name
        for module in (events, decisions)
        for name, kind in vars(module).items()
        if isinstance(kind, type) and kind.__module__ == module.__name__
    }
    known = {name for name, kind in KINDS.items() if kind.__module__.startswith("kith.core.")}
    assert declared - {"Options"} == known  # a value of RunStarted


def test_a_field_from_the_future_is_left_out() -> None:
    body = json.dumps({"status": "done", "text": "ok", "mood": "sunny"})
    assert decode_event("RunEnded", body) == RunEnded("done", "ok")


def test_options_of_an_older_log_are_read() -> None:
    told = {"read_only": "yes", "symbols": "no", "goal": "yes", "check": "make\npytest -q", "plan": "show"}
    body = json.dumps({"task": "t", "root": "/p", "model": "m", "version": "0.1.0", "options": told})
    read = Options(plan="show", read_only=True, check=("make", "pytest -q"), goal=True, symbols=False)
    assert decode_event("RunStarted", body) == RunStarted("t", "/p", "m", "0.1.0", read)


@pytest.mark.parametrize(
    ("kind", "body", "field", "meaning"),
    [
        ("Stepped", {"name": "attempt 2", "state": "began"}, "attempt", 2),
        ("Stepped", {"name": "check T1", "state": "began"}, "task", "T1"),
        ("Stepped", {"name": "check T1", "state": "began"}, "kind", "check"),
        ("RunEnded", {"status": "failed", "text": "stopped as hopeless: 40 steps"}, "cause", "hopeless"),
        ("Notice", {"text": "Asking qwen."}, "topic", "model"),
        ("Notice", {"text": "Committed as 123."}, "topic", ""),
        ("Routed", {"kind": "docs", "plan": ["m"], "why": "it failed: gone"}, "cause", "failed"),
        ("ToolEnded", {**TOOL_ENDED, "line": "a.py does not exist."}, "fault", "absent"),
        ("ToolEnded", {**TOOL_ENDED, "line": "This is not allowed in chat mode."}, "fault", "forbidden"),
        ("Judged", {**JUDGED, "gate": "edits"}, "fault", "absent"),
        ("Judged", {**JUDGED, "gate": "tests"}, "fault", ""),
    ],
)
def test_what_only_a_sentence_of_an_older_log_says(
    kind: str, body: dict[str, object], field: str, meaning: object
) -> None:
    assert getattr(decode_event(kind, json.dumps(body)), field) == meaning


@pytest.mark.parametrize(
    ("text", "detail", "fault"),
    [
        ("This was not allowed: the person said no.", {}, "denied"),
        ("edit: argument 'new' is missing", {}, "malformed"),
        ("Not run. You have made exactly this call", {"line": "..."}, "repeated"),
        ("the old text is not in the file", {"line": "..."}, ""),
    ],
)
def test_why_a_tool_of_an_older_log_did_nothing(text: str, detail: dict[str, str], fault: str) -> None:
    result = values.ToolResult("c", text, False, detail)
    told = json.loads(encode_event(events.Said("task", values.Message("tool", (result,)))))
    del told["message"]["parts"][0]["fault"]
    said = decode_event("Said", json.dumps(told))
    assert isinstance(said, events.Said) and said.message.results[0].fault == fault


def test_how_a_council_of_an_older_log_began() -> None:
    told = {"kind": "plan", "question": "How?", "members": {"A": "one"}}
    body = encode_event(events.Said("council/k", values.say(json.dumps(told), "kith")))
    assert decode_event("Said", body) == decisions.Convened("k", "plan", "How?", {"A": "one"})
    member = events.Said("council/k/A", values.say("Well.", "kith"))
    assert decode_event("Said", encode_event(member)) == member


def test_a_kind_from_the_future_is_refused() -> None:
    with pytest.raises(ValueError, match="Danced"):
        decode_event("Danced", "{}")


def test_only_what_is_shown_and_not_stored_is_transient() -> None:
    assert {kind.__name__ for kind in get_args(Event) if getattr(kind, "transient", False)} == {
        "Delta",
        "Progress",
    }
    assert not is_transient(RunEnded("done", ""))
