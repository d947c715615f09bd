"""The cache meter against a server whose cache is a list of words: what it counts and what it names."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kith.core.events import Called, Event, Notice
from kith.core.model import Emit, Prompt, Tool
from kith.core.values import (
    CacheUse,
    Charge,
    Message,
    Reply,
    Text,
    Thinking,
    Timing,
    ToolCall,
    ToolResult,
    Usage,
    say,
)
from kith.features.foresight.foresight import LearnedForesight
from kith.models.forecasts import Foresight
from kith.models.wrappers.metered import Metered
from kith.models.wrappers.prompt_cache import CacheMeter, changed_link, judge, links, sent


async def nothing(args: object, run: object) -> ToolResult:
    return ToolResult("", "")


def tool(name: str) -> Tool:
    return Tool(name, "Does something with a file. " * 10, {"type": "object"}, "read", nothing)


SYSTEM = "You are careful. " * 100
TOOLS = (tool("read"), tool("edit"))


@dataclass
class Server:
    """One slot: words are tokens, and what begins like the former prompt and reply is cached."""

    name: str = "small"
    answer: Message = Message("assistant", (Text("I shall look at it."),))
    counts: bool = True
    kept: list[str] = field(default_factory=list)
    load_s: float = 0.0
    rate: float = 1000.0

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        words = self.render(prompt)
        pairs = zip(words, self.kept, strict=False)
        same = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(words), len(self.kept)))
        cached = 0 if self.load_s else min(same, len(words) - 1)
        # The last token written is never read.
        written = self.words_of(self.answer, raw=True)
        self.kept = words + written[:-1]
        usage = Usage(len(words), len(written), cached if self.counts else 0)
        timing = Timing(load_s=self.load_s, prefill_s=(len(words) - cached) / self.rate)
        self.load_s = 0.0
        return Reply(self.answer, "end", self.name, usage, timing)

    def render(self, prompt: Prompt) -> list[str]:
        words = ["<system>", *prompt.system.split()]
        words += [word for each in prompt.tools for word in (each.name, *each.description.split())]
        for message in prompt.messages:
            words += [f"<{message.role}>", *self.words_of(message), "\n"]
        return [*words, "<assistant>"]

    def words_of(self, message: Message, raw: bool = False) -> list[str]:
        thoughts = [part.text for part in message.parts if isinstance(part, Thinking)] if raw else []
        calls = [f"{call.name} {dict(call.args)}" for call in message.calls]
        results = [result.text for result in message.results]
        return [*" ".join((*thoughts, message.text, *calls, *results)).split(), "</s>"]


@dataclass
class Talk:
    """A conversation on a metered server, and what was told of it."""

    server: Server = field(default_factory=Server)
    meter: CacheMeter = field(default_factory=lambda: CacheMeter(counts_cache=True))
    window: int = 0
    events: list[Event] = field(default_factory=list)
    foresight: Foresight | None = None

    def ask(self, prompt: Prompt) -> Message:
        metered = Metered(self.server, window=self.window, meter=self.meter, foresight=self.foresight)
        return asyncio.run(metered(prompt, self.events.append)).message

    @property
    def uses(self) -> list[CacheUse]:
        return [event.cache for event in self.events if isinstance(event, Called) and event.cache]

    @property
    def last(self) -> CacheUse:
        return self.uses[-1]

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]


def result(number: int, text: str = "x = 1 " * 50) -> Message:
    return Message("tool", (ToolResult(f"c{number}", f"{number} {text}"),))


def grow(talk: Talk, turns: int, prompt: Prompt | None = None) -> Prompt:
    """A conversation of so many turns that only grows; the prompt that would come next."""
    prompt = prompt or Prompt(SYSTEM, (say("Mend it."),), TOOLS, thread="work")
    for number in range(turns):
        reply = talk.ask(prompt)
        prompt = replace(prompt, messages=(*prompt.messages, reply, result(number)))
    return prompt


def swap(prompt: Prompt, place: int, message: Message) -> Prompt:
    return replace(prompt, messages=(*prompt.messages[:place], message, *prompt.messages[place + 1 :]))


# --- growth ------------------------------------------------------------------------------------


def test_a_prompt_that_grows_reads_only_what_is_new() -> None:
    talk = Talk()
    grow(talk, 15)
    assert all(use.cause == "" and use.efficiency > 0.95 for use in talk.uses)
    assert sum(use.unavoidable for use in talk.uses) / sum(use.evaluated for use in talk.uses) > 0.98
    assert talk.uses[0].evaluated == talk.uses[0].unavoidable > 300
    assert not talk.notices


def test_called_tells_window_and_cache() -> None:
    talk = Talk(window=4096)
    grow(talk, 1)
    (called,) = [event for event in talk.events if isinstance(event, Called)]
    assert called.window == 4096 and called.cache == talk.last


def test_thinking_that_is_not_sent_back_takes_the_reply_with_it() -> None:
    thoughtful = Message("assistant", (Thinking("hm " * 300), Text("I see. " * 100)))
    talk = Talk(Server(answer=thoughtful))
    grow(talk, 6)
    assert all(use.cause == "" and use.efficiency > 0.9 for use in talk.uses)


def test_the_same_prompt_again_costs_next_to_nothing() -> None:
    talk = Talk()
    prompt = grow(talk, 3)
    talk.ask(prompt)
    talk.ask(prompt)
    assert talk.last.evaluated == talk.last.unavoidable == 1


def test_asking_again_and_dropping_the_bad_reply_is_a_branch_not_a_change() -> None:
    talk = Talk()
    prompt = grow(talk, 3)
    bad = talk.ask(prompt)
    talk.server.answer = Message("assistant", (Text("Better. " * 40),))
    good = talk.ask(replace(prompt, messages=(*prompt.messages, bad, say("That was no JSON. " * 40))))
    talk.ask(replace(prompt, messages=(*prompt.messages, good, result(9))))
    assert talk.last.cause == "" and talk.last.efficiency > 0.95


# --- what breaks it ----------------------------------------------------------------------------


def test_a_clock_in_the_system_prompt_is_named() -> None:
    talk = Talk()
    prompt = Prompt("", (say("Mend it."),), TOOLS, thread="work")
    for minute in range(5):
        timed = replace(prompt, system=f"It is 12:0{minute}. {SYSTEM}")
        prompt = replace(prompt, messages=(*prompt.messages, talk.ask(timed), result(minute)))
    assert [use.cause for use in talk.uses] == ["", *["system"] * 4]
    assert all(use.efficiency < 0.5 for use in talk.uses[1:])
    assert len(talk.notices) == 1  # not on each turn


def test_another_tool_list_is_named() -> None:
    talk = Talk()
    prompt = grow(talk, 4)
    talk.ask(replace(prompt, tools=(*TOOLS, tool("bash"))))
    assert talk.last.cause == "tools" and talk.last.efficiency < 0.5
    talk.ask(replace(prompt, tools=(TOOLS[1], TOOLS[0])))
    assert talk.last.cause == "tools"


def test_a_changed_message_is_named_with_its_place_and_role() -> None:
    talk = Talk()
    prompt = grow(talk, 5)
    talk.ask(swap(prompt, 2, result(0, "(left out) ")))
    assert talk.last.cause == "message 3 (tool)"
    wasted = talk.last.evaluated - talk.last.unavoidable
    expected = f"The prompt changed at message 3 (tool): {wasted:,} tokens processed again."
    assert talk.notices == [expected]
    assert talk.last.unavoidable < 300  # the new result, not all that comes after message 3


def test_a_note_that_hops_from_message_to_message_is_named() -> None:
    talk = Talk()
    prompt = grow(talk, 3)
    noted = swap(prompt, 6, result(2, "x = 1 " * 50 + "Note: 3 steps are left. " * 30))
    reply = talk.ask(noted)
    talk.ask(replace(prompt, messages=(*prompt.messages, reply, result(7))))
    assert talk.last.cause == "message 7 (tool)"


def test_a_sliding_window_is_named() -> None:
    talk = Talk()
    prompt = grow(talk, 8)
    talk.ask(replace(prompt, messages=(prompt.messages[0], *prompt.messages[3:])))
    assert talk.last.cause == "message 3 (tool)"  # all the replies are the same


def test_a_reply_that_comes_back_in_other_words_is_named() -> None:
    class Rewriting(Server):
        def words_of(self, message: Message, raw: bool = False) -> list[str]:
            words = super().words_of(message, raw)
            return words if raw else [word.upper() for word in words]

    call = ToolCall("c", "edit", {"new": "some long text " * 60})
    talk = Talk(Rewriting(answer=Message("assistant", (call,))))
    grow(talk, 3)
    assert [use.cause for use in talk.uses] == ["", "message 2 (assistant)", "message 4 (assistant)"]


def test_what_another_client_threw_away_is_evicted() -> None:
    talk = Talk()
    prompt = grow(talk, 4)
    talk.server.kept = []
    talk.ask(prompt)
    assert talk.last.cause == "evicted" and talk.last.efficiency < 0.5
    assert "--cache-ram" in talk.notices[0]


def test_what_kith_itself_asked_in_between_is_no_other_client() -> None:
    class Counting(Server):
        """Forgets everything, because it is asked to count something else after a reply."""

        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            reply = await super().__call__(prompt, emit)
            self.kept = []
            return replace(reply, bill=(Charge("small", "count"),))

    talk = Talk(Counting())
    grow(talk, 2)
    assert talk.last.cause == "recounted"
    assert "in parts" in talk.notices[0]


def test_another_model_in_between_is_named() -> None:
    talk = Talk()
    prompt = grow(talk, 4)
    other = Talk(Server("other"), talk.meter)
    grow(other, 1, Prompt("Judge it.", (say("Is it good?"),), thread="judge"))
    talk.server.kept = []
    talk.ask(prompt)
    assert talk.last.cause == "model"
    # A thread that moves to another model starts from nothing there.
    other.ask(replace(prompt, messages=(*prompt.messages, talk.server.answer, result(8))))
    assert other.last.cause == "model"


def test_a_model_that_was_loaded_anew_is_named() -> None:
    talk = Talk()
    prompt = grow(talk, 4)
    talk.server.load_s = 3.0
    talk.ask(prompt)
    assert talk.last.cause == "reloaded"


def test_another_window_is_a_reload_too() -> None:
    talk = Talk(window=4096)
    prompt = grow(talk, 4)
    talk.window, talk.server.kept = 8192, []
    talk.ask(prompt)
    assert talk.last.cause == "reloaded"


def test_the_first_load_is_nobody_s_fault() -> None:
    talk = Talk(Server(load_s=9.0))
    grow(talk, 2)
    assert all(use.cause == "" for use in talk.uses)


# --- other threads, compaction ------------------------------------------------------------------


def test_another_thread_shares_what_it_begins_with() -> None:
    talk = Talk()
    grow(talk, 3)
    talk.ask(Prompt(SYSTEM, (say("Review it. " * 100),), TOOLS, thread="review"))
    assert talk.last.evaluated < 220 and talk.last.cause == ""
    talk.server.kept = []
    talk.ask(Prompt(SYSTEM, (say("Review this. " * 100),), TOOLS, thread="third"))
    assert talk.last.cause == "evicted"  # system and tools could have been there


def test_another_conversation_under_the_same_name_is_a_new_beginning() -> None:
    talk = Talk()
    grow(talk, 4)
    talk.ask(Prompt("Translate. " * 200, (say("Now this. " * 200),), thread="work"))
    assert talk.last.cause == "" and talk.last.efficiency == 1.0


def test_a_compaction_is_paid_once_and_not_blamed() -> None:
    talk = Talk()
    prompt = grow(talk, 12)
    asked = replace(prompt, messages=(*prompt.messages, say("Summarise what was done.")))
    summary = talk.ask(asked)
    shorter = (prompt.messages[0], say(summary.text * 20), *prompt.messages[-3:])
    prompt = grow(talk, 8, replace(prompt, messages=shorter))
    assert all(use.cause == "" for use in talk.uses)
    assert sum(use.unavoidable for use in talk.uses) / sum(use.evaluated for use in talk.uses) > 0.9


def test_a_compaction_that_spares_little_is_not_blamed_either() -> None:
    talk = Talk()
    prompt = grow(talk, 6)
    talk.ask(replace(prompt, messages=(*prompt.messages, say("Summarise what was done."))))
    told = (prompt.messages[0], say("Summary. " * 100), *prompt.messages[-9:])
    talk.ask(replace(prompt, messages=told))
    assert talk.last.evaluated > 700 and talk.last.cause == ""


def test_old_results_left_out_while_it_goes_on_are_a_compaction() -> None:
    talk = Talk()
    prompt = grow(talk, 8)
    talk.ask(prompt)
    for place in (2, 4, 6):
        prompt = swap(prompt, place, result(place // 2 - 1, "(left out)"))
    talk.ask(replace(prompt, messages=(*prompt.messages, talk.server.answer, result(8))))
    assert talk.last.evaluated > 1000 and talk.last.cause == ""


# --- a server that does not count ---------------------------------------------------------------


def test_without_counts_the_reading_time_is_an_estimate_and_no_claim() -> None:
    talk = Talk(Server(counts=False, load_s=2.0), CacheMeter())
    prompt = grow(talk, 20)
    assert all(use.estimated and use.cause == "" for use in talk.uses)
    assert sum(use.unavoidable for use in talk.uses) / sum(use.evaluated for use in talk.uses) > 0.95
    talk.server.kept = []
    talk.ask(prompt)
    assert talk.last.efficiency < 0.5  # it looks so, and a busy machine would look the same
    assert talk.last.cause == "" and not talk.notices


def test_without_counts_a_slow_start_of_each_call_is_not_blamed() -> None:
    class Sluggish(Server):
        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            reply = await super().__call__(prompt, emit)
            return replace(reply, timing=replace(reply.timing, prefill_s=reply.timing.prefill_s + 0.3))

    talk = Talk(Sluggish(counts=False, load_s=2.0), CacheMeter())
    grow(talk, 10)
    assert all(use.cause == "" for use in talk.uses)


def test_where_nothing_can_be_said_nothing_is() -> None:
    talk = Talk(Server(counts=False), CacheMeter())
    grow(talk, 3)
    assert not talk.uses and not talk.notices
    assert sum(isinstance(event, Called) for event in talk.events) == 3


def test_a_server_that_once_counted_is_believed_from_then_on() -> None:
    talk = Talk(meter=CacheMeter())
    prompt = grow(talk, 3)
    assert len(talk.uses) == 2  # the first call could not say
    talk.server.kept = []
    talk.ask(prompt)
    assert talk.last.cause == "evicted" and not talk.last.estimated


@given(st.lists(st.tuples(st.floats(1, 500), st.floats(0, 60)), min_size=1, max_size=8), st.booleans())
def test_a_slow_server_never_looks_like_a_lost_cache(
    slowness: Sequence[tuple[float, float]], counts: bool
) -> None:
    """Each call reads at another speed and answers late; all that kith sends begins like the call before."""

    @dataclass
    class Slow(Server):
        left: list[tuple[float, float]] = field(default_factory=list)

        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            reply = await super().__call__(prompt, emit)
            factor, late = self.left.pop(0)
            read = reply.timing.prefill_s * factor + late
            return replace(reply, timing=replace(reply.timing, prefill_s=read, total_s=2 * read))

    server = Slow(counts=counts, load_s=2.0, left=[(1.0, 0.0), *slowness])
    meter = CacheMeter(counts_cache=counts)
    talk = Talk(server, meter, foresight=LearnedForesight("small", "here", lambda prompt: 1000, meter.expect))
    grow(talk, len(slowness) + 1)
    assert all(use.cause == "" for use in talk.uses)
    assert not [words for words in talk.notices if "cache" in words or "another program" in words]


@pytest.mark.parametrize(
    ("usage", "prefill_s", "load_s", "cause", "told"),
    [
        (Usage(1000, 10, 998), 9.0, 0.0, "", ""),  # counted, slow
        (Usage(1000, 10, 0), 0.1, 0.0, "evicted", "Prompt cache miss: 9"),  # counted, quick
        (Usage(1000, 10), 9.0, 0.0, "", ""),  # only slow
        (Usage(1000, 10), 9.0, 0.9, "reloaded", ""),  # slow to see what it has
        (Usage(1000, 10), 9.0, 6.0, "reloaded", "The server spent 6.0 s loading; it may have lost"),
    ],
)
def test_only_what_the_server_measured_is_claimed(
    usage: Usage, prefill_s: float, load_s: float, cause: str, told: str
) -> None:
    prompt = Prompt(SYSTEM, (say("word " * 900),), TOOLS, thread="work")
    counts = usage.cached > 0 or prefill_s < 1
    meter = CacheMeter(counts_cache=counts, read_rate=1000.0)
    answer = Message("assistant", (Text("ok"),))
    meter.take(prompt, Reply(answer, "end", "small", Usage(1000, 10), Timing(prefill_s=1.0)))
    use = meter.take(prompt, Reply(answer, "end", "small", usage, Timing(load_s, prefill_s=prefill_s)))
    assert use and use.cause == cause
    said = meter.tell(use, load_s)
    assert said.startswith(told) and bool(said) == bool(told)


# --- what always holds --------------------------------------------------------------------------

words = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta", "�", "ä"]), max_size=300).map(" ".join)
messages = st.builds(
    lambda role, text: Message(role, (Text(text),)), st.sampled_from(["user", "assistant", "tool"]), words
)
prompts = st.builds(
    Prompt,
    system=st.sampled_from(["", SYSTEM, "Other. " * 100]),
    messages=st.lists(messages, max_size=6).map(tuple),
    tools=st.sampled_from([(), TOOLS]),
    thread=st.sampled_from(["", "work"]),
)


@given(st.lists(prompts, min_size=1, max_size=8))
def test_the_unavoidable_is_part_of_the_evaluated(asked: Sequence[Prompt]) -> None:
    talk = Talk()
    for prompt in asked:
        talk.ask(prompt)
        use = talk.last
        assert 0 <= use.unavoidable <= use.evaluated
        assert bool(use.cause) <= (use.efficiency < 0.9)


@given(prompts, st.lists(st.tuples(messages, messages), max_size=6))
def test_whatever_grows_is_never_blamed(prompt: Prompt, turns: Sequence[tuple[Message, Message]]) -> None:
    talk = Talk()
    for answer, added in turns:
        talk.server.answer = replace(answer, role="assistant")
        reply = talk.ask(prompt)
        prompt = replace(prompt, messages=(*prompt.messages, reply, added))
    assert not talk.notices
    assert all(use.evaluated - use.unavoidable <= 4 for use in talk.uses)


@given(prompts, prompts, st.integers(0, 6), st.booleans())
def test_a_chain_is_the_same_however_much_of_it_is_known(
    one: Prompt, two: Prompt, kept: int, alike: bool
) -> None:
    if alike:
        two = replace(two, system=one.system, tools=one.tools)
    two = replace(two, messages=(*one.messages[:kept], *two.messages))
    assert links("small", two, (one, links("small", one))) == links("small", two)


def test_what_was_sent_before_is_not_read_again() -> None:
    prompt = Prompt(SYSTEM, tuple(result(number) for number in range(200)), TOOLS)
    chain, calls = links("small", prompt), 0

    def count(frame: object, event: str, what: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_name == "encode"  # type: ignore[attr-defined]

    sys.setprofile(count)
    try:
        links("small", replace(prompt, messages=(*prompt.messages, say("Go on."))), (prompt, chain))
    finally:
        sys.setprofile(None)
    assert calls == 1


@given(prompts, prompts)
def test_a_change_is_only_seen_where_something_stayed(one: Prompt, two: Prompt) -> None:
    reply = Reply(Message("assistant", (Text("yes"),)), "end", "small", Usage(100, 5))
    former, now = sent(one, reply), sent(two, reply)
    if changed_link(former, now):
        assert set(one.messages) & set(two.messages) or reply.message in two.messages
    assert judge(former, [], 100) == CacheUse(100, 100)


def test_what_is_too_short_for_a_clouds_cache_is_not_missed_there() -> None:
    short = Prompt("", (say("word " * 40),), thread="t")
    grown = Prompt("", (*short.messages, say("word " * 40)), thread="t")
    long = Prompt("", (*grown.messages, say("word " * 9000)), thread="t")
    meter = CacheMeter(counts_cache=True, least_cached=4096)

    def take(prompt: Prompt, tokens: int) -> str:
        reply = Reply(Message("assistant", (Text("ok"),)), "end", "m", Usage(tokens, 1))
        return meter.tell(meter.take(prompt, reply))

    assert [take(short, 200), take(grown, 400), take(long, 9000)] == ["", "", ""]
    assert "full price" in take(Prompt("", (*long.messages, say("more")), thread="t"), 9100)
