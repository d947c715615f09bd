"""Replies that turn in a circle are stopped; replies that only look like it are not."""

import asyncio
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kith.core.errors import LimitError, ModelError
from kith.core.events import Delta, Event, Notice
from kith.core.model import Emit, Prompt
from kith.core.values import Message, Reply, Sampling, Text, ToolCall, ToolResult, say
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from kith.models.wrappers.watched import Watched, repeated_end, same_exchanges
from places import SOURCE
from waiting import until

Kind = Literal["text", "thinking", "tool"]
Pieces = Sequence[tuple[str, Kind]]
ENDLESS = 100_000  # characters; nothing that is stopped gets as far


@dataclass
class Talker:
    """Streams one script for each call, a few characters at a time, and notes what it was asked."""

    scripts: Sequence[Pieces]
    asked: list[Prompt] = field(default_factory=list)
    spoken: list[int] = field(default_factory=list)  # characters of each call
    cancelled: int = 0
    name: str = "talker"

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        script = self.scripts[len(self.asked)]
        self.asked.append(prompt)
        self.spoken.append(0)
        try:
            for text, kind in script:
                for start in range(0, len(text), 7):
                    emit(Delta(text[start : start + 7], kind))
                    self.spoken[-1] += 7
                    await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        words = "".join(text for text, kind in script if kind == "text")
        return Reply(Message("assistant", (Text(words),)), "end", self.name)


def ask(talker: Talker, sampling: Sampling | None = None) -> tuple[Reply, list[str]]:
    """The reply, and the notices on the way."""
    events: list[Event] = []
    prompt = Prompt("", (say("Go."),), sampling=sampling or Sampling())
    reply = asyncio.run(Watched(talker)(prompt, events.append))
    return reply, [event.text for event in events if isinstance(event, Notice)]


def times(unit: str) -> str:
    return unit * (ENDLESS // len(unit))


FINE: Pieces = [("All is fine.", "text")]

CIRCLES: list[Pieces] = [
    [("Let me see. ", "text"), (times("I will read the file. "), "text")],
    [(times("!"), "text")],
    [(times("\n"), "text")],
    [(times("0, "), "tool")],
    [
        (
            times("Wait, let me think about that again.\n\nThe file is fine, so it must be the test.\n"),
            "thinking",
        )
    ],
    [(times("- a line of its own, number one\n" * 3 + "- and one that ends the paragraph -----\n"), "text")],
    [("Now:\n", "thinking"), (times("".join(f"Step {n} is to look at it. " for n in range(40))), "thinking")],
]


@pytest.mark.parametrize("script", CIRCLES)
def test_a_circle_is_left_and_asked_again_with_more_variety(script: Pieces) -> None:
    talker = Talker([script, FINE])
    reply, (_,) = ask(talker, Sampling(temperature=0.2, seed=3))
    assert reply.message.text == "All is fine."
    assert talker.cancelled == 1 and talker.spoken[0] < 8000
    assert [prompt.sampling.temperature for prompt in talker.asked] == [0.2, 0.7]


def test_a_thought_that_returns_between_others_is_a_circle() -> None:
    noise = random.Random(1)
    lines = []
    for _ in range(1000):
        lines += [f"Maybe {noise.random()} is the cause.", "Let me look at the test file once more."]
    talker = Talker([[("\n".join(lines), "thinking")], FINE])
    _, (notice,) = ask(talker)
    assert "Let me look at the test file once more." in notice and talker.spoken[0] < 2000


def test_a_second_circle_is_an_error() -> None:
    talker = Talker([CIRCLES[0], CIRCLES[1]])
    with pytest.raises(
        ModelError, match=r"talker was stopped twice because it repeats itself \('!'\); another model"
    ) as caught:
        ask(talker)
    assert len(talker.asked) == talker.cancelled == 2 and not caught.value.retryable


def test_what_is_hot_already_gets_hotter() -> None:
    talker = Talker([CIRCLES[0], FINE])
    ask(talker, Sampling(temperature=0.9))
    assert talker.asked[1].sampling.temperature == pytest.approx(1.1)


TABLE = "| name | value | unit |\n|------|-------|------|\n" + "".join(
    f"| row {n:02d} | {n * 7 % 10} | s |\n" for n in range(60)
)
TESTS = "".join(
    f"def test_{n}_is_refused() -> None:\n    with pytest.raises(ValueError):\n        parse({n})\n\n\n"
    for n in range(60)
)
ART = "\n".join(" " * (40 - n) + "#" * (2 * n) for n in range(30)) + "\n" + "#" * 500 + "\n" + "=" * 110


@pytest.mark.parametrize(
    "text",
    [
        TABLE,
        TESTS,
        ART,
        "DATA = [" + "0, " * 190 + "]",
        "    assert add(1, 1) == 2\n" * 20,
        "        </td>\n      </tr>\n" * 15,
        json.dumps([{"name": f"f{n}", "type": "string", "required": True} for n in range(100)], indent=2),
        "\n".join(f"{n}. Read src/module_{n}.py and add the import." for n in range(1, 80)),
        Path(__file__).read_text(),
    ],
)
@pytest.mark.parametrize("kind", ["text", "thinking", "tool"])
def test_data_and_code_are_no_circles(text: str, kind: Kind) -> None:
    talker = Talker([[(text, kind)]])
    _, notices = ask(talker)
    assert not notices and not talker.cancelled


def test_a_file_may_hold_a_long_table() -> None:
    talker = Talker([[("x = [" + "0x00, " * 256 + "]", "tool"), ("So: " + "0, " * 256, "text")]])
    assert not ask(talker)[1]


def test_all_of_kith_may_be_written() -> None:
    source = SOURCE
    for file in sorted(source.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        assert not any(repeated_end(text[:end], 600) for end in range(0, len(text), 64)), file


@given(st.text(max_size=50), st.text("ab \n-", min_size=1, max_size=12), st.integers(0, 300))
def test_what_is_found_really_repeats_and_short_units_are_always_found(
    head: str, unit: str, count: int
) -> None:
    text, span = head + unit * count, 100
    found = repeated_end(text, span)
    if found:
        assert text.endswith(found * max(4, span // len(found)))
    elif len(unit) <= 8:
        assert count * len(unit) < span


@pytest.mark.slow
def test_leaving_a_circle_frees_the_slot_of_a_real_engine(engine_url: str) -> None:
    grammar = 'root ::= ("over and over again, ")+'
    model = OpenAILike("tiny", Endpoint(engine_url), "llama-server", {"grammar": grammar, "ignore_eos": True})
    events: list[Event] = []
    with pytest.raises(ModelError, match="repeats"):
        asyncio.run(
            Watched(model)(Prompt("", (say("Go."),), sampling=Sampling(max_tokens=8000)), events.append)
        )
    spoken = sum(len(event.text) for event in events if isinstance(event, Delta))
    assert 2000 <= spoken < 6000
    until(lambda: not _is_busy(engine_url), "the slot is not freed")


def _is_busy(url: str) -> bool:
    return bool(httpx2.get(f"{url}/slots", trust_env=False).json()[0]["is_processing"])


# --- thinking ------------------------------------------------------------------------------------


def thoughts(words: int) -> str:
    noise = random.Random(7)
    return " ".join(f"idea{noise.randrange(10**6)}" for _ in range(words))


def test_thinking_beyond_its_budget_is_asked_again_without() -> None:
    talker = Talker([[(thoughts(5000), "thinking")], FINE])
    reply, (_,) = ask(talker, Sampling(think_tokens=200))
    assert reply.message.text == "All is fine."
    assert talker.cancelled == 1 and talker.spoken[0] < 2000
    assert talker.asked[1].sampling == Sampling(think_tokens=200, think=False)


def test_thinking_within_its_budget_is_left_alone() -> None:
    talker = Talker([[(thoughts(100), "thinking"), *FINE]])
    _, notices = ask(talker, Sampling(think_tokens=1200))
    assert not notices and talker.asked[0].sampling.think is None


def test_a_model_that_cannot_but_think_may() -> None:
    talker = Talker([[(thoughts(1000), "thinking")], [(thoughts(1000), "thinking"), *FINE]])
    reply, notices = ask(talker, Sampling(think_tokens=100))
    assert reply.message.text == "All is fine." and len(notices) == 1


def test_both_remedies_may_be_needed() -> None:
    talker = Talker([[(thoughts(1000), "thinking")], CIRCLES[0], FINE])
    reply, notices = ask(talker, Sampling(think_tokens=100))
    assert reply.message.text == "All is fine." and len(notices) == 2
    last = talker.asked[-1].sampling
    assert (last.think, last.temperature) == (False, 0.7)


# --- exchanges that are the same -----------------------------------------------------------------


def exchanges(count: int, **args: object) -> tuple[Message, ...]:
    """The task, and so many calls with arguments that the tool does not know."""
    found = [say("Go.")]
    for number in range(count):
        call = ToolCall(f"c{number}", "read", args)
        found.append(Message("assistant", (Text("I read it."), call)))
        found.append(Message("tool", (ToolResult(call.id, "unknown argument 'file'", ok=False),)))
    return tuple(found)


def test_the_same_mistake_twice_is_met_with_more_variety_and_five_times_with_the_end() -> None:
    talker = Talker([FINE] * 5)
    for count in range(5):
        asyncio.run(Watched(talker)(Prompt("", exchanges(count, file="a.py")), lambda event: None))
    assert [prompt.sampling.temperature for prompt in talker.asked] == [None, None, 0.7, 0.7, 0.7]
    with pytest.raises(LimitError, match="stopped because talker repeats itself 5 times in a row") as caught:
        asyncio.run(Watched(talker)(Prompt("", exchanges(5, file="a.py")), lambda event: None))
    assert caught.value.code == 4


def test_only_exchanges_at_the_end_count_and_only_if_all_is_the_same() -> None:
    assert same_exchanges(()) == same_exchanges((say("Go."),)) == 0
    assert same_exchanges(exchanges(4, file="a.py")) == 4
    assert same_exchanges((*exchanges(4, file="a.py"), *exchanges(1, file="b.py")[1:])) == 1
    changed = replace(exchanges(3, file="a.py")[-1], parts=(ToolResult("c2", "x = 1"),))
    assert same_exchanges((*exchanges(3, file="a.py")[:-1], changed)) == 1
    talk = (
        say("Go."),
        Message("assistant", (Text("Which?"),)),
        say("Go."),
        Message("assistant", (Text("Which?"),)),
    )
    assert same_exchanges((*talk, say("Go."))) == 2


# --- what is not its affair ----------------------------------------------------------------------


def test_cancelling_from_outside_passes() -> None:
    talker = Talker([[(thoughts(100_000), "text")]])

    async def leave() -> None:
        heard = asyncio.Event()
        call = asyncio.create_task(Watched(talker)(Prompt("", ()), lambda event: heard.set()))
        await heard.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert call.cancelled()

    asyncio.run(leave())
    assert talker.cancelled == 1 and len(talker.asked) == 1


@pytest.mark.parametrize("failure", [ModelError("busy", retryable=True), TimeoutError("its own")])
def test_failures_pass(failure: Exception) -> None:
    class Failing:
        name = "failing"

        async def __call__(self, prompt: Prompt, emit: Callable[[Event], None]) -> Reply:
            raise failure

    with pytest.raises(type(failure), match=str(failure)):
        asyncio.run(Watched(Failing())(Prompt("", ()), lambda event: None))
