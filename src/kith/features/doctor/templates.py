"""The chat template of a llama-server: which roles it takes, and whether it leaves the beginning alone.

The server's `/apply-template` renders a conversation without asking the model. A template that writes earlier
messages differently once more follow makes the server read the prompt again from there.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kith.core.errors import ModelError
from kith.features.doctor.check import Check, Tell, closed
from kith.models.providers.answers import plain
from kith.models.providers.faults import NoRouteError, UnreachableError
from kith.models.providers.wire import Endpoint

Row = Mapping[str, Any]
_SYSTEM: Final = {"role": "system", "content": "You are Anna."}
_TASK: Final = {"role": "user", "content": "What is in the file a.py?"}
_RESULT_TEXT: Final = "print(1729)"
_QUIET: Final = {"chat_template_kwargs": {"enable_thinking": False}}
_TOOLS: Final = [
    {
        "type": "function",
        "function": {
            "name": "read",
            "description": "Show a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
    }
]


def _call(id: str, path: str) -> Row:
    function = {"name": "read", "arguments": f'{{"path": "{path}"}}'}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": id, "type": "function", "function": function}],
    }


def _result(id: str) -> Row:
    return {"role": "tool", "tool_call_id": id, "content": _RESULT_TEXT}


# The prompts of a turn with two calls and of the question after it, each beginning with the one before.
_FIRST: Final = (_SYSTEM, _TASK)
_SECOND: Final = (*_FIRST, _call("call00001", "a.py"), _result("call00001"))
_THIRD: Final = (*_SECOND, _call("call00002", "b.py"), _result("call00002"))
_FOURTH: Final = (
    *_THIRD,
    {"role": "assistant", "content": "It prints 1729."},
    {"role": "user", "content": "Why that number?"},
)
_PROMPTS: Final = (_FIRST, _SECOND, _THIRD, _FOURTH)


async def check_template(endpoint: Endpoint, model: str, name: str, tell: Tell) -> None:
    """Roles, then the beginning, told under `name`; a server without the endpoint is passed over.

    Raises UnreachableError.
    """
    faults = {}
    for role, messages, sign in (
        ("the system message", _FIRST, "You are Anna."),
        ("tool results", _SECOND, _RESULT_TEXT),
        ("a question after a tool call", _FOURTH, "Why that number?"),
    ):
        try:
            if sign not in await _render(endpoint, model, messages):
                faults[role] = "leaves it out"
        except NoRouteError:
            return
        except UnreachableError:
            raise
        except ModelError as error:
            faults[role] = f"refuses it ({_reason(error)})"
    if faults:
        role, fault = next(iter(faults.items()))
        more = f", and {' and '.join(list(faults)[1:])}" if len(faults) > 1 else ""
        text = closed(f"Its template does not take {role}{more}: it {fault}")
        tell(Check(name, "yellow", text, "llama-server --chat-template-file FILE ..."))
        return
    tell(Check(name, "green", "Its template takes system, tool and user messages in every order."))
    await _check_beginning(endpoint, model, name, tell)


async def _check_beginning(endpoint: Endpoint, model: str, name: str, tell: Tell) -> None:
    """Whether each prompt of a conversation begins with the one before, byte for byte."""
    broken = await _first_break(endpoint, model, {})
    if broken is None:
        tell(Check(name, "green", "Its template only appends, so nothing is read twice."))
    elif await _first_break(endpoint, model, _QUIET) is None:
        text = f"While it may think, its template rewrites {broken}: the server reads that again."
        tell(Check(name, "yellow", text, "think = false"))
    else:
        text = f"Its template rewrites {broken}: the server reads that again."
        tell(Check(name, "yellow", text, "llama-server --chat-template-file FILE ..."))


async def _first_break(endpoint: Endpoint, model: str, extra: Row) -> str | None:
    """What the template changes when the conversation goes on, None when it changes nothing."""
    texts = [await _render(endpoint, model, messages, extra) for messages in _PROMPTS]
    if not texts[1].startswith(texts[0]) or not texts[2].startswith(texts[1]):
        return "the turn with each tool call"
    return None if texts[3].startswith(texts[2]) else "the former turn with each new question"


async def _render(endpoint: Endpoint, model: str, messages: Sequence[Row], extra: Row | None = None) -> str:
    """A conversation as the model would get it, without the opening of the next reply. Raises ModelError."""
    said = {"model": model, "messages": list(messages), "tools": _TOOLS, "add_generation_prompt": False}
    return str(plain(await endpoint.post("/apply-template", {**said, **(extra or {})})).get("prompt", ""))


def _reason(error: ModelError) -> str:
    """The template's own words, in one short line."""
    words = " ".join(str(error).rpartition(": ")[2].split())
    return words[:100]
