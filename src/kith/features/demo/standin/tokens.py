"""How the stand-in servers count: conversations as one text, and four bytes of it as one token."""

import json
import re
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

BYTES_PER_TOKEN = 4
OPENING = "<|im_start|>assistant\n"


def estimate(text: str) -> int:
    """Tokens of a text: one for every four bytes of UTF-8, rounded up."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def shared_tokens(former: str, text: str) -> int:
    """Whole tokens in the longest common prefix of two texts."""
    pairs = zip(former.encode("utf-8", "replace"), text.encode("utf-8", "replace"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) // BYTES_PER_TOKEN


def render_prompt(messages: Iterable[Mapping[str, Any]], tools: Any = None) -> str:
    """The one text that a chat template makes of a conversation: tools first, in the manner of ChatML.

    Raises ValueError when the arguments of a former tool call are not JSON, as llama-server does.
    """
    head = f"<tools>\n{json.dumps(tools)}\n</tools>\n" if tools else ""
    return head + "".join(render_message(message) for message in messages) + OPENING


def render_message(message: Mapping[str, Any]) -> str:
    """One message of either protocol."""
    thinking = message.get("reasoning_content") or message.get("thinking") or ""
    calls = "".join(_render_call(call["function"]) for call in message.get("tool_calls") or ())
    think = f"<think>{thinking}</think>" if thinking else ""
    return f"<|im_start|>{message.get('role')}\n{think}{words(message.get('content'))}{calls}<|im_end|>\n"


def _render_call(function: Mapping[str, Any]) -> str:
    args = function.get("arguments") or {}
    args = json.loads(args) if isinstance(args, str) else args
    return f"<tool_call>{json.dumps({'name': function.get('name'), 'arguments': args})}</tool_call>"


def words(content: Any) -> str:
    """A message's text, given as one string or as a list of parts; a result of a tool is such a text too."""
    if isinstance(content, list):
        return "".join(_part(part) for part in content)
    return str(content or "")


def _part(part: Mapping[str, Any]) -> str:
    if part.get("type") == "tool_result":
        return words(part.get("content"))
    if "functionResponse" in part:
        return " ".join(map(str, part["functionResponse"].get("response", {}).values()))
    return str(part.get("text", ""))


def split_words(text: str) -> list[str]:
    """A text in the pieces in which it is streamed: words, each with the space before it."""
    return re.findall(r"\s*\S+|\s+", text)
