"""What tells a run in vain from one that takes its time."""

import asyncio

from kith.core.errors import HopelessError
from kith.core.model import Emit, Prompt
from kith.core.values import Charge, Fault, Message, Reply, Text, Timing, ToolCall, ToolResult, Usage, say
from kith.features.route.early_stopping import Habits, Hopeful, why_hopeless

TASK = say("fix it")


def use(number: int, name: str, ok: bool, text: str = "", fault: Fault = "", **args: str) -> list[Message]:
    """A call and its answer."""
    call = ToolCall(f"c{number}", name, args)
    result = ToolResult(call.id, text, ok, {"line": text}, fault)
    return [Message("assistant", (call,), "model"), Message("tool", (result,), "kith")]


def run_of(*uses: tuple[str, bool, str]) -> list[Message]:
    said = [TASK]
    for number, (name, ok, text) in enumerate(uses):
        said += use(number, name, ok, text, command="pytest", path="a.py")
    return said


def test_a_command_that_fails_in_the_same_way_three_times() -> None:
    same = ("bash", False, "exit code 1\n1 failed in 0.12s")
    later = ("bash", False, "exit code 1\n1 failed in 0.35s")
    assert why_hopeless(run_of(same, later), (), Habits()) == ""
    assert "failed 3 times in the same way" in why_hopeless(
        run_of(same, ("read", True, ""), later, same), (), Habits()
    )


def test_fewer_failing_tests_are_not_the_same_failure() -> None:
    counts = [("bash", False, f"exit code 1\n{number} failed") for number in (3, 2, 1)]
    assert why_hopeless(run_of(*counts), (), Habits()) == ""


def test_edits_that_do_not_apply_one_right_after_the_other() -> None:
    broken = ("edit", False, "the old text is not in the file")
    assert why_hopeless(run_of(broken), (), Habits()) == ""
    assert why_hopeless(run_of(broken, ("read", True, "..."), broken), (), Habits()) == ""
    assert "2 edits or calls in a row" in why_hopeless(run_of(broken, broken), (), Habits())
    assert why_hopeless(run_of(broken, broken, ("edit", True, "")), (), Habits()) == ""


def test_what_a_person_said_begins_anew() -> None:
    broken = ("edit", False, "the old text is not in the file")
    assert why_hopeless([*run_of(broken, broken), say("try utils.py")], (), Habits()) == ""


def test_what_was_not_allowed_is_no_mistake_of_the_model() -> None:
    denied = [use(number, "edit", False, "no", "denied") for number in range(2)]
    assert why_hopeless([TASK, *denied[0], *denied[1]], (), Habits()) == ""


def test_calls_that_cannot_be_run_count_whatever_the_tool() -> None:
    broken = [use(number, "read", False, "no", "malformed") for number in range(2)]
    assert "2 edits or calls in a row" in why_hopeless([TASK, *broken[0], *broken[1]], (), Habits())


def test_a_full_window_without_a_change() -> None:
    full = [Charge("m", "edit", Usage(900, 30))]
    looks = run_of(("read", True, "..."))
    assert "of its window are full" in why_hopeless(looks, full, Habits(window=1000))
    assert why_hopeless(looks, full, Habits(window=2000)) == ""
    assert why_hopeless(run_of(("edit", True, "")), full, Habits(window=1000)) == ""


def test_two_calls_in_a_row_far_below_the_usual_speed() -> None:
    def call(rate: float) -> Charge:
        return Charge("m", "edit", Usage(100, 100), timing=Timing(decode_s=100 / rate))

    known = Habits(write_rate=40.0)
    assert why_hopeless([TASK], [call(5), call(5)], known) == "it writes 5.0 tokens/s, and 40 otherwise"
    assert why_hopeless([TASK], [call(5), call(30), call(5)], known) == ""
    assert why_hopeless([TASK], [call(5), call(5)], Habits()) == ""


def test_more_effort_than_pays_off() -> None:
    calls = [Charge("m", "edit", Usage(output=100), evaluated=1_000)] * 3
    looks = run_of(*[("read", True, str(number)) for number in range(3)])
    # Three times 100 written tokens, and 1,000 read ones at a tenth each.
    assert "600 weighted tokens" in why_hopeless(looks, calls, Habits(cap=599, read_weight=0.1))
    assert why_hopeless(looks, calls, Habits(cap=600, read_weight=0.1)) == ""
    assert why_hopeless(looks, calls, Habits(read_weight=0.1)) == ""
    assert why_hopeless(looks, calls, Habits(cap=599, read_weight=0.1), first=1) == ""


def test_steps_without_known_tokens_count_as_usual_ones() -> None:
    looks = run_of(*[("read", True, str(number)) for number in range(5)])
    habits = Habits(cap=599, step=125)
    assert "625 weighted tokens" in why_hopeless(looks, (), habits)  # resumed: the calls were made before
    assert "600 weighted tokens" in why_hopeless(looks, [Charge("m", "edit", Usage(output=100))], habits)
    own = [*looks, Message("assistant", (Text("x"),), "kith")]
    assert why_hopeless(own, (), Habits(cap=625, step=125)) == ""


class Writer:
    """A model that writes 100 tokens with each call."""

    async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
        call = ToolCall(f"c{len(prompt.messages)}", "read", {"path": "a.py"})
        charge = Charge("m", prompt.purpose, Usage(10, 100))
        return Reply(Message("assistant", (call,), "m"), "tools", "m", bill=(charge,))


def stops_after(model: Hopeful, said: list[Message]) -> int:
    """The number of steps until the model is stopped; `said` grows by them."""
    for step in range(20):
        try:
            reply = asyncio.run(model(Prompt("", tuple(said), purpose="edit"), lambda event: None))
        except HopelessError:
            return step
        said += [reply.message, Message("tool", (ToolResult(reply.message.calls[0].id, str(step)),), "kith")]
    return 20


def test_a_persons_message_gives_a_run_its_whole_effort_again() -> None:
    model, said = Hopeful(Writer(), Habits(cap=350, step=100)), [TASK]
    assert stops_after(model, said) == 4
    assert stops_after(model, [*said, say("try utils.py")]) == 4
    resumed = Hopeful(Writer(), Habits(cap=350, step=100))
    assert stops_after(resumed, said[:5]) == 2
