"""Nothing is cut off silently: what servers report is held against what they were sent."""

import asyncio
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counting import count_tokens
from kith.context.budget import estimate_tokens, fewest_tokens
from kith.core.errors import EXIT_LIMIT, ModelError
from kith.core.events import Event, Notice
from kith.core.model import Emit, Prompt
from kith.core.values import Message, Reply, Sampling, Text, Usage, say
from kith.features.demo.standin import serve
from kith.features.demo.standin.engine import estimate, render_prompt
from kith.models.providers.facts import ignore
from kith.models.providers.messages import message_rows, tool_rows
from kith.models.providers.ollama import Ollama
from kith.models.providers.wire import Endpoint
from kith.models.wrappers.counter import Counter, reply_room
from kith.models.wrappers.verified import TruncatedError, Verified
from threads import TASK, TOOLS, closed, lines, step, threads

SYSTEM = "You are a careful programmer. " * 20
Count = Callable[[str], int]


def rows_of(prompt: Prompt) -> list[dict[str, Any]]:
    return message_rows(
        prompt,
        lambda call: {"function": {"name": call.name, "arguments": dict(call.args)}},
        lambda result, name: {"role": "tool", "content": result.text},
    )


class Cutter:
    """A server that reads what fits its window, as Ollama does, and answers all the same."""

    name = "ollama/small"

    def __init__(self, window: int, count: Count = estimate, reports: bool = True) -> None:
        self.window, self.count, self.reports = window, count, reports
        self.calls = 0
        self.cut = False  # whether the last prompt was

    def size(self, prompt: Prompt) -> int:
        return self.count(render_prompt(rows_of(prompt), tool_rows(prompt.tools)))

    async def exact(self, prompt: Prompt) -> int:
        return self.size(prompt)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        self.calls += 1
        read = self.size(prompt)
        self.cut = read >= self.window
        if self.cut:
            read = self._left(rows_of(prompt), tool_rows(prompt.tools))
        return Reply(Message("assistant", (Text("Yes."),)), "end", self.name, Usage(read * self.reports, 2))

    def _left(self, rows: list[dict[str, Any]], tools: list[dict[str, Any]]) -> int:
        """The oldest messages go, all but the system's and the last; then the front of the text."""
        while self.count(render_prompt(rows, tools)) >= self.window and len(rows) > 2:
            del rows[1]
        left = self.count(render_prompt(rows, tools))
        return left if left < self.window else self.window - (self.window - 4) // 2


def ask(model: Verified, messages: Sequence[Message], **fields: Any) -> list[Event]:
    events: list[Event] = []
    prompt = Prompt(SYSTEM, tuple(messages), TOOLS, thread="main", **fields)
    asyncio.run(model(prompt, events.append))
    return events


def grow(model: Verified, steps: int, size: int) -> int:
    """A conversation that grows by results of `size` lines; how many calls were believed though cut."""
    messages: list[Message] = [say(TASK)]
    wrong = 0
    for number in range(steps):
        ask(model, messages)
        assert isinstance(model.model, Cutter)
        wrong += model.model.cut
        messages += step(number, "read", "src/a.py", lines(size))
    return wrong


# --- what is cut is noticed ----------------------------------------------------------------------


@pytest.mark.parametrize("window", [2048, 4096, 6000])
def test_a_dropped_beginning_is_noticed_at_once(window: int) -> None:
    with pytest.raises(TruncatedError) as caught:
        grow(Verified(Cutter(window), Counter(32_768)), 60, 30)
    assert caught.value.read < window <= caught.value.sent
    assert (caught.value.code, caught.value.overflow, caught.value.retryable) == (EXIT_LIMIT, False, False)


def test_the_sentence_says_what_was_lost_and_what_to_do() -> None:
    counter = Counter(32_768)
    with pytest.raises(TruncatedError) as caught:
        ask(Verified(Cutter(4096), counter), [say(f"{TASK}\n{lines(1200)}")])
    text = str(caught.value)
    assert text.startswith(
        "The server, whose window seems to be 4,096 tokens and not 32,768, read 2,050 of about "
    )
    assert "truncated" in text
    assert "update Ollama" in text and "`window = 4096`" in text
    assert counter.window == 4096  # a later turn keeps within it


def test_a_front_that_was_cut_off_is_noticed_on_the_first_call() -> None:
    for window in (2048, 3000, 4096, 8192):
        for text in (lines(1500), "Some plain words about the matter. " * 1500, '{"a": [1, 2]}\n' * 3000):
            with pytest.raises(TruncatedError):
                ask(Verified(Cutter(window), Counter(65_536)), [say(f"{TASK}\n{text}")])


def test_a_resumed_conversation_is_held_against_the_servers_own_count() -> None:
    thread = [
        say("Hi"),
        Message("assistant", (Text("Yes?"),)),
        say(lines(250)),
        *step(1, "read", "a", lines(80)),
    ]
    server = Cutter(1 << 20)
    whole = server.size(Prompt(SYSTEM, tuple(thread), TOOLS))
    server = Cutter(whole - 20)  # the small first message is enough
    with pytest.raises(TruncatedError):
        ask(Verified(server, Counter(32_768, server.exact)), thread)
    assert server.calls == 1


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_small_losses_are_noticed_when_the_server_is_asked_again(seed: int) -> None:
    draw = random.Random(seed)
    server = Cutter(draw.choice([2048, 4096, 8192]), lambda text: round(estimate(text) * ratio))
    ratio = draw.uniform(0.7, 1.3)
    model = Verified(server, Counter(32_768), recounts=True)
    with pytest.raises(TruncatedError):
        wrong = grow(model, 80, draw.choice([20, 40, 60]))
        raise AssertionError(f"{wrong} answers to cut prompts were believed")


def test_every_truncation_of_a_silent_ollama_ends_the_turn() -> None:
    messages: list[Message] = [say(f"# The project\n{lines(20)}\n\n# Task\n{TASK}")]

    async def run() -> int:
        async with serve(["ok"] * 60, ceiling=4096, heeds_truncate=False, tells_window=False) as server:
            model = Verified(Ollama("standin", Endpoint(server.url), 16_384), Counter(16_384))
            for number in range(60):
                prompt = Prompt(SYSTEM, tuple(messages), TOOLS, thread="main")
                whole = estimate(render_prompt(server.requests[-1].body["messages"])) if number else 0
                assert whole < 4096, "a cut prompt was answered, and believed"
                await model(prompt, lambda event: None)
                messages.extend(step(number, "read", "a.py", lines(30)))
        return 0

    with pytest.raises(TruncatedError, match=r"4,096 tokens and not 16,384"):
        asyncio.run(run())


# --- what is whole is believed -------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(threads(), st.tuples(*[st.floats(0.85, 1.4)] * 4), st.booleans())
def test_no_false_alarm_whatever_the_tokenizer(
    thread: tuple[Message, ...], ratios: tuple[float, ...], recounts: bool
) -> None:
    kinds = dict(zip(["user", "assistant", "tool", "system"], ratios, strict=True))

    class Uneven(Cutter):
        """Reads everything; each kind of message has a ratio of its own."""

        def size(self, prompt: Prompt) -> int:
            whole = sum(kinds[str(row["role"])] * estimate(render_prompt([row])) for row in rows_of(prompt))
            return round(whole + 1.2 * estimate(render_prompt([], tool_rows(prompt.tools))))

    counter = Counter(1 << 17)
    model = Verified(Uneven(1 << 20), counter)
    for end in range(1, len(thread) + 1):
        part = closed(thread[:end])
        if len(part) == end:
            ask(model, part)


@pytest.mark.parametrize("recounts", [True, False])
def test_a_doubt_is_settled_and_does_not_come_again(recounts: bool) -> None:
    server = Cutter(1 << 20)
    model = Verified(server, Counter(1 << 17), recounts)
    table = "\n".join(f"{number * 7919:x}" * 8 for number in range(100, 160))
    messages: list[Message] = [say(f"{TASK}\n{lines(100)}")]
    asked: list[int] = []
    for number in range(6):
        before = server.calls
        bill = asyncio.run(model(Prompt(SYSTEM, tuple(messages), TOOLS, thread="main"), ignore)).bill
        asked.append(server.calls - before - 1)
        assert len(bill) == asked[-1]
        messages += step(number, "bash", "report", table)
    assert (sum(asked) > 0) == recounts
    assert not any(asked[-2:])


@pytest.mark.slow
def test_tokenizers_do_not_go_below_the_fewest() -> None:
    here = [SYSTEM, lines(100), Path(__file__).read_text("utf-8"), repr(TOOLS), "=" * 900 + "\n" * 50]
    here += ["这是一个用于测试的段落,请修复登录模块中的错误。" * 20, "Исправьте ошибку в модуле входа. " * 30]
    for text in here:
        assert fewest_tokens(text) <= count_tokens(text) <= 1.1 * estimate_tokens(text) + 5


@settings(max_examples=50)
@given(st.text())
def test_the_fewest_are_fewer_than_the_estimate(text: str) -> None:
    assert fewest_tokens(text) <= estimate_tokens(text)


def test_a_server_that_does_not_count_is_named_once() -> None:
    model = Verified(Cutter(1 << 20, reports=False), Counter(8192))
    first, second = ask(model, [say(TASK)]), ask(model, [say(TASK)])
    (notice,) = first
    assert isinstance(notice, Notice) and notice.level == "warning"
    assert second == []


# --- before a call -------------------------------------------------------------------------------


def test_a_prompt_that_leaves_no_room_for_a_reply_is_not_sent() -> None:
    server = Cutter(1 << 20)
    with pytest.raises(ModelError) as caught:
        ask(Verified(server, Counter(2048, server.exact)), [say(lines(400))])
    assert caught.value.overflow and caught.value.window == 2048 and server.calls == 0
    ask(Verified(server, Counter(0)), [say(lines(400))])  # nobody knows the window: it is tried
    assert server.calls == 1


@pytest.mark.parametrize(
    ("wanted", "window", "room"),
    [(None, 4096, 1024), (None, 65_536, 4096), (300, 4096, 300), (9000, 4096, 2048)],
)
def test_the_room_for_a_reply(wanted: int | None, window: int, room: int) -> None:
    assert reply_room(Prompt("", (), sampling=Sampling(max_tokens=wanted)), window) == room


# --- counting ------------------------------------------------------------------------------------


def test_the_server_is_asked_to_count_only_when_it_matters() -> None:
    asked: list[int] = []

    async def exact(prompt: Prompt) -> int:
        asked.append(len(prompt.messages))
        return estimate(render_prompt(rows_of(prompt), tool_rows(prompt.tools)))

    model = Verified(Cutter(1 << 20), Counter(8192, exact))
    messages: list[Message] = [say(TASK)]
    for number in range(20):
        ask(model, messages)
        messages += step(number, "read", "a.py", lines(30))
    half = next(number for number in range(40) if 600 + 190 * number > 4096)
    assert asked[0] == 1 and asked[-1] == 39  # at first, and where the window fills
    assert len([size for size in asked if size < 2 * half]) <= 4  # between them, only in doubt


@pytest.mark.parametrize("failure", [None, ModelError("no such endpoint")])
def test_a_server_that_cannot_count_is_estimated(failure: ModelError | None) -> None:
    async def exact(prompt: Prompt) -> int | None:
        if failure:
            raise failure
        return None

    counter = Counter(8192, exact)
    prompt = Prompt(SYSTEM, (say(TASK),), TOOLS)
    assert asyncio.run(counter.count(prompt)) == counter.estimate(prompt) > 0


@given(st.floats(0.5, 1.5))
@settings(max_examples=20, deadline=None)
def test_the_estimate_learns(ratio: float) -> None:
    counter = Counter(1 << 17)
    server = Cutter(1 << 20, lambda text: round(estimate(text) * ratio))
    messages: list[Message] = [say(TASK)]
    for number in range(8):
        prompt = Prompt(SYSTEM, tuple(messages), TOOLS)
        if number > 2:
            assert counter.estimate(prompt) == pytest.approx(server.size(prompt), rel=0.1)
        counter.learn(prompt, server.size(prompt))
        messages += step(number, "read", "a.py", lines(40))
    other = Prompt(SYSTEM, (say(lines(200)),), TOOLS)
    assert counter.estimate(other) == pytest.approx(server.size(other), rel=0.3)


def test_a_server_that_refuses_instead_of_cutting_may_count_less_for_more() -> None:
    """It drops thoughts, once somebody speaks, of which it had shown a summary only."""

    class Thinker:
        name = "anthropic/m"

        def __init__(self) -> None:
            self.counts = iter([9_000, 6_000])

        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            return Reply(Message("assistant", (Text("ok"),)), "end", self.name, Usage(next(self.counts), 1))

    first = [say(lines(200))]
    grown = [*first, Message("assistant", (Text("ok"),)), say("go on")]
    trusting = Verified(Thinker(), Counter(200_000), trusts=True)
    ask(trusting, first)
    ask(trusting, grown)
    doubting = Verified(Thinker(), Counter(200_000))
    ask(doubting, first)
    with pytest.raises(TruncatedError):
        ask(doubting, grown)
