"""The ladder: calls that land on each rung, steps down, what is remembered, and what the server sees."""

import asyncio
import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from counting import count_tokens
from kith.core.errors import ModelError
from kith.core.events import Carded, Delta, Event, Notice
from kith.core.loop import CUT, converse
from kith.core.model import Emit, Prompt, Role, Tool
from kith.core.policy import TRIAL
from kith.core.run import Run, Thread
from kith.core.values import Message, Reply, Sampling, Text, Thinking, ToolCall, ToolResult, say
from kith.features.demo.standin import Server, serve
from kith.models.dialects.own_dialect import as_spoken, describe_tools, write_call
from kith.models.dialects.read import shape_of
from kith.models.providers.faults import GarbledReplyError, UnsupportedError
from kith.models.providers.ollama import Ollama
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from kith.models.wrappers.tool_calling import Ladder, Rung, ask_on
from kith.tools import standard_tools

TOOLS = standard_tools(powershell="")
PROMPT = Prompt("Be brief.", (say("List the files."),), TOOLS, thread="main")
HERMES = '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'
CHOICE = '{"name": "bash", "arguments": {"command": "ls"}}'
RAW = "<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>"
BROKEN = '<tool_call>\n{"name": "bash", "arguments": {"command": "l'
LS = ("bash", {"command": "ls"})

NO_TOOLS = UnsupportedError("fake does not support tools", "tools")
NO_SHAPE = UnsupportedError("fake knows no response_format", "shape")
GARBLED = GarbledReplyError("fake could not read the model's tool call", retryable=True)


def native(name: str = "bash", fault: str = "", **args: Any) -> Message:
    return Message("assistant", (ToolCall("c1", name, args, fault),), "fake")


class Scripted:
    """Answers with these texts, messages, replies or errors in turn, each text in two pieces."""

    name = "fake"

    def __init__(self, *replies: str | Message | Reply | Exception) -> None:
        self.replies = list(replies)
        self.asked: list[Prompt] = []

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        self.asked.append(prompt)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, str):
            reply = Message("assistant", (Text(reply),), "fake")
        if isinstance(reply, Message):
            reply = Reply(reply, "tools" if reply.calls else "end", "fake")
        half = len(reply.message.text) // 2
        for piece in (reply.message.text[:half], reply.message.text[half:]):
            emit(Delta(piece))
        return reply

    def rungs(self) -> list[Rung]:
        """On which rung each prompt was."""
        return ["constrained" if p.shape else "native" if p.tools else "text" for p in self.asked]


def ask(ladder: Ladder, *prompts: Prompt) -> tuple[list[Reply], list[Event]]:
    events: list[Event] = []

    async def run() -> list[Reply]:
        return [await ladder(prompt, events.append) for prompt in prompts]

    return asyncio.run(run()), events


def one(*replies: Any, **options: Any) -> tuple[Reply, list[Event]]:
    (reply,), events = ask(Ladder(Scripted(*replies), **options), PROMPT)
    return reply, events


def pairs(reply: Reply) -> list[tuple[str, Any]]:
    return [(call.name, dict(call.args)) for call in reply.message.calls if not call.fault]


def cards(events: Sequence[Event]) -> list[object]:
    return [event.facts["rung"] for event in events if isinstance(event, Carded)]


# --- native ------------------------------------------------------------------------------------


def test_native_calls_come_in_the_tools_own_terms() -> None:
    reply, _ = one(native("run_command", cmd="ls", timeout="5"))
    assert pairs(reply) == [("bash", {"command": "ls", "timeout": 5})]
    assert reply.stop == "tools" and reply.message.calls[0].id == "c1"


def test_a_call_left_in_the_text_is_a_call() -> None:
    thought = Thinking("hm", "opaque")
    ladder = Ladder(Scripted(Message("assistant", (thought, Text(f"I look.\n{HERMES}")), "fake")))
    (reply,), events = ask(ladder, PROMPT)
    assert pairs(reply) == [LS]
    assert reply.message.parts[:2] == (thought, Text("I look."))
    assert (reply.stop, reply.message.author, ladder.leaks) == ("tools", "fake", 1)
    assert "".join(e.text for e in events if isinstance(e, Delta) and e.kind == "text") == "I look.\n"
    assert not any(isinstance(event, Notice) for event in events)


def test_words_are_handed_on_untouched() -> None:
    words = "Call `<tool_call>` like this:\n\n```python\nx = '<tool_call>'\n```\n"
    reply, events = one(words)
    assert reply.message == Message("assistant", (Text(words),), "fake")
    assert "".join(e.text for e in events if isinstance(e, Delta) and e.kind == "text") == words


def test_syntax_beside_native_calls_leaves_the_text() -> None:
    call = ToolCall("c1", "bash", {"command": "ls"})
    reply, _ = one(Message("assistant", (Text(f"Look.\n{HERMES}"), call), "fake"))
    assert reply.message.parts == (Text("Look."), call)


def test_a_reply_for_a_shape_of_its_own_is_not_read() -> None:
    prompt = replace(PROMPT, shape={"type": "object"})
    for rung in ("native", "constrained"):
        ladder = Ladder(model := Scripted(CHOICE), rung=rung)
        (reply,), _ = ask(ladder, prompt)
        assert (reply.message.text, reply.message.calls) == (CHOICE, ())
        assert model.asked == [prompt]


@pytest.mark.parametrize("rung", ["native", "constrained", "text"])
@pytest.mark.parametrize("text", [HERMES, BROKEN, RAW, RAW[:40], CHOICE, CHOICE[:-9]])
def test_a_reply_that_was_cut_is_never_run(rung: Rung, text: str) -> None:
    cut = Reply(Message("assistant", (Text(text),), "fake"), "length", "fake")
    reply, events = one(cut, rung=rung, digest="d")
    assert reply.stop == "length"
    assert [(call.name, call.fault) for call in reply.message.calls] == [("bash", CUT)]
    assert reply.message.text == ""
    assert not cards(events)


# --- constrained -------------------------------------------------------------------------------


def test_constrained_keeps_the_prompt_and_adds_a_shape() -> None:
    ladder = Ladder(model := Scripted(CHOICE), rung="constrained")
    (reply,), events = ask(ladder, PROMPT)
    assert pairs(reply) == [LS] and reply.message.text == ""
    assert model.asked == [replace(PROMPT, shape=shape_of(TOOLS))]
    assert all(event.kind == "tool" for event in events if isinstance(event, Delta))


def test_the_shape_holds_one_call_of_one_tool() -> None:
    choices = shape_of(TOOLS)["oneOf"]
    assert [each["properties"]["name"]["const"] for each in choices] == [tool.name for tool in TOOLS]
    for tool, choice in zip(TOOLS, choices, strict=True):
        arguments = choice["properties"]["arguments"]
        assert arguments.items() >= tool.schema.items() and arguments["additionalProperties"] is False


def test_words_stay_possible_where_no_tool_ends_the_turn() -> None:
    tools = tuple(tool for tool in TOOLS if tool.name != "done")
    assert "say" in shape_of(tools)["oneOf"][-1]["properties"]
    ladder = Ladder(Scripted('{"say": "All is fine."}'), rung="constrained")
    (reply,), events = ask(ladder, replace(PROMPT, tools=tools))
    assert (reply.message.text, reply.stop) == ("All is fine.", "end")
    assert [each.text for each in events if isinstance(each, Delta) and each.kind == "text"] == [
        "All is fine."
    ]


@pytest.mark.parametrize("text", ["All is fine.", RAW, HERMES])
def test_a_server_that_ignores_the_shape_is_understood(text: str) -> None:
    reply, _ = one(text, rung="constrained")
    assert pairs(reply) == ([LS] if text != "All is fine." else [])
    assert reply.message.text == ("All is fine." if text == "All is fine." else "")


# --- text --------------------------------------------------------------------------------------

HISTORY = (
    say("Mend it."),
    Message(
        "assistant",
        (Thinking("hm"), Text("I look."), ToolCall("c1", "read", {"paths": ["a.py"], "end": 3})),
        "m",
    ),
    Message("tool", (ToolResult("c1", "a.py, 1 line:\n1 | x = 1"),), "kith"),
    Message(
        "assistant",
        (
            ToolCall("c2", "edit", {"path": "a.py", "old": "x = 1\n", "new": 'x = "</a>"\n'}),
            ToolCall("c3", "bash", {}, "broken"),
        ),
        "m",
    ),
    Message("tool", (ToolResult("c2", "Changed."),), "kith"),
    Message("tool", (ToolResult("c3", "not readable", ok=False),), "kith"),
    Message("assistant", (Text("Done."),), "m"),
    say("Thanks."),
)  # fmt: skip
SPOKEN = [
    ("user", "Mend it."),
    (
        "assistant",
        'I look.\n\n<function=read>\n<parameter=paths>\n["a.py"]\n</parameter>\n'
        "<parameter=end>\n3\n</parameter>\n</function>",
    ),
    ("user", "<tool_response>\na.py, 1 line:\n1 | x = 1\n</tool_response>"),
    (
        "assistant",
        "<function=edit>\n<parameter=path>\na.py\n</parameter>\n<parameter=old>\nx = 1\n\n</parameter>\n"
        '<parameter=new>\nx = "</a>"\n\n</parameter>\n</function>\n\n<function=bash>\n</function>',
    ),
    (
        "user",
        "<tool_response>\nChanged.\n</tool_response>\n\n<tool_response>\nnot readable\n</tool_response>",
    ),
    ("assistant", "Done."),
    ("user", "Thanks."),
]


def test_text_says_tools_calls_and_results_in_words() -> None:
    ladder = Ladder(model := Scripted(f"Now.\n\n{RAW}"), rung="text")
    (reply,), _ = ask(ladder, replace(PROMPT, messages=HISTORY))
    assert pairs(reply) == [LS] and reply.message.text == "Now."
    (asked,) = model.asked
    assert asked.tools == () and asked.shape is None
    assert asked.system == f"Be brief.\n\n{describe_tools(TOOLS)}"
    assert [(message.role, message.text) for message in asked.messages] == SPOKEN
    assert not any(message.calls or message.results for message in asked.messages)


def test_history_is_said_the_same_without_tools() -> None:
    ladder = Ladder(model := Scripted("A summary."), rung="text")
    ask(ladder, Prompt("Be brief.", HISTORY))
    assert model.asked == [replace(Prompt("Be brief.", as_spoken(HISTORY)))]


def test_what_was_said_stays_as_the_thread_grows() -> None:
    """Before each of the model's turns the prompt is the former one and more."""
    turns = [end for end, message in enumerate(HISTORY) if message.role == "assistant"] + [len(HISTORY)]
    prompts = [ask_on("text", replace(PROMPT, messages=HISTORY[:end])) for end in turns]
    for former, later in pairwise(prompts):
        assert later.system == former.system
        assert later.messages[: len(former.messages)] == former.messages
        roles = [message.role for message in later.messages]
        assert all(first != second for first, second in pairwise(roles))


PARTS = st.one_of(
    st.builds(Text, st.text(max_size=5)),
    st.builds(
        ToolCall, st.just("c"), st.just("bash"), st.dictionaries(st.just("command"), st.text(max_size=5))
    ),
)
MESSAGES = st.lists(
    st.one_of(
        st.builds(say, st.text(max_size=5)),
        st.builds(Message, st.just("assistant"), st.lists(PARTS, max_size=3).map(tuple)),
        st.builds(lambda text: Message("tool", (ToolResult("c", text),)), st.text(max_size=5)),
    ),
    max_size=8,
)


@settings(deadline=None)
@given(MESSAGES)
def test_roles_alternate_whatever_was_said(messages: list[Message]) -> None:
    roles = [message.role for message in as_spoken(messages)]
    assert set(roles) <= {"user", "assistant"}
    assert all(first != second for first, second in pairwise(roles))


def test_all_tools_cost_at_most_450_tokens_in_words() -> None:
    assert count_tokens(describe_tools(standard_tools(powershell="pwsh"))) <= 450


def test_edits_in_words_stay_words() -> None:
    words = f"a.py\n<<<<<<< SEARCH\nx\n=======\n{HERMES}\n>>>>>>> REPLACE\n"
    reply, _ = one(words, rung="text")
    assert (reply.message.text, reply.message.calls) == (words, ())


# --- stepping down -----------------------------------------------------------------------------


def test_a_model_without_tools_is_asked_in_words_at_once() -> None:
    ladder = Ladder(model := Scripted(NO_TOOLS, RAW, RAW), digest="d")
    replies, events = ask(ladder, PROMPT, PROMPT)
    assert [pairs(reply) for reply in replies] == [[LS], [LS]]
    assert model.rungs() == ["native", "text", "text"]
    assert cards(events) == ["text"]
    assert len([e for e in events if isinstance(e, Notice)]) == 1


def test_a_refused_shape_leads_to_words() -> None:
    ladder = Ladder(model := Scripted(NO_SHAPE, RAW), rung="constrained")
    (reply,), _ = ask(ladder, PROMPT)
    assert pairs(reply) == [LS] and model.rungs() == ["constrained", "text"]


def test_a_refused_shape_of_the_callers_own_is_the_callers_affair() -> None:
    with pytest.raises(UnsupportedError):
        ask(Ladder(Scripted(NO_SHAPE)), replace(PROMPT, shape={"type": "object"}))


@pytest.mark.parametrize("error", [ModelError("down"), UnsupportedError("no thoughts", "thinking")])
def test_other_refusals_pass(error: ModelError) -> None:
    ladder = Ladder(Scripted(error))
    with pytest.raises(ModelError, match=str(error)):
        ask(ladder, PROMPT)
    assert ladder.standing == "native"


def test_what_the_server_cannot_read_is_asked_again_then_constrained_then_in_words() -> None:
    ladder = Ladder(model := Scripted(GARBLED, native(command="ls"), GARBLED, GARBLED, CHOICE))
    replies, _ = ask(ladder, PROMPT, PROMPT)
    assert [pairs(reply) for reply in replies] == [[LS], [LS]]
    assert model.rungs() == ["native"] * 4 + ["constrained"]
    ladder = Ladder(model := Scripted(*[GARBLED] * 4, RAW))
    ask(ladder, PROMPT)
    assert model.rungs() == ["native", "native", "constrained", "constrained", "text"]


def test_three_unreadable_replies_in_a_row_lead_down() -> None:
    broken = native(fault="The arguments are not a JSON object.")
    ladder = Ladder(model := Scripted(broken, BROKEN, "Hm.", native("frobnicate"), CHOICE), digest="d")
    replies, events = ask(ladder, *[PROMPT] * 5)
    assert model.rungs() == ["native"] * 4 + ["constrained"]
    assert [bool(reply.message.calls) for reply in replies] == [True, True, False, True, True]
    assert cards(events) == ["constrained"]


def test_a_good_call_in_between_starts_the_count_anew() -> None:
    ladder = Ladder(Scripted(BROKEN, BROKEN, HERMES, BROKEN, BROKEN))
    ask(ladder, *[PROMPT] * 5)
    assert ladder.standing == "native"


def test_the_end_of_the_ladder_is_one_sentence() -> None:
    ladder = Ladder(Scripted(*[BROKEN] * 9), digest="d")
    with pytest.raises(ModelError, match="fake wrote 3 tool calls in a row that cannot be read") as caught:
        ask(ladder, *[PROMPT] * 9)
    assert not caught.value.retryable
    assert len(ladder.model.replies) == 0  # type: ignore[attr-defined]


# --- what is remembered ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("card", "rung", "begins"),
    [
        ({}, None, "native"),
        ({"rung": "text"}, None, "text"),
        ({"rung": "constrained"}, "text", "text"),
        ({"rung": "nonsense"}, None, "native"),
        ({"rung": ["native"]}, None, "native"),
    ],
)
def test_it_begins_where_the_card_says(card: dict[str, Any], rung: Rung | None, begins: Rung) -> None:
    assert Ladder(Scripted(), card, "d", rung).standing == begins


def test_what_works_is_carded_once() -> None:
    _, events = ask(Ladder(Scripted("Hm.", BROKEN, HERMES, HERMES), digest="d"), *[PROMPT] * 4)
    assert [e for e in events if isinstance(e, Carded)] == [Carded("d", "fake", {"rung": "native"})]
    _, events = one(HERMES, card={"rung": "native"}, digest="d")
    assert cards(events) == []
    _, events = one(HERMES)  # nobody knows which weights these are
    assert cards(events) == []


# --- the whole loop, and the wire --------------------------------------------------------------


async def answer(args: object, run: object) -> ToolResult:
    return ToolResult("", f"got {json.dumps(args, ensure_ascii=False)}")


def tool(name: str, *required: str) -> Tool:
    schema = {
        "type": "object",
        "properties": {key: {"type": "string"} for key in required},
        "required": required,
    }
    return Tool(name, f"Do {name}.", schema, "read", answer)


TWO = (tool("bash", "command"), tool("write", "path", "content"))


def converse_with(model: Any, task: str = "Go.") -> tuple[str, Thread, list[Event]]:
    """A whole turn of the one loop."""
    events: list[Event] = []
    run = Run(lambda event, path: events.append(event), answerer=None, workspace=None)  # type: ignore[arg-type]
    thread = Thread("main", [say(task)])
    role = Role("worker", "Be brief.", model, TWO, TRIAL, sampling=Sampling(max_tokens=100))
    return asyncio.run(converse(run, role, thread)), thread, events


def test_the_model_is_told_what_was_wrong() -> None:
    model = Scripted(BROKEN, HERMES, "Done.")
    words, thread, _ = converse_with(Ladder(model))
    assert words == "Done."
    told = [result for message in thread.messages for result in message.results]
    assert "unterminated string" in told[0].text and not told[0].ok
    assert told[1].text == 'got {"command": "ls"}'
    assert all(not call.args or call.args == LS[1] for message in thread.messages for call in message.calls)


def talk(dialect: str, script: Any, **behaviour: Any) -> tuple[str, Server, list[Event], Ladder]:
    """A turn over the wire."""

    async def run() -> tuple[str, Server, list[Event], Ladder]:
        events: list[Event] = []
        async with serve(script, dialect, **behaviour) as server:  # type: ignore[arg-type]
            endpoint = Endpoint(server.url)
            model = (
                Ollama("standin", endpoint, 8192)
                if dialect == "ollama"
                else OpenAILike("standin", endpoint, "llama-server")
            )
            ladder = Ladder(model, digest="d")
            thread = Thread("main", [say("Go.")])
            role = Role("worker", "Be brief.", ladder, TWO, TRIAL)
            sink = Run(lambda event, path: events.append(event), answerer=None, workspace=None)  # type: ignore[arg-type]
            return await converse(sink, role, thread), server, events, ladder

    return asyncio.run(run())


CODE = 'def f():\n    return """</b>"""\n'
WRITE = write_call(ToolCall("", "write", {"path": "a.py", "content": CODE}))
GOT = 'got \\{"path": "a.py", "content": "def f'


@pytest.mark.parametrize("dialect", ["ollama", "llama-server"])
def test_over_the_wire_a_leaked_call_is_run_and_goes_back_as_a_call(dialect: str) -> None:
    script = [f"Now I write.\n{WRITE}", {"text": "Done.", "expect": GOT}]
    words, server, events, ladder = talk(dialect, script)
    assert (words, ladder.leaks, cards(events)) == ("Done.", 1, ["native"])
    (called,) = [row for row in server.requests[-1]["messages"] if row.get("tool_calls")]
    args = called["tool_calls"][0]["function"]["arguments"]
    assert (json.loads(args) if isinstance(args, str) else args) == {"path": "a.py", "content": CODE}
    assert called["content"] == "Now I write."


def test_over_the_wire_a_model_without_tools_works_in_words() -> None:
    script = [WRITE, {"text": "Done.", "expect": GOT}]
    words, server, events, ladder = talk("ollama", script, capabilities=("completion",))
    assert (words, ladder.standing, cards(events)) == ("Done.", "text", ["text"])
    refused, first, second = (request.body for request in server.requests)
    assert "tools" in refused and "tools" not in first and "tools" not in second
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert [row["role"] for row in second["messages"]] == ["system", "user", "assistant", "user"]


def test_over_the_wire_a_garbled_call_is_asked_for_as_json() -> None:
    garbled = {"text": "I look. ", "error": {"status": 200}}
    choice = json.dumps({"name": "bash", "arguments": {"command": "ls"}})
    script = [garbled, garbled, choice, {"text": '{"say": "Done."}', "expect": 'got \\{"command": "ls"\\}'}]
    words, server, events, ladder = talk("llama-server", script)
    assert (words, ladder.standing, cards(events)) == ("Done.", "constrained", ["constrained"])
    assert ["response_format" in request.body for request in server.requests] == [False, False, True, True]
    assert all(request.body["tools"] == server.requests[0].body["tools"] for request in server.requests)
