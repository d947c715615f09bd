"""Finish what is unanswered, then think: approval, resume and crash recovery follow from it."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kith.core.errors import LimitError
from kith.core.events import Event, Said, ToolBegan
from kith.core.loop import INTERRUPTED, begin_turn, check_args, converse
from kith.core.model import Emit, Prompt, Role, Tool
from kith.core.policy import READ_ONLY, TRIAL, Policy, Rule
from kith.core.run import Limits, Run, Thread
from kith.core.values import Answer, CallTarget, Message, Question, Reply, Text, ToolCall, ToolResult, say
from kith.core.workspace import Workspace
from kith.features.demo.replay import Replay

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Story:
    """A run whose events are kept, with a reading and a writing tool that count their uses."""

    def __init__(self, replies: list[dict[str, Any]], policy: Policy = TRIAL, steps: int = 20) -> None:
        self.events: list[Event] = []
        self.used: list[str] = []
        self.questions: list[Question] = []
        self.answer = Answer("no", "not today")
        tools = (self._tool("look", "read"), self._tool("change", "write"), self._done())
        self.role = Role("worker", "system", Replay("story", replies), tools, policy)
        workspace: Workspace = None  # type: ignore[assignment] # these tools touch no files
        self.run = Run(
            lambda event, path: self.events.append(event), self._ask, workspace, Limits(steps=steps)
        )

    def _tool(self, name: str, effect: Any) -> Tool:
        async def use(args: Mapping[str, Any], run: Run) -> ToolResult:
            self.used.append(f"{name} {args['name']}")
            return ToolResult("", f"{name}: {args['name']}")

        return Tool(name, name, SCHEMA, effect, use, lambda args: CallTarget(str(args["name"])))

    def _done(self) -> Tool:
        async def use(args: Mapping[str, Any], run: Run) -> ToolResult:
            return ToolResult("", "Ended.", detail={"final": True, "summary": args["name"]})

        return Tool("done", "done", SCHEMA, "read", use)

    async def _ask(self, question: Question) -> Answer:
        self.questions.append(question)
        return self.answer

    def play(self, thread: Thread) -> str:
        return asyncio.run(converse(self.run, self.role, thread))


def call(name: str, what: str) -> dict[str, Any]:
    return {"name": name, "args": {"name": what}}


def begun() -> Thread:
    return Thread("t", [say("do it")])


def texts(thread: Thread) -> list[str]:
    return [result.text for message in thread.messages for result in message.results]


def test_it_talks_and_uses_tools_until_it_stops() -> None:
    story = Story([{"calls": [call("look", "a"), call("change", "b")]}, {"text": "finished"}])
    thread = begun()
    assert story.play(thread) == "finished"
    assert story.used == ["look a", "change b"]
    assert [message.role for message in thread.messages] == ["user", "assistant", "tool", "tool", "assistant"]


def test_done_ends_it_with_its_summary() -> None:
    story = Story([{"calls": [call("done", "all good")]}, {"text": "never said"}])
    assert story.play(begun()) == "all good"


def test_a_summary_is_sent_once_and_roles_alternate() -> None:
    story = Story([{"calls": [call("done", "all good")]}, {"text": "and more"}])
    thread, prompts = begun(), list[Prompt]()

    class Heard:
        name = "heard"

        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            prompts.append(prompt)
            return await inner(prompt, emit)

    inner, story.role = story.role.model, replace(story.role, model=Heard())
    assert story.play(thread) == "all good"
    begin_turn(story.run, thread, say("go on"))
    assert story.play(thread) == "and more"
    sent = prompts[-1].messages
    assert "all good" not in "".join(part.text for m in sent for part in (*m.results, m))
    assert [m.role for m in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert thread.messages[3].text == "all good"


def test_every_message_is_logged_before_anything_else_happens() -> None:
    story = Story([{"calls": [call("change", "b")]}, {"text": "ok"}])
    thread = begun()
    story.play(thread)
    logged = [event.message for event in story.events if isinstance(event, Said)]
    assert logged == list(thread.messages[1:])
    kinds = [type(event).__name__ for event in story.events]
    assert kinds.index("Said") < kinds.index("ToolBegan") < kinds.index("ToolEnded")


def test_read_only_is_enforced_by_policy_not_by_words() -> None:
    story = Story([{"calls": [call("change", "b"), call("look", "a")]}, {"text": "ok"}], READ_ONLY)
    thread = begun()
    story.play(thread)
    assert story.used == ["look a"]
    assert "not allowed in read-only mode" in texts(thread)[0]


def test_a_question_is_asked_before_the_tool_runs() -> None:
    asking = Policy("asking", (Rule("write", "*", "ask"),))
    story = Story([{"calls": [call("change", "b")]}, {"text": "ok"}], asking)
    thread = begun()
    story.play(thread)
    assert story.used == [] and [question.asker for question in story.questions] == [story.role.model.name]
    assert "not today" in texts(thread)[0]
    story = Story([{"calls": [call("change", "b")]}, {"text": "ok"}], asking)
    story.answer = Answer("yes")
    story.play(begun())
    assert story.used == ["change b"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"name": "dance", "args": {}}, "There is no tool 'dance'"),
        ({"name": "look", "args": {}}, "argument 'name' is missing"),
        ({"name": "look", "args": {"name": "a", "speed": 3}}, "unknown argument 'speed'"),
        ({"name": "look", "args": {"name": ["a"]}}, "must be string"),
    ],
)
def test_a_wrong_call_is_answered_in_words(asked: dict[str, Any], told: str) -> None:
    story = Story([{"calls": [asked]}, {"text": "ok"}])
    thread = begun()
    story.play(thread)
    assert told in texts(thread)[0]
    assert story.used == []


def test_a_reply_cut_at_the_token_limit_is_never_executed() -> None:
    story = Story(
        [
            {"calls": [call("change", "b")], "stop": "length"},
            {"text": "half", "stop": "length"},
            {"text": "ok"},
        ]
    )
    thread = begun()
    assert story.play(thread) == "ok"
    assert story.used == []
    assert "token limit" in texts(thread)[0]


def test_steps_are_limited() -> None:
    story = Story([{"calls": [call("look", "a")]}] * 5, steps=3)
    with pytest.raises(LimitError, match="3 steps"):
        story.play(begun())


REPLIES = [
    {"calls": [call("look", "a")]},
    {"calls": [call("change", "b"), call("look", "c")]},
    {"text": "thinking aloud", "calls": [call("change", "d")]},
    {"calls": [call("done", "over")]},
]


def whole_story() -> list[Message]:
    story, thread = Story(REPLIES), begun()
    story.play(thread)
    return list(thread.messages)


@pytest.mark.parametrize("cut", range(1, len(whole_story()) + 1))
def test_cut_anywhere_it_resumes_and_nothing_but_reading_runs_twice(cut: int) -> None:
    messages = whole_story()[:cut]
    replies_seen = sum(message.role == "assistant" for message in messages)
    story, thread = Story(REPLIES[replies_seen:]), Thread("t", messages)
    left_over = thread.pending
    assert story.play(thread) == "over"
    for pending in left_over:
        result = next(r for m in thread.messages for r in m.results if r.call_id == pending.id)
        if pending.name == "change":
            assert result.text == INTERRUPTED and not result.ok
        else:
            assert result.ok
    changed_before = [c.args["name"] for m in messages for c in m.calls if c.name == "change"]
    assert not any(f"change {name}" in story.used for name in changed_before)


def test_a_tool_begins_only_after_it_was_logged() -> None:
    story = Story([{"calls": [call("change", "b")]}, {"text": "ok"}])
    story.play(begun())
    assert [event.target for event in story.events if isinstance(event, ToolBegan)] == ["b"]


@given(
    st.dictionaries(
        st.sampled_from(["count", "names", "flag", "mode"]), st.none() | st.integers() | st.text(max_size=5)
    )
)
def test_arguments_are_fitted_or_refused_never_crash(args: dict[str, Any]) -> None:
    schema = {
        "type": "object",
        "properties": {
            "count": {"type": "integer"},
            "names": {"type": "array", "items": {"type": "string"}},
            "flag": {"type": "boolean"},
            "mode": {"type": "string", "enum": ["a", "b"]},
        },
    }
    checked, fault = check_args(args, schema)
    assert fault or set(checked) <= set(args)
    kinds = {"count": int, "names": list, "flag": bool, "mode": str}
    assert all(isinstance(value, kinds[name]) for name, value in checked.items())


def test_a_message_knows_its_text_and_calls() -> None:
    message = Message("assistant", (Text("a"), ToolCall("1", "look", {}), Text("b")))
    assert message.text == "ab" and message.calls[0].id == "1"
