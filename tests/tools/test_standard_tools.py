"""All tools together: their order, what they cost, and what the loop makes of them."""

import asyncio
import json
import re
import subprocess
import sys

import pytest

from kith.core.loop import converse
from kith.core.model import Emit, Prompt, Role, Tool
from kith.core.policy import TRIAL
from kith.core.run import Thread
from kith.core.values import Message, Reply, TodoItem, ToolCall, say
from kith.tools import ReadLimits, standard_tools
from tools_bench import Bench

NAMES = ["read", "list", "search", "edit", "write", "bash", "git", "todo", "done"]
MOST_TOKENS = 925
FRAME = 100  # tokens of a chat template around the tools; Qwen 2.5 has 86

_PIECE = re.compile(r"[A-Za-z]+|\d|[^\sA-Za-z\d]+|\s+(?=\s)")


def estimate(text: str) -> int:
    """Tokens of JSON text for byte-pair encoders of the GPT family, rather too many than too few.

    They split text into words, digits and runs of punctuation first, and keep common words whole: one token
    for up to nine letters, one for two characters of punctuation. For these schemas that is 3 to 10 per
    cent more than Qwen 2.5's own tokenizer says.
    """
    pieces = _PIECE.findall(text)
    return sum(1 + len(piece) // 9 if piece[0].isalpha() else (len(piece) + 1) // 2 for piece in pieces)


def rendered(tool: Tool) -> str:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return json.dumps({"type": "function", "function": function})


def test_the_order_is_always_the_same() -> None:
    assert [tool.name for tool in standard_tools(powershell="")] == NAMES
    again = [
        rendered(tool) for tool in standard_tools([TodoItem("x")], powershell="", limits=ReadLimits(9, 9))
    ]
    assert again == [rendered(tool) for tool in standard_tools(powershell="")]


def test_a_tool_is_there_only_where_it_is_of_use() -> None:
    assert "git" not in [tool.name for tool in standard_tools(repository=False)]
    with_powershell = [tool.name for tool in standard_tools(powershell="pwsh")]
    assert with_powershell == [*NAMES[:6], "powershell", *NAMES[6:]]


def test_the_tools_stay_within_their_share_of_the_prompt() -> None:
    tools = standard_tools(powershell="")
    assert FRAME + sum(estimate(rendered(tool)) for tool in tools) <= MOST_TOKENS


@pytest.mark.parametrize("tool", standard_tools(powershell="pwsh"), ids=lambda tool: tool.name)
def test_a_schema_is_an_object_with_known_types(tool: Tool) -> None:
    assert tool.schema["type"] == "object"
    properties = tool.schema["properties"]
    assert all(each["type"] in ("string", "integer", "boolean", "array") for each in properties.values())
    assert set(tool.schema.get("required", ())) <= set(properties)


def test_a_task_from_search_to_done(bench: Bench) -> None:
    """The loop, a scripted model and the real tools: the log tells what was done."""
    bench.write("utils.py", "def mean(n):\n    return sum(n) / (len(n) + 1)\n")
    calls = [
        ("search", {"pattern": "len"}),
        ("read", {"paths": "utils.py"}),
        ("edit", {"path": "utils.py", "old": " / (len(n) + 1)", "new": " / len(n)"}),
        ("bash", {"command": "python3 -c 'import utils; print(utils.mean([2, 4]))'"}),
        ("done", {"summary": "mean no longer adds one."}),
    ]
    replies = iter(
        Reply(Message("assistant", (ToolCall(f"c{number}", name, args),)), "tools", "script")
        for number, (name, args) in enumerate(calls)
    )

    class Script:
        name = "script"

        async def __call__(self, prompt: Prompt, emit: Emit) -> Reply:
            return next(replies)

    role = Role("worker", "", Script(), standard_tools(powershell=""), TRIAL)
    thread = Thread("main")
    thread.add(bench.run, say("Fix mean."))
    assert asyncio.run(converse(bench.run, role, thread)) == "mean no longer adds one."
    texts = [result.text for message in thread.messages for result in message.results]
    assert texts[3] == "exit code 0\n3.0"
    assert all("ran" not in result.detail for message in thread.messages for result in message.results)


def test_importing_the_tools_loads_nothing_heavy() -> None:
    heavy = ("rapidfuzz", "pathspec")
    script = f"import sys, kith.tools; print([name for name in {heavy} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ran.stdout.strip() == "[]", ran.stderr
