"""Circles of calls are noticed, answered with a reason, then stopped; progress is left alone."""

import asyncio
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kith.core.errors import LimitError
from kith.core.loop import converse
from kith.core.model import Prompt, Role, Tool
from kith.core.policy import TRIAL
from kith.core.run import Run, Thread
from kith.core.values import Message, Reply, ToolCall, ToolResult, say
from kith.models.providers.messages import tool_rows
from kith.tools import standard_tools
from kith.tools.wrappers import watch_repeats
from tools_bench import Bench


class Hands:
    """Three tools that note what they really did; `answers` makes what each says next."""

    def __init__(self, answers: Any = lambda name, args: f"{name} {sorted(args.items())}") -> None:
        self.done: list[str] = []
        self.answers = answers
        self.tools = watch_repeats(
            tuple(self._make(name) for name in ("read", "bash", "edit", "todo", "done"))
        )

    def _make(self, name: str) -> Tool:
        async def fn(args: Mapping[str, Any], run: Run) -> ToolResult:
            self.done.append(name)
            text = self.answers(name, args)
            return ToolResult("", text, ok=not text.startswith("No"))

        return Tool(name, "", {"type": "object"}, "read", fn)

    def use(self, name: str, **args: Any) -> ToolResult:
        tool = next(tool for tool in self.tools if tool.name == name)
        return asyncio.run(tool.fn(args, None))  # type: ignore[arg-type]


def test_the_same_call_is_refused_the_third_time_and_stopped_the_fifth() -> None:
    hands = Hands()
    first = hands.use("read", path="a.py")
    assert first == hands.use("read", path="a.py") == ToolResult("", "read [('path', 'a.py')]")
    for _ in range(2):
        refused = hands.use("read", path="a.py")
        assert not refused.ok and refused.text.startswith("Not run. You have made exactly this call 2 times")
    with pytest.raises(LimitError, match="repeats the same call of read and gets the same answer") as caught:
        hands.use("read", path="a.py")
    assert caught.value.code == 4 and hands.done == ["read", "read"]


def test_failed_calls_count_too_and_the_order_of_arguments_does_not() -> None:
    hands = Hands(lambda name, args: "No such text in a.py.")
    hands.use("edit", old="x", new="y")
    hands.use("edit", new="y", old="x")
    assert hands.use("edit", old="x", new="y").text.startswith("Not run")


def test_another_call_in_between_starts_anew() -> None:
    hands = Hands()
    for _ in range(4):
        hands.use("read", path="a.py")
        hands.use("read", path="a.py")
        hands.use("edit", old=len(hands.done))
    assert len(hands.done) == 12


def test_an_answer_that_changes_is_progress() -> None:
    numbers = count()
    hands = Hands(lambda name, args: f"{next(numbers)} failed")
    for _ in range(10):
        assert hands.use("bash", command="pytest").ok
    assert len(hands.done) == 10


@pytest.mark.parametrize(
    "line",
    [
        "2 failed in 0.{n}3s",
        "== 2 failed, 1 passed in 1{n}.03 seconds ==",
        "ran 3 tests in 0.00{n} s",
        "2026-01-0{n} 10:00:0{n}.123 ERROR it broke",
        "real 0:0{n}.31",
        "<Node object at 0x7f3a5c0{n}1e80>",
        "took 1{n} ms",
    ],
)
def test_times_do_not_hide_a_circle(line: str) -> None:
    numbers = count(1)
    hands = Hands(lambda name, args: f"exit code 1\nfirst\n{line.format(n=next(numbers))}\nlast")
    hands.use("bash", command="pytest")
    hands.use("bash", command="pytest")
    assert hands.use("bash", command="pytest").text.startswith("Not run")


@pytest.mark.parametrize(
    "line", ["{n} passed", "line {n}", "x = 0.{n}", "a.py:{n}: error", "{n} items", "0x{n}"]
)
def test_other_numbers_do_count(line: str) -> None:
    numbers = count(1)
    hands = Hands(lambda name, args: line.format(n=next(numbers)))
    for _ in range(5):
        assert hands.use("bash", command="pytest").ok


@pytest.mark.parametrize("files", [("a", "b"), ("a", "b", "c")])
def test_a_circle_of_calls_is_refused_after_three_rounds(files: tuple[str, ...]) -> None:
    hands = Hands()
    for _ in range(3):
        for path in files:
            assert hands.use("read", path=path).ok
    for path in files[:2]:
        refused = hands.use("read", path=path)
        assert f"the same {len(files)} calls, 3 times" in refused.text and not refused.ok
    with pytest.raises(LimitError, match=f"the same {len(files)} calls"):
        hands.use("read", path=(*files, *files)[2])
    assert len(hands.done) == 3 * len(files)


def test_a_way_out_of_a_circle_is_open() -> None:
    hands = Hands()
    for path in "ababab":
        hands.use("read", path=path)
    assert not hands.use("read", path="a").ok
    assert hands.use("edit", old="x").ok  # something else
    assert hands.use("read", path="a").ok  # and the same again is looked at anew
    assert hands.use("read", path="a").ok
    assert not hands.use("read", path="a").ok  # three refusals in a row would be needed to stop


def test_edit_and_test_in_turns_is_work() -> None:
    numbers = count()
    hands = Hands(lambda name, args: "2 failed" if name == "bash" else "Edited a.py.")
    for _ in range(10):
        assert hands.use("edit", path="a.py", new=next(numbers)).ok
        assert hands.use("bash", command="pytest").ok


def test_lists_and_ends_are_exempt() -> None:
    hands = Hands()
    for _ in range(10):
        assert hands.use("todo", items=["a"]).ok and hands.use("done", summary="").ok
    hands.use("read", path="a")
    hands.use("todo", items=["a"])
    hands.use("read", path="a")
    assert not hands.use("read", path="a").ok  # a list set in between is no progress


def test_a_tool_that_waits_may_be_asked_the_same_again() -> None:
    hands = Hands()
    (waiting,) = watch_repeats((replace(hands._make("read"), waits=True),))
    assert all(asyncio.run(waiting.fn({}, None)).ok for _ in range(10))  # type: ignore[arg-type]


def test_each_task_remembers_for_itself() -> None:
    hands = Hands()
    again = watch_repeats(hands.tools)
    for tool in (*hands.tools[:1], *again[:1]):
        asyncio.run(tool.fn({}, None))  # type: ignore[arg-type]
    assert asyncio.run(watch_repeats(hands.tools)[1].fn({}, None)).ok  # type: ignore[arg-type]


def test_the_prompt_is_the_same_to_the_byte() -> None:
    tools = standard_tools()
    watched = watch_repeats(tools)
    assert tool_rows(watched) == tool_rows(tools)
    assert [replace(each, fn=tool.fn) for each, tool in zip(watched, tools, strict=True)] == list(tools)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1)), max_size=40))
def test_only_circles_are_refused(calls: list[tuple[str, int]]) -> None:
    """Whatever is asked, a call that differs from those one, two and three before it is always run."""
    answers = iter([answer for _, answer in calls])
    hands = Hands(lambda name, args: str(next(answers)))
    for place, (path, _) in enumerate(calls):
        try:
            result = hands.use("read", path=path)
        except LimitError:
            break
        near = {before for before, _ in calls[max(0, place - 3) : place]}
        assert result.ok if path not in near else True
        assert result.ok or place >= 2


@pytest.mark.slow
def test_on_real_tools_a_check_between_edits_runs_and_a_circle_does_not(bench: Bench, tmp_path: Path) -> None:
    bench.write("a.py", "x = 1\n")
    tools = {tool.name: tool for tool in watch_repeats(standard_tools(powershell="", repository=False))}
    for number in range(3):
        bench.use(tools["write"], path="a.py", content=f"x = {number}\n")
        assert bench.use(tools["bash"], command="python3 -m py_compile a.py; date +%T").ok
    assert bench.use(tools["bash"], command="python3 -m py_compile a.py; date +%T").ok
    refused = bench.use(tools["bash"], command="python3 -m py_compile a.py; date +%T")
    assert not refused.ok and refused.text.startswith("Not run")


def test_a_model_that_never_learns_ends_the_task_with_a_sentence(bench: Bench) -> None:
    bench.write("a.py", "x = 1\n")

    class Stubborn:
        name = "stubborn"
        numbers = count()

        async def __call__(self, prompt: Prompt, emit: Any) -> Reply:
            call = ToolCall(f"c{next(self.numbers)}", "read", {"paths": ["a.py"]})
            return Reply(Message("assistant", (call,)), "tools", self.name)

    tools = watch_repeats(standard_tools(powershell="", repository=False))
    role = Role("worker", "", Stubborn(), tools, TRIAL)
    thread = Thread("work")
    run = bench.run
    thread.add(run, say("Mend it."))
    with pytest.raises(LimitError, match="repeats the same call of read"):
        asyncio.run(converse(run, role, thread))
    answers = [result.ok for message in thread.messages for result in message.results]
    assert answers == [True, True, False, False]
