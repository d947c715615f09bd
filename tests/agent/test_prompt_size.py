"""Small is enough: what kith sends before the first word of the task, in tokens of Qwen's own tokenizer."""

import json

import pytest

from counting import count_tokens
from kith.agent.asking.roles import find_role, role_names
from kith.agent.roles import make_role
from kith.context.outline import SymbolReferences
from kith.core.values import Sampling
from kith.features.demo.replay import Replay
from kith.models.providers.messages import tool_rows
from kith.tools import standard_tools
from sparing import first

# Qwen2.5's chat template, the part around the tools.
TEMPLATE = """<|im_start|>system
{system}

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>{tools}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> \
XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call><|im_end|>
"""


def size_of(name: str, small: bool) -> int:
    """What a role's words and tools cost before anybody said anything."""
    tools = standard_tools(look=lambda name: SymbolReferences())
    role = make_role(find_role(name), Replay("nobody", []), tools, Sampling(), small=small)
    rows = "".join("\n" + json.dumps(row) for row in tool_rows(role.tools))
    return count_tokens(TEMPLATE.format(system=role.system, tools=rows))


@pytest.mark.parametrize("name", role_names())
def test_system_prompt_and_tools_cost_at_most_1200_tokens(name: str) -> None:
    assert size_of(name, small=False) <= 1_200


@pytest.mark.parametrize("name", first(role_names(), 3))
def test_a_small_window_is_given_at_most_600(name: str) -> None:
    assert size_of(name, small=True) <= 600
