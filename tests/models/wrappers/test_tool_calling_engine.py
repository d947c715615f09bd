"""The ladder on a real llama.cpp engine: each of its rungs, with a model that says what a grammar wants."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from kith.core.events import Carded, Event
from kith.core.model import Prompt, Tool
from kith.core.values import Message, Reply, Sampling, Text, ToolCall, ToolResult, say
from kith.models.dialects.own_dialect import write_call
from kith.models.providers.messages import message_rows
from kith.models.providers.openai_like import OpenAILike
from kith.models.providers.wire import Endpoint
from kith.models.wrappers.tool_calling import Ladder, Rung, ask_on
from kith.tools import standard_tools

pytestmark = pytest.mark.slow

CODE = "".join(
    f'    if value == "{number}":\n        return \'\\n\' + """<{number}>"""\n' for number in range(10)
)
EDIT = {"path": "src/a.py", "old": "    pass\n", "new": CODE}
HERMES = '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>'


async def nothing(args: object, run: object) -> ToolResult:
    return ToolResult("", "")


def tool(name: str, **choices: str) -> Tool:
    properties: Mapping[str, Any] = {key: {"enum": [value]} for key, value in choices.items()}
    schema = {"type": "object", "properties": properties, "required": list(choices)}
    return Tool(name, f"To {name}.", schema, "read", nothing)


TWO = (tool("read", path="a.py"), tool("done", summary="All is fine."))
PROMPT = Prompt("Be brief.", (say("Read it."),), TWO, sampling=Sampling(max_tokens=2000, seed=1))


def ask(url: str, rung: Rung, prompt: Prompt, **fields: Any) -> tuple[Reply, Ladder, list[Event]]:
    events: list[Event] = []
    ladder = Ladder(OpenAILike("tiny", Endpoint(url), "llama-server", fields), {}, "tiny", rung)
    reply = asyncio.run(ladder(prompt, events.append))
    return reply, ladder, [event for event in events if isinstance(event, Carded)]


def only(words: str) -> str:
    """A grammar that leaves nothing else to say."""
    return f"root ::= {json.dumps(words, ensure_ascii=False)}"


def test_what_the_engine_reads_itself_is_native(engine_url: str) -> None:
    opening = Message("assistant", (Text("<tool_call>\n"),))
    prompt = replace(PROMPT, messages=(*PROMPT.messages, opening))
    reply, ladder, carded = ask(engine_url, "native", prompt, tool_choice="required")
    (call,) = reply.message.calls
    assert (call.name, call.fault, reply.stop) in [("read", "", "tools"), ("done", "", "tools")]
    assert (ladder.leaks, carded) == (0, [Carded("tiny", ladder.name, {"rung": "native"})])


def test_what_the_engine_leaves_in_the_text_is_read_here(engine_url: str) -> None:
    # With its own choice of tools set to none, the engine does not look for calls.
    reply, ladder, _ = ask(engine_url, "native", PROMPT, tool_choice="none", grammar=only(f"Yes.\n{HERMES}"))
    (call,) = reply.message.calls
    assert (call.name, call.args, call.fault) == ("read", {"path": "a.py"}, "")
    assert (reply.message.text, reply.stop, ladder.leaks) == ("Yes.", "tools", 1)


def test_a_schema_leaves_nothing_but_a_call(engine_url: str) -> None:
    for seed in (1, 2, 3):
        prompt = replace(PROMPT, sampling=Sampling(max_tokens=2000, seed=seed, temperature=2.0))
        reply, ladder, carded = ask(engine_url, "constrained", prompt)
        (call,) = reply.message.calls
        assert (call.name, call.args) in [("read", {"path": "a.py"}), ("done", {"summary": "All is fine."})]
        assert (call.fault, reply.message.text, reply.stop) == ("", "", "tools")
        assert carded == [Carded("tiny", ladder.name, {"rung": "constrained"})]


def test_code_travels_raw_there_and_back(engine_url: str) -> None:
    said = f"I mend it.\n\n{write_call(ToolCall('', 'edit', EDIT))}"
    prompt = Prompt("Be brief.", PROMPT.messages, standard_tools(powershell=""), sampling=PROMPT.sampling)
    reply, _, carded = ask(engine_url, "text", prompt, grammar=only(said))
    (call,) = reply.message.calls
    assert (call.name, call.args, call.fault) == ("edit", EDIT, "")
    assert (reply.message.text, CODE.count("\n"), len(carded)) == ("I mend it.", 20, 1)

    answered = Message("tool", (ToolResult(call.id, "Changed src/a.py."),))
    later = ask_on("text", replace(prompt, messages=(*prompt.messages, reply.message, answered)))
    rows = message_rows(later, lambda call: {}, lambda result, name: {})
    rendered = httpx2.post(f"{engine_url}/apply-template", json={"messages": rows}, trust_env=False).json()
    # The engine's cache holds what the model said: it goes back byte for byte.
    assert f"<|im_start|>assistant\n{said}<|im_end|>\n<|im_start|>user\n<tool_response>" in rendered["prompt"]
