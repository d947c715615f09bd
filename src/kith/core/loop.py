"""The one loop: finish what is unanswered, hear what was said meanwhile, then think."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kith.core.errors import LimitError, ModelError
from kith.core.events import ToolBegan, ToolEnded
from kith.core.model import Beforehand, Prompt, Role, Tool
from kith.core.run import Run, Thread, new_id
from kith.core.values import CallTarget, Fault, Message, Question, Text, ToolCall, ToolResult, say

INTERRUPTED = (
    "Interrupted, outcome unknown: kith stopped before this call was answered, and it is not run twice. "
    "Look at the present state before you go on."
)
CUT = "Not run: your reply was cut at the token limit, so this call is incomplete. Send it again, smaller."
GO_ON = "Your reply was cut at the token limit. Go on, in smaller pieces."
NO_ANSWER = (
    "Your reply was no answer: it was empty or only repeated the request. "
    "Go on with the task, or finish it in words."
)
UNHELD = ", but without a sandbox nothing enforces that"
# Effects that are no verbs themselves.
_TO_DO: Mapping[str, str] = {"exec": "run", "net": "reach", "web": "reach", "call": "ask"}
CLOSED = "(done)"  # where the words stand in the call already


async def converse(run: Run, role: Role, thread: Thread, attempt: int = 1) -> str:
    """Let the model talk and use tools until it stops; return its last words.

    Calls that are pending on entry were left by a process that died. Those that only read run again; any
    other is answered with INTERRUPTED. Raises LimitError when the steps are spent, ModelError when the
    model cannot answer.
    """
    await _finish(run, role, thread, left_over=True)
    for _ in range(run.limits.steps):
        for words in run.hear():
            begin_turn(run, thread, say(words))
        if thread.finished:
            question = role.ask_back()
            if not question:
                return thread.last_words
            thread.add(run, say(question, "kith"))
        if _gave_no_answer(thread):
            raise ModelError(
                f"{role.model.name} gave no answer: its last two replies were empty or repeated the request"
            )
        reply = await role.model(_prompt(role, thread, attempt), run.emit)
        thread.add(run, replace(reply.message, complete=reply.stop != "length"))
        await _finish(run, role, thread)
    if thread.finished:
        return thread.last_words
    raise LimitError(f"stopped after {run.limits.steps} steps, the limit")


def _gave_no_answer(thread: Thread) -> bool:
    """True if the model was asked again, and its next reply was no answer either."""
    return [message.text for message in thread.messages[-3::2]] == [NO_ANSWER] * 2


def begin_turn(run: Run, thread: Thread, message: Message) -> None:
    """Let somebody speak: what an earlier turn left open is closed first, so that roles alternate."""
    thread.add(run, *(_tool_message(_unanswered(c)) for c in thread.pending))
    if thread.messages and thread.messages[-1].role != "assistant":
        thread.add(run, Message("assistant", (Text("(interrupted)"),), "kith"))
    thread.add(run, message)


def _prompt(role: Role, thread: Thread, attempt: int) -> Prompt:
    messages = once(thread.messages)
    return Prompt(role.system, messages, role.tools, role.purpose, attempt, role.sampling, thread.name)


def once(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages as a model gets them: a summary that it gave to a tool is not said to it again.

    The message that closes such a turn stays, as chat templates want roles to alternate.
    """
    before = (None, *messages)
    return tuple(
        replace(message, parts=(Text(CLOSED),)) if last and _repeats(message, last) else message
        for last, message in zip(before, messages, strict=False)
    )


def _repeats(message: Message, last: Message) -> bool:
    """True for kith's closing message behind the result of a tool that was given the same words."""
    if message.role != "assistant" or message.author != "kith":
        return False
    return any(each.detail.get("final") and each.detail.get("summary") for each in last.results)


async def _finish(run: Run, role: Role, thread: Thread, left_over: bool = False) -> None:
    """Answer pending calls and replies one by one, each logged before the next begins.

    A call gets its result. A reply that was cut, or is no answer, gets a request to go on. A summary closes
    the turn with a message of the assistant, since chat templates require it before the next user message.
    """
    cut = any(not message.complete for message in thread.messages[-1:])
    for call in thread.pending:
        tool = next((tool for tool in role.tools if tool.name == call.name), None)
        # A reply cut at the token limit is never executed.
        result = (
            ToolResult(call.id, CUT, ok=False, fault="cut")
            if cut
            else await _use(run, role, tool, call, left_over, _author(thread, call))
        )
        thread.add(run, _tool_message(result))
    last = thread.messages[-1] if thread.messages else None
    if thread.summary:
        thread.add(run, Message("assistant", (Text(thread.summary),), "kith"))
    elif last is not None and last.role == "assistant" and not thread.finished:
        thread.add(run, say(NO_ANSWER if last.complete else GO_ON, "kith"))


def _author(thread: Thread, call: ToolCall) -> str:
    """The model that wrote a call."""
    return next((each.author for each in reversed(thread.messages) if call in each.calls), "")


async def _use(
    run: Run, role: Role, tool: Tool | None, call: ToolCall, left_over: bool, asker: str
) -> ToolResult:
    """Check one call, ask the policy, run it: the only place where a tool runs."""
    if call.fault:
        return _refusal(run, call, call.fault, "malformed")
    if tool is None:
        names = ", ".join(each.name for each in role.tools)
        return _refusal(run, call, f"There is no tool {call.name!r}. There are: {names}.", "malformed")
    args, fault = check_args(call.args, tool.schema)
    if fault:
        return _refusal(run, call, f"{tool.name}: {fault}", "malformed")
    if left_over and tool.effect_for(args) != "read":
        return _unanswered(call)
    looked = await _look(run, tool, args)
    if looked.refusal:
        return _refusal(run, call, looked.refusal, looked.fault)
    effect, target = tool.effect_for(looked.args), tool.target(looked.args)
    shown = target.text if effect in ("call", "web") else str(target)
    decision = role.policy.decide(effect, target)
    if decision == "deny":
        what = tool.name if effect == "call" else shown or "anything"
        refused = f"to {_TO_DO.get(effect, effect)} {what}"
        return _refusal(run, call, f"This is not allowed in {role.policy.name} mode: {refused}.", "forbidden")
    if decision == "ask":
        # Pages are fetched by kith itself.
        held = bool(target.hosts) and (effect == "web" or run.workspace.confined)
        pattern = role.policy.pattern(effect, target)
        question = Question(
            new_id(),
            "tool",
            _word_question(tool.name, target, held),
            ("yes", "always", "no") if pattern else ("yes", "no"),
            effect=effect,
            pattern=pattern,
            hosts=target.hosts if held else (),
            target=target,
            asker=asker,
        )
        answer = await run.ask(question)
        if answer.choice not in ("yes", "always"):
            words = f"This was not allowed: {answer.text or 'the person said no'}."
            return _refusal(run, call, words, "denied")
    run.emit(ToolBegan(call.id, tool.name, effect, shown))
    return await _run(run, tool, call, looked)


async def _look(run: Run, tool: Tool, args: Mapping[str, Any]) -> Beforehand:
    """Let a preview refuse a call, or change its arguments; they are checked again."""
    if tool.beforehand is None:
        return Beforehand(args)
    looked = await tool.beforehand(args, run)
    args, fault = check_args(looked.args, tool.schema)
    if fault and not looked.refusal:
        return Beforehand(args, looked.words, f"{tool.name}: {fault}", "malformed")
    return replace(looked, args=args)


async def _run(run: Run, tool: Tool, call: ToolCall, looked: Beforehand) -> ToolResult:
    """Run a call that was allowed, and log how it went."""
    began = time.monotonic()
    answered = await tool.fn(looked.args, run)
    line = str(answered.detail.get("line", ""))
    ran = answered.detail.get("ran")
    took = time.monotonic() - began
    run.emit(ToolEnded(call.id, tool.name, answered.ok, took, line, ran, answered.fault))
    text = f"{answered.text}\n{looked.words}" if looked.words else answered.text
    # The command itself is in the event; the message keeps plain data only.
    detail = {k: v for k, v in answered.detail.items() if k != "ran"}
    return replace(answered, call_id=call.id, text=text, detail=detail)


def _word_question(name: str, target: CallTarget, held: bool) -> str:
    """Word the question that a person is asked about a call; `held` to the hosts that it names."""
    if not target.hosts:
        return f"Allow {name}"
    return f"Allow {name} to reach {' '.join(target.hosts)}{'' if held else UNHELD}"


def _refusal(run: Run, call: ToolCall, text: str, fault: Fault) -> ToolResult:
    run.emit(ToolEnded(call.id, call.name, False, 0.0, text, fault=fault))
    return ToolResult(call.id, text, ok=False, fault=fault)


def _unanswered(call: ToolCall) -> ToolResult:
    return ToolResult(call.id, INTERRUPTED, ok=False, fault="interrupted")


def _tool_message(result: ToolResult) -> Message:
    return Message("tool", (result,), "kith")


_CHECKS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def check_args(args: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Arguments as the schema wants them, or what is wrong in words for the model.

    Small slips are forgiven where only one meaning is possible: a number in quotes, one value for a list.
    """
    known: Mapping[str, Any] = schema.get("properties", {})
    checked: dict[str, Any] = {}
    for name, value in args.items():
        if name not in known:
            return {}, f"unknown argument {name!r}; there are: {', '.join(known)}"
        if value is None and name not in schema.get("required", ()):
            continue
        fitted = _fit(value, known[name])
        if fitted is None:
            return {}, f"argument {name!r} must be {known[name].get('type', 'valid')}, not {value!r:.80}"
        checked[name] = fitted
    missing = [name for name in schema.get("required", ()) if name not in checked]
    return (checked, "") if not missing else ({}, f"argument {missing[0]!r} is missing")


def _fit(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value as the schema's type, or None. Enumerations are held to their values."""
    kind = schema.get("type", "")
    if kind == "array" and not isinstance(value, list):
        value = [value]
    if kind == "integer" and isinstance(value, str) and value.strip().lstrip("-").isdigit():
        value = int(value)
    if kind == "boolean" and value in ("true", "false", "True", "False"):
        value = value in ("true", "True")
    wrong_bool = isinstance(value, bool) and kind not in ("boolean", "")
    if wrong_bool or (kind in _CHECKS and not isinstance(value, _CHECKS[kind])):
        return None
    if "enum" in schema and value not in schema["enum"]:
        return None
    return value
