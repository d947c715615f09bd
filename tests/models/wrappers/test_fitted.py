"""Prompts that always fit: what is sent of a thread, when it changes, and what stays the same."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kith.context.compact import SUMMARY_REQUEST
from kith.core.errors import ModelError
from kith.core.events import Compacted, Delta, Event, Notice
from kith.core.model import Emit, Prompt
from kith.core.values import Message, Reply, Sampling, Stop, Text, ToolCall, ToolResult, Usage, say
from kith.features.demo.replay import Replay
from kith.features.demo.standin import serve
from kith.features.demo.standin.engine import estimate, render_prompt
from kith.models.providers.messages import message_rows, tool_rows
from kith.models.providers.ollama import Ollama
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from kith.models.wrappers.counter import Counter, reply_room
from kith.models.wrappers.fitted import Fitted
from kith.models.wrappers.verified import Verified
from threads import TASK, TOOLS, check_template, closed, lines, step, threads

SYSTEM = "You are a careful programmer. " * 60
SUMMARY = "The parser is half mended; the next step is the lexer."


def is_summary(prompt: Prompt) -> bool:
    return prompt.messages[-1].text == SUMMARY_REQUEST


class Server:
    """Refuses what does not fit its window, counts at its own ratio, and remembers what it was sent."""

    name = "llama-server/m"

    def __init__(
        self,
        window: int,
        ratio: float = 1.0,
        summary: str | Callable[[], Reply] = SUMMARY,
        tells: bool = True,
    ) -> None:
        self.window, self.ratio, self.summary, self.tells = window, ratio, summary, tells
        self.sent: list[Prompt] = []
        self.summaries: list[Prompt] = []

    def size(self, prompt: Prompt) -> int:
        rows = message_rows(
            prompt,
            lambda call: {"function": {"name": call.name, "arguments": dict(call.args)}},
            lambda result, name: {"role": "tool", "content": result.text},
        )
        return round(self.ratio * estimate(render_prompt(rows, tool_rows(prompt.tools))))

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        check_template(prompt.messages)
        tokens = self.size(prompt)
        if tokens >= self.window:
            sizes = {"tokens": tokens, "window": self.window} if self.tells else {}
            raise ModelError("the prompt does not fit", overflow=True, **sizes)
        emit(Delta("some words"))
        usage = Usage(tokens, 9)
        if is_summary(prompt):
            self.summaries.append(prompt)
            if callable(self.summary):
                return self.summary()
            return Reply(Message("assistant", (Text(self.summary),)), "end", self.name, usage)
        self.sent.append(prompt)
        return Reply(Message("assistant", (Text("Yes."),)), "end", self.name, usage)


def stack(server: Server, window: int | None = None, ratio: float = 0.0, **fields: Any) -> Fitted:
    counter = Counter(server.window if window is None else window, ratio=ratio)
    return Fitted(Verified(server, counter), counter.copy, **fields)


def ask(model: Fitted, messages: Sequence[Message], **fields: Any) -> list[Event]:
    events: list[Event] = []
    prompt = Prompt(SYSTEM, tuple(messages), TOOLS, thread="main", **fields)
    asyncio.run(model(prompt, events.append))
    return events


def compactions(events: Sequence[Event]) -> list[Compacted]:
    return [event for event in events if isinstance(event, Compacted)]


def notices(events: Sequence[Event]) -> str:
    return "\n".join(event.text for event in events if isinstance(event, Notice))


def session(count: int, size: int, name: str = "read") -> list[Message]:
    """A task and `count` calls with results of `size` lines."""
    messages = [say(f"# The project\n{lines(10)}\n\n# Task\n{TASK}")]
    for number in range(count):
        messages += step(number, name, f"src/f{number}.py", lines(size))
    return messages


def grow(model: Fitted, messages: Sequence[Message]) -> list[list[Event]]:
    """The conversation as the loop asks: after every result, and after every request."""
    ends = [end for end in range(1, len(messages) + 1) if len(closed(messages[:end])) == end]
    return [ask(model, messages[:end]) for end in ends]


# --- promises ------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [4096, 8192, 32_768, 262_144])
def test_a_long_session_goes_on_in_any_window(window: int) -> None:
    server = Server(window)
    told = grow(stack(server), session(40, window // 100))
    done = [event for events in told for event in compactions(events)]
    assert len(server.sent) == 41 and done
    assert len(done) <= 16  # big and rare
    for event in done:
        assert event.after < event.before and event.after <= 0.55 * window
    for prompt in server.sent:
        assert server.size(prompt) + reply_room(prompt, window) <= window
        assert TASK in prompt.messages[0].text


def test_a_call_gets_an_id_that_the_whole_thread_has_not_seen() -> None:
    class Numbering(Server):
        """Numbers the calls that it sees, as some servers do."""

        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            reply = await super().__call__(prompt, emit)
            number = sum(len(message.calls) for message in prompt.messages)
            return replace(reply, message=Message("assistant", (ToolCall(f"{number}", "read", {}),)))

    model, messages = stack(Numbering(4096)), list(session(0, 0))
    for _ in range(40):
        prompt = Prompt(SYSTEM, tuple(messages), TOOLS, thread="main")
        said = asyncio.run(model(prompt, lambda event: None)).message
        assert said.calls[0].id not in {call.id for each in messages for call in each.calls}
        messages += [said, Message("tool", (ToolResult(said.calls[0].id, lines(40)),))]


def test_between_two_compactions_a_prompt_only_grows() -> None:
    server = Server(8192)
    told = grow(stack(server), session(60, 30))
    changes = 0
    for (before, after), events in zip(pairwise(server.sent), told[1:], strict=True):
        assert (after.system, after.tools) == (before.system, before.tools)
        assert after.messages[0] == before.messages[0]  # the task, byte for byte
        if compactions(events):
            changes += 1
        else:
            assert after.messages[: len(before.messages)] == before.messages
    assert 1 <= changes <= 12


def test_old_results_go_first_and_without_a_model() -> None:
    messages = session(9, 90)
    server = Server(8192)
    told = grow(stack(server), messages)
    (event,) = [event for events in told for event in compactions(events)]
    assert event.summary == "" and event.upto and not server.summaries
    last = server.sent[-1].messages
    assert "left out" in last[2].results[0].text and last[-1] == messages[-1]


def talk(turns: int, size: int) -> list[Message]:
    """A conversation without any tool: nothing can be left out, so it has to be summed up."""
    messages = [say(TASK)]
    for number in range(turns):
        messages += [Message("assistant", (Text(lines(size)),), "m"), say(f"Then do part {number}.")]
    return messages


def test_a_summary_is_asked_for_as_a_continuation_of_what_was_read() -> None:
    server = Server(4096)
    told = grow(stack(server), talk(8, 60))
    asked, former = server.summaries[0], server.sent[-1]
    first = next(at for at, events in enumerate(told) if compactions(events))
    former = server.sent[first - 1]
    assert asked.messages[: len(former.messages)] == former.messages
    assert (asked.system, asked.tools, asked.thread) == (former.system, former.tools, "main")
    assert asked.sampling.max_tokens == 512
    (event,) = compactions(told[first])
    assert event.summary.startswith(SUMMARY)
    words = notices(told[first])
    assert (
        words == f"Compacted: {event.before:,} -> {event.after:,} tokens; the task and open changes are kept."
    )
    assert len([each for each in told[first] if isinstance(each, Delta)]) == 1  # nobody sees it being written
    shown = server.sent[first].messages
    assert SUMMARY in shown[1].text and shown[-1].text == f"Then do part {first - 1}."


def called() -> Reply:
    return Reply(Message("assistant", (Text("I will"), ToolCall("x", "read", {}))), "tools", "m")


def said(text: str, stop: Stop) -> Callable[[], Reply]:
    return lambda: Reply(Message("assistant", (Text(text),)), stop, "m")


def failed() -> Reply:
    raise ModelError("the server went away")


@pytest.mark.parametrize("summary", [called, said("", "end"), said("half a sum", "length"), failed])
def test_without_a_good_summary_there_is_one_all_the_same(summary: Callable[[], Reply]) -> None:
    messages = [*step(0, "write", "a.py", "Changed a.py: 2 lines."), *talk(8, 60)[1:]]
    server = Server(4096, summary=summary)
    told = grow(stack(server), [say(TASK), *messages])
    event = next(event for events in told for event in compactions(events))
    assert "- Changed a.py: 2 lines." in event.summary and "half a sum" not in event.summary


def test_a_resumed_session_sends_the_same_bytes() -> None:
    messages = talk(14, 60)
    server, again = Server(4096), Server(4096)
    model = stack(server)
    log = [event for events in grow(model, messages) for event in compactions(events)]
    resumed = stack(again, ratio=model.counter.ratio, earlier={"main": log})
    assert not compactions(ask(resumed, messages))
    assert again.sent == server.sent[-1:]


# --- what is hard --------------------------------------------------------------------------------


@pytest.mark.parametrize("head", range(202, 213, 3))
def test_beside_a_long_beginning_a_summary_still_leaves_room_to_work(head: int) -> None:
    beginning = say(f"{lines(head)}\n\n# Task\n{TASK}")
    told = [compactions(each) for each in grow(stack(Server(4096)), [beginning, *session(16, 44)[1:]])]
    places = [place for place, each in enumerate(told) if each]
    assert len(places) > 1 and all(two - one > 1 for one, two in pairwise(places)), places


def test_a_task_that_is_too_large_loses_its_layout_first() -> None:
    server = Server(4096)
    ask(stack(server), [say(f"# The project\n{lines(2000)}\n\n# Task\n{TASK}")])
    (prompt,) = server.sent
    assert prompt.messages[0].text.endswith(f"# Task\n{TASK}") and "left out" in prompt.messages[0].text


def test_a_result_that_is_too_large_is_cut_for_good() -> None:
    server = Server(4096)
    messages = [*session(1, 5), *step(8, "bash", "make", lines(3000))]
    model = stack(server)
    ask(model, messages)
    first = server.sent[-1].messages
    assert first[-1].results[0].text.startswith(lines(3)) and len(first[-1].results[0].text) <= 4096
    ask(model, [*messages, *step(9, "read", "a.py", "short")])
    assert server.sent[-1].messages[: len(first)] == first


def test_what_cannot_fit_is_said() -> None:
    model = stack(Server(4096))
    with pytest.raises(ModelError, match=r"do not fit the model's window \(4,096 tokens\)") as caught:
        asyncio.run(model(Prompt(SYSTEM * 20, (say(TASK),), TOOLS), lambda event: None))
    assert caught.value.overflow


def test_a_window_smaller_than_believed_is_found_and_kept_to() -> None:
    server = Server(4096)
    model = stack(server, window=32_768)
    events = ask(model, session(12, 90))
    assert model.counter.window == 4096
    assert "The server's window is 4,096 tokens, not 32,768: kith keeps within it." in notices(events)
    assert len(server.sent) == 1
    grow(model, session(20, 60)[:-1])
    assert all(server.size(prompt) + 1024 <= 4096 for prompt in server.sent[1:])


def test_without_a_window_only_a_refusal_compacts() -> None:
    server = Server(4096, tells=False)
    model = stack(server, window=0)
    told = grow(model, session(30, 40))
    assert len(server.sent) == 31
    done = [event for events in told for event in compactions(events)]
    assert done and all(event.before > 2500 for event in done)


def test_a_server_that_refuses_everything_is_asked_three_times() -> None:
    class Never(Server):
        asked = 0

        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            self.asked += not is_summary(prompt)
            raise ModelError("too long", overflow=True)

    server = Never(1 << 20)
    with pytest.raises(ModelError, match="too long"):
        ask(stack(server, window=65_536), session(20, 60))
    assert server.asked == 3


def test_other_failures_pass() -> None:
    with pytest.raises(ModelError, match="busy"):
        ask(Fitted(Replay("r", [{"error": "busy"}]), Counter(8192).copy), [say(TASK)])


def test_two_conversations_of_one_name_do_not_share_a_view() -> None:
    server = Server(4096)
    model = stack(server)
    grow(model, talk(8, 60))
    ask(model, [say("Something else.")])
    assert server.sent[-1].messages == (say("Something else."),)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(threads(), st.sampled_from([3000, 4096, 8192]), st.floats(0.6, 1.4), st.booleans(), st.data())
def test_any_conversation_fits(
    thread: tuple[Message, ...], window: int, ratio: float, known: bool, data: st.DataObject
) -> None:
    server = Server(window, ratio, data.draw(st.sampled_from([SUMMARY, "", lines(100)])))
    model = stack(server, None if known else 0)
    believed: tuple[Message, ...] = ()
    for end in range(1, len(thread) + 1):
        if len(closed(thread[:end])) < end:
            continue
        events = ask(model, thread[:end])
        shown = server.sent[-1].messages
        check_template(shown)
        assert TASK in shown[0].text
        if known:
            assert server.size(server.sent[-1]) <= window
        if not compactions(events):
            assert shown[: len(believed)] == believed
        assert all(event.after < event.before for event in compactions(events))
        believed = shown


def test_a_silent_ollama_is_compacted_for_before_it_can_cut() -> None:
    messages = session(30, 40)
    events: list[Event] = []

    async def run() -> list[int]:
        async with serve(["ok"] * 60, heeds_truncate=False) as server:
            counter = Counter(4096)
            model = Fitted(Verified(Ollama("standin", Endpoint(server.url), 4096), counter), counter.copy)
            for end in range(1, len(messages) + 1, 2):
                prompt = Prompt(
                    SYSTEM, tuple(messages[:end]), TOOLS, thread="main", sampling=Sampling(seed=1)
                )
                await model(prompt, events.append)
            bodies = [request.body for request in server.requests]
            return [estimate(render_prompt(body["messages"], body["tools"])) for body in bodies]

    sizes = asyncio.run(run())
    assert compactions(events) and max(sizes) < 4096


def test_each_wrapper_counts_by_itself_and_learns_from_what_passes() -> None:
    server = Server(4096)
    model = stack(server, window=8192)
    assert isinstance(model.model, Verified) and model.model.counter is not model.counter
    ask(model, session(60, 30))
    assert (model.counter.window, model.model.counter.window) == (4096, 4096)
    assert model.counter.learned_ratio and model.model.counter.learned_ratio


@pytest.mark.slow
def test_a_real_engine_reads_little_again_across_a_compaction(engine_url: str) -> None:
    engine = OpenAILike("tiny", Endpoint(engine_url), "llama-server")
    counter = Counter(8192, engine.count)
    replies: list[tuple[Prompt, Reply]] = []

    class Noted:
        """The engine, and what it answered."""

        name = engine.name

        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            short = replace(prompt.sampling, max_tokens=8, temperature=0.0)
            replies.append((prompt, await engine(replace(prompt, sampling=short), emit)))
            return replies[-1][1]

    events: list[Event] = []
    messages = session(30, 12)
    model = Fitted(Verified(Noted(), counter), counter.copy)

    async def run() -> None:
        for end in range(1, len(messages) + 1, 2):
            prompt = Prompt("Be brief.", tuple(messages[:end]), TOOLS, thread="real")
            await model(prompt, events.append)
            if compactions(events) and not is_summary(replies[-1][0]):
                return

    asyncio.run(run())
    assert len(compactions(events)) == 1
    fresh = sum(reply.usage.input - reply.usage.cached for _, reply in replies)
    largest = max(reply.usage.input for _, reply in replies)
    after = replies[-1][1].usage
    assert after.input < 0.55 * 8192 and after.cached > 300  # the head and the task are still there
    assert fresh <= 1.15 * (largest + after.input - after.cached)
