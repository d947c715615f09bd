"""A real llama.cpp makes a grammar of every plain schema, whatever the server of the tool sent."""

import json

import pytest

from kith.features.mcp.schemas import plain_schema
from wild_schemas import WILD

pytestmark = pytest.mark.slow
REFUSED = ("itself", "nowhere", "elsewhere", "places", "a map", "a strange type", "yes and no")  # as they are


def ask(engine_url: str, schemas: dict[str, object]) -> tuple[int, str]:
    """The engine's status for a request that must end in a call of one of these tools."""
    import httpx2

    tools = [
        {"type": "function", "function": {"name": f"t{n}", "description": name, "parameters": schema}}
        for n, (name, schema) in enumerate(schemas.items())
    ]
    body = {
        "messages": [{"role": "user", "content": "x"}],
        "tools": tools,
        "tool_choice": "required",
        "max_tokens": 2,
    }
    answer = httpx2.post(f"{engine_url}/v1/chat/completions", json=body, timeout=60)
    return answer.status_code, answer.text


@pytest.mark.parametrize("name", WILD)
def test_each_becomes_a_grammar(engine_url: str, name: str) -> None:
    status, text = ask(engine_url, {name: plain_schema(WILD[name])})
    assert status == 200, f"{text}\n{json.dumps(plain_schema(WILD[name]))[:2_000]}"


def test_all_together_become_a_grammar(engine_url: str) -> None:
    few = {name: plain_schema(schema) for name, schema in WILD.items() if name != "wide"}
    status, text = ask(engine_url, few)
    assert status == 200, text


@pytest.mark.parametrize("name", REFUSED)
def test_without_that_it_refuses_them(engine_url: str, name: str) -> None:
    assert ask(engine_url, {name: WILD[name]})[0] == 400
