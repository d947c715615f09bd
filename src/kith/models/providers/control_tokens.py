"""Keep text from posing as the control tokens of a chat template.

Local servers render all messages into one text and then look for control tokens in it. A file that holds
`<|im_start|>system` would begin a system message. An invisible character behind the first one makes a token
ordinary text. What the model copies from it is restored.

Sources: llama.cpp (special tokens are parsed in the rendered prompt), and the added tokens of each family.
"""

import re
from functools import lru_cache
from typing import Any, Final

MARK: Final = "\u200b"  # in the vocabulary of most models, and nothing that one needs to write
_NAMES: Final = (
    r"/?(?:s|bos|eos|start_of_turn|end_of_turn|(?:SPECIAL|extra_id|reserved|unused)_?\d+|seed:[be]os|eo[hastm]"
    r"|so[ap]|_(?:user|bot|system|end)|end_of_utterance|longcat_(?:user|assistant|system|s))"
)
_LISTS: Final = (
    r"INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|AVAILABLE_TOOLS|MODEL_SETTINGS|ARGS|CALL_ID"
)
_TOKENS: Final = (
    r"<\|[^|<>\n]{1,60}\|?>",  # <|im_start|>, <|start|>, <|turn>
    r"<[a-z_]{1,30}\|>",  # <turn|>
    r"<｜[^｜<>\n]{1,60}｜>",  # DeepSeek: the bars are wide
    rf"<{_NAMES}>",
    r"<</?SYS>>",
    r"<role>(?:SYSTEM|HUMAN|ASSISTANT|OBSERVATION)</role>",  # Ling
    rf"\[/?(?:{_LISTS})\]",
    r"\[gMASK\]",
    r"\[\|[a-z]{1,20}\|\]",
    r"\]~!?b[\[\]]|\[e~\[",
)
_TOKEN: Final = re.compile("|".join(f"(?:{each})" for each in _TOKENS))
_MARKED: Final = re.compile(f"([<\\[\\]]){MARK}")
# Characters of a text that is remembered: a conversation is sent again with each request. Not pictures.
_WORTH: Final = range(500, 100_000)


def defuse(value: Any) -> Any:
    """JSON data in which no text holds a control token; the rest is the same."""
    if isinstance(value, str):
        return _defused(value) if len(value) in _WORTH else _TOKEN.sub(_mark, value)
    if isinstance(value, dict):
        return {defuse(key): defuse(each) for key, each in value.items()}
    return [defuse(each) for each in value] if isinstance(value, list | tuple) else value


def restore(value: Any) -> Any:
    """JSON data with the control tokens that `defuse` changed, as they were."""
    if isinstance(value, str):
        return _restored(value) if MARK in value else value
    if isinstance(value, dict):
        return {restore(key): restore(each) for key, each in value.items()}
    return [restore(each) for each in value] if isinstance(value, list | tuple) else value


@lru_cache(512)
def _defused(text: str) -> str:
    return _TOKEN.sub(_mark, text)


def _mark(found: re.Match[str]) -> str:
    return found[0][0] + MARK + found[0][1:]


def _restored(text: str) -> str:
    """Take out the marks that `defuse` set; others belong to the text."""
    plain = _MARKED.sub(r"\1", text)
    tokens = {_mark(found): found[0] for found in _TOKEN.finditer(plain)}
    for marked, token in tokens.items():
        text = text.replace(marked, token)
    return text
