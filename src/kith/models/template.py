"""What a chat template takes, told by the words in it."""

from dataclasses import dataclass
from typing import Final

_TOOLS: Final = ("tools", "tool_call")
_THINKS: Final = ("<think>", "enable_thinking", "reasoning", "<|channel|>", "[THINK]")


@dataclass(frozen=True, slots=True)
class Template:
    """What a chat template takes: tools, and thinking."""

    tools: bool = False
    thinking: bool = False


def read_template(text: str) -> Template:
    """What a chat template takes; words in a comment or a string count too."""
    return Template(any(word in text for word in _TOOLS), any(word in text for word in _THINKS))
