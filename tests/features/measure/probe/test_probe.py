"""A probe, with models that are good, weak, mute, slow or endless, over the wire, and in the real engine."""

import ast
import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from kith.core.errors import ModelError
from kith.core.events import Called, Carded, Delta, Event, Stepped
from kith.core.model import Emit, Prompt
from kith.core.values import Message, Reply, Stop, Text, Thinking, Timing, ToolCall, Usage
from kith.features.demo.standin import Request, serve
from kith.features.measure.probe import Item, ProbeResult, Speed, exercises, judge, probe
from kith.features.measure.probe.exercises import CODE_TEXT, ProbeExercise
from kith.models.providers.ollama import Ollama
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from kith.models.wrappers.metered import Metered

EXERCISES = [each for each in vars(exercises).values() if isinstance(each, ProbeExercise)]
NUMBERS = " ".join(map(str, range(1, 25)))
Answer = str | Message
QUICK = Timing(prefill_s=0.3, decode_s=0.5)


def message(*parts: Text | ToolCall | Thinking) -> Message:
    return Message("assistant", parts, "pupil")


def right(prompt: Prompt) -> Answer:
    """What a good model answers to anything that a probe asks."""
    words = prompt.messages[0].text
    exercise = next((each for each in EXERCISES if each.ask == words), None)
    if exercise is None:
        return "56" if "7 times 8" in words else NUMBERS
    if not exercise.tools or exercise.said:
        return exercise.answer
    call = json.loads(exercise.answer)
    return message(ToolCall("1", call["name"], call["arguments"]))


@dataclass
class Pupil:
    """A model that answers as `answers` says; every prompt it was asked is kept."""

    answers: Callable[[Prompt], Answer] = right
    timing: Timing = QUICK
    stop: Stop | None = None
    name: str = "pupil"
    asked: list[Prompt] = field(default_factory=list)

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        self.asked.append(prompt)
        answer = self.answers(prompt)
        said = message(Text(answer)) if isinstance(answer, str) else answer
        emit(Delta(said.text))
        written = max(1, len(str(said.parts)) // 4)
        usage = Usage(len(str(prompt)) // 4, written)
        stop: Stop = self.stop or ("tools" if said.calls else "end")
        return Reply(said, stop, self.name, usage, self.timing)


def take(model: Any, events: list[Event] | None = None, **how: Any) -> ProbeResult:
    return asyncio.run(probe((events if events is not None else []).append, model, **how))


def states(result: ProbeResult) -> dict[str, str]:
    return {item.name: item.state for item in result.items}


def why(result: ProbeResult, name: str) -> str:
    return next(item.why for item in result.items if item.name == name)


# --- models ----------------------------------------------------------------------------------


def test_a_good_model_passes_everything() -> None:
    pupil = Pupil()
    result = take(pupil, window=16_384)
    assert {name for name, state in states(result).items() if state != "passed"} == {"thinking off"}
    assert why(result, "thinking off") == "it does not think"
    assert result.good_for == (
        "agent work",
        "edits by tool",
        "edits as search/replace",
        "code in tool arguments",
    )
    assert result.not_for == ()
    assert result.rung == "native"
    assert len(result.speeds) == 2
    assert result.speeds[1].depth > 4 * result.speeds[0].depth
    assert all(speed.by == "server" and speed.read_rate > 0 for speed in result.speeds)
    assert result.facts["read_rate"] == result.speeds[1].read_rate
    # What becomes of the card can be stored as it is.
    assert json.loads(json.dumps(Carded("d", "pupil", result.facts).facts)) == result.facts


def test_nothing_that_was_cached_before_helps_and_the_probe_uses_its_own_cache() -> None:
    one, two = Pupil(), Pupil()
    take(one)
    take(two)
    assert not {prompt.system for prompt in one.asked} & {prompt.system for prompt in two.asked}
    systems = [prompt.system for prompt in one.asked]
    # Two prompts for speed have beginnings of their own; all the exercises share one.
    assert len(set(systems)) == 3
    assert {prompt.purpose for prompt in one.asked} == {"probe"}
    assert all(prompt.sampling.max_tokens for prompt in one.asked)


def test_it_says_what_it_does_and_keeps_the_models_words_to_itself() -> None:
    events: list[Event] = []
    take(Metered(Pupil()), events)
    assert not [event for event in events if isinstance(event, Delta)]
    assert [event for event in events if isinstance(event, Called)]
    began = [event.name for event in events if isinstance(event, Stepped) and event.state == "began"]
    assert began[:3] == ["probing a first answer", "probing speed", "probing tool calls"]
    assert len(began) == sum(isinstance(event, Stepped) and event.state == "ended" for event in events)


def test_a_weak_model_gets_what_it_can_do_and_what_not() -> None:
    def weak(prompt: Prompt) -> Answer:
        words = prompt.messages[-1].text
        if len(prompt.tools) > 1:
            return 'I will use write: {"path": "hello.txt"}'
        if prompt.shape:
            return "Of course."
        return "Sure! I changed it." if "SEARCH" in words or "diff" in words else right(prompt)

    result = take(Pupil(weak))
    assert result.good_for == ("one tool at a time", "small files, whole-file edits")
    assert result.not_for == ("many tools", "code in tool arguments")
    assert why(result, "choice of tools").startswith("it wrote the call as text")
    assert why(result, "search/replace") == "it wrote no search/replace block but 'Sure! I changed it.'"
    assert result.rung == "text"  # it calls one tool, but kith always offers several


def test_a_model_without_tools_is_good_for_questions_and_edits_in_words() -> None:
    def refuse(prompt: Prompt) -> Answer:
        if prompt.tools:
            raise ModelError("answered 400 (Bad Request): pupil does not support tools")
        return "I cannot." if prompt.shape else right(prompt)

    pupil = Pupil(refuse)
    result = take(pupil)
    assert result.good_for == ("edits as search/replace", "questions")
    assert result.not_for == ("agent work",)
    assert (result.rung, why(result, "one tool")) == (
        "text",
        "answered 400 (Bad Request): pupil does not support tools",
    )
    assert sum(bool(prompt.tools) for prompt in pupil.asked) == 1  # it was not asked in vain again
    assert why(result, "edit tool") == "it could not even call a single tool"


def test_a_call_that_can_be_constrained_is_a_rung() -> None:
    result = take(Pupil(lambda prompt: "Yes." if prompt.tools else right(prompt)))
    assert (states(result)["constrained call"], result.rung) == ("passed", "constrained")


def test_thinking_that_can_be_switched_off_is_off_for_the_rest() -> None:
    def ponder(prompt: Prompt) -> Answer:
        answer = right(prompt)
        if prompt.sampling.think is False:
            return answer
        return message(Thinking("Let me see. " * 40), Text("56"))

    pupil = Pupil(ponder)
    result = take(pupil)
    assert result.thinks and states(result)["thinking off"] == "passed"
    assert result.thinking_tokens > 50
    assert "agent work" in result.good_for and not result.not_for
    assert [prompt.sampling.think for prompt in pupil.asked][:3] == [None, False, False]


def test_a_model_that_stops_dead_after_a_tool_without_thinking_is_found() -> None:
    def stop_dead(prompt: Prompt) -> Answer:
        if prompt.sampling.think is False and prompt.messages[-1].role == "tool":
            return ""
        return right(prompt) if prompt.sampling.think is False else message(Thinking("Hm."), Text("4711 56"))

    result = take(Pupil(stop_dead))
    assert why(result, "goes on after a tool") == "without thinking, it said nothing; with it, it went on"
    assert "steps after a tool: it stops dead" in result.not_for and "agent work" not in result.good_for


def test_an_endless_thinker_is_good_for_nothing() -> None:
    result = take(Pupil(lambda prompt: message(Thinking("Wait, let me think again. " * 9)), stop="length"))
    assert result.thinks and states(result)["thinking off"] == "failed"
    assert result.good_for == ()
    assert result.not_for == (
        "agent work",
        "edits",
        "unattended work: it does not stop",
        "quick steps: it always thinks first",
    )
    assert why(result, "one tool") == "it ran into the limit"


def test_thinking_that_a_server_leaves_in_the_text_is_seen() -> None:
    result = take(Pupil(lambda prompt: f"<think>\nHm.\n</think>\n\n{right(prompt)}"))
    assert result.thinks and why(result, "thinking off") == "it thinks although it was asked not to"


def test_a_slow_model_is_asked_less_and_the_reasons_are_given() -> None:
    class Slow(Pupil):
        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            reply = await Pupil.__call__(self, prompt, emit)
            timing = Timing(prefill_s=reply.usage.input / 20, decode_s=reply.usage.output / 2)
            return Reply(reply.message, reply.stop, self.name, reply.usage, timing)

    result = take(Slow())
    assert result.read_rate == pytest.approx(20) and result.write_rate == pytest.approx(2)
    assert why(result, "long prompt") == "reading 3,000 tokens would take 150 s"
    assert why(result, "code argument").startswith("it needs about ")
    assert states(result)["one tool"] == "passed"
    assert result.not_for == ("long answers (2.0 tokens/s)", "large prompts (20 tokens/s)")


def test_a_small_window_is_not_overfilled() -> None:
    pupil = Pupil()
    result = take(pupil, window=1024)
    assert why(result, "long prompt") == "the window of 1,024 tokens is too small"
    assert len(result.speeds) == 1


def test_without_a_servers_numbers_the_clock_measures() -> None:
    class Streaming(Pupil):
        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            await asyncio.sleep(0.02)
            emit(Delta("1"))
            await asyncio.sleep(0.02)
            return await Pupil.__call__(self, prompt, emit)

    shallow = take(Streaming(timing=Timing())).speeds[0]
    assert shallow.by == "clock"
    assert 0 < shallow.read_rate < shallow.depth / 0.02
    assert 0 < shallow.write_rate < 50 / 0.02


# --- trouble ---------------------------------------------------------------------------------


class Mute(Pupil):
    """It answers nothing, or only prompts without tools."""

    speaks: bool = False

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        if prompt.tools or not self.speaks:
            await asyncio.Event().wait()
        return await Pupil.__call__(self, prompt, emit)


def test_a_model_that_never_answers_is_an_error_in_words() -> None:
    with pytest.raises(ModelError, match="pupil did not answer a trivial question in 0 s; nothing was meas"):
        take(Mute(), budget_s=0.4)


def test_a_model_that_falls_silent_costs_no_more_than_the_budget() -> None:
    mute = Mute()
    mute.speaks = True
    result = take(mute, budget_s=1.0)
    assert states(result)["simple question"] == "passed"
    assert why(result, "one tool").startswith(("time ran out", "it needs about"))
    assert result.good_for == ("questions",)
    assert result.not_for == ()  # what was not tested is not said


def test_a_server_in_trouble_is_not_the_models_fault_but_an_unreadable_call_is() -> None:
    def trouble(prompt: Prompt) -> Answer:
        if prompt.tools:
            raise ModelError("http://box could not read the model's tool call: peg-native", retryable=True)
        if "SEARCH" in prompt.messages[-1].text:
            raise ModelError("http://box answered 503 (Service Unavailable)", retryable=True)
        return right(prompt)

    result = take(Pupil(trouble))
    assert states(result)["one tool"] == "failed"
    assert states(result)["search/replace"] == "not tested"
    assert states(result)["whole file"] == "passed"


# --- judges ----------------------------------------------------------------------------------


def reply(*parts: Text | ToolCall, stop: Stop = "end") -> Reply:
    return Reply(message(*parts), stop, "pupil")


def test_the_exercises_can_be_solved_and_their_answers_are_right() -> None:
    assert len(EXERCISES) == 10
    for exercise in EXERCISES:
        prompt = Prompt("", (exercises_say(exercise.ask),))
        answer = right(prompt)
        said = message(Text(answer)) if isinstance(answer, str) else answer
        assert exercise.judge(Reply(said, "end", "")) == "", exercise.name
        assert exercise.judge(Reply(said, "length", "")) == "it ran into the limit"
        assert exercise.judge(reply(Text("I am sorry, I cannot do that."))) != ""
    ast.parse(CODE_TEXT)
    assert len(CODE_TEXT.splitlines()) == 20
    assert len(judge.BEFORE.splitlines()) == 12


def exercises_say(words: str) -> Message:
    return Message("user", (Text(words),))


def call(name: str, **args: Any) -> Reply:
    return reply(ToolCall("1", name, args))


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (call("edit", path="./invoice.py", old="round(total, 1)", new="round(total, 2)"), ""),
        (call("edit", path="bill.py", old="a", new="b"), "it edits 'bill.py' in place of 'invoice.py'"),
        (call("edit", path="invoice.py", old="1)", new="2"), "the edited file is no Python any more"),
        (call("edit", path="invoice.py", old="-= 100", new="-= 200"), "the change is not in it"),
        (call("edit", path="invoice.py", old="round(totals, 1)", new="x"), "invoice.py was not changed"),
        (call("edit", path="invoice.py"), "argument 'old' is missing"),
        (call("write", path="invoice.py"), "it called write in place of edit"),
        (reply(Text("<tool_call>edit {}</tool_call>")), "it wrote the call as text"),
        (reply(ToolCall("1", "edit", {}, "The arguments are not JSON.")), "The arguments are not JSON."),
    ],
)
def test_an_edit_by_tool_is_really_made(answer: Reply, fault: str) -> None:
    assert judge.judge_edit_call(answer).startswith(fault)
    assert bool(judge.judge_edit_call(answer)) == bool(fault)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (judge.AFTER.replace("2)", "2)  # cents"), ""),
        (judge.AFTER.replace("total -= 100", "total -= 99"), "the edited file says something else"),
        (judge.BEFORE, "Nothing was changed: the files already say what you sent."),
    ],
)
def test_a_whole_file_is_compared_as_a_program(text: str, fault: str) -> None:
    said = reply(Text(f"Here it is:\n\ninvoice.py\n```python\n{text}```\n"))
    assert judge.judge_edit_text("whole")(said) == fault
    assert judge.judge_edit_text("diff")(said).startswith("it wrote no diff but")


def test_code_must_come_back_byte_for_byte() -> None:
    see = judge.judge_code(CODE_TEXT)
    assert see(call("write", path="tricky.py", content=CODE_TEXT.rstrip("\n"))) == ""
    broken = CODE_TEXT.replace('"\\0"', '"\0"').replace("\\\\temp", "\\temp")
    assert see(call("write", path="tricky.py", content=broken)).startswith("line 3 came back as")
    half = "\n".join(CODE_TEXT.split("\n")[:9])
    assert see(call("write", path="tricky.py", content=half)) == "9 of 20 lines came back"


def test_arguments_may_differ_in_nothing_that_counts() -> None:
    see = judge.expect_call(exercises.NEST.tools[-1], json.loads(exercises.NEST.answer)["arguments"])
    args = {**json.loads(exercises.NEST.answer)["arguments"]}
    assert see(call("report", **{**args, "line": "42", "path": "./src/app.py"})) == ""
    assert see(call("report", **{**args, "fixed": True})) == "argument fixed is True, not False"
    assert see(call("report", **{**args, "problem": "bug"})).startswith("argument 'problem' must be object")


# --- words -----------------------------------------------------------------------------------


def test_what_was_not_measured_is_left_out_of_the_card() -> None:
    bare = ProbeResult("m", 1.0, (Item("simple question", "failed", "it said nothing"),))
    assert bare.facts.keys() == {"probe"}
    assert (bare.good_for, bare.not_for) == ((), ("questions",))
    measured = ProbeResult("m", 1.0, (), (Speed(300, 80.0, 9.0, "server"), Speed(3000, 60.0, 0.0, "clock")))
    assert (measured.facts["read_rate"], measured.facts["write_rate"]) == (60.0, 9.0)


# --- over the wire ---------------------------------------------------------------------------


def scripted(request: Request) -> dict[str, Any]:
    """The good model, as a stand-in's script."""
    words = next(each["content"] for each in request["messages"] if each["role"] == "user")
    answer = right(Prompt("", (exercises_say(words),)))
    if isinstance(answer, str):
        return {"text": answer}
    return {"calls": [{"name": each.name, "args": dict(each.args)} for each in answer.calls]}


@pytest.mark.parametrize("dialect", ["ollama", "llama-server"])
def test_over_the_wire_it_measures_the_same(dialect: Any) -> None:
    async def run() -> ProbeResult:
        async with serve(scripted, dialect, window=16_384) as server:
            endpoint = Endpoint(server.url)
            model = (
                Ollama("standin", endpoint, 16_384)
                if dialect == "ollama"
                else OpenAILike("standin", endpoint, "llama-server")
            )
            return await probe(lambda event: None, model, window=16_384)

    result = asyncio.run(run())
    assert not [item for item in result.items if item.state == "failed"]
    assert "agent work" in result.good_for and result.rung == "native"
    # The stand-ins report 1,000 tokens a second read, and 50 written.
    assert [round(speed.read_rate) for speed in result.speeds] == [pytest.approx(1000, rel=0.03)] * 2
    assert [round(speed.write_rate) for speed in result.speeds] == [50, 50]


def test_an_ollama_model_without_tools_is_found_out() -> None:
    async def run() -> ProbeResult:
        async with serve(scripted, "ollama", capabilities=("completion",)) as server:
            return await probe(lambda event: None, Ollama("standin", Endpoint(server.url), 8192))

    result = asyncio.run(run())
    assert "does not support tools" in why(result, "one tool")
    assert result.rung == "constrained" and "agent work" in result.not_for


@pytest.mark.slow
def test_noise_is_good_for_nothing(engine_url: str) -> None:
    model = OpenAILike("tiny", Endpoint(engine_url), "llama-server")
    result = take(model, window=16_384, budget_s=10.0)
    assert result.good_for == ()
    assert {"agent work", "edits", "questions"} <= {*result.not_for}
    assert len(result.speeds) == 2 and all(speed.by == "server" for speed in result.speeds)
    assert result.speeds[1].depth > 1_000
