"""Where calls stand in a reply: from its first word to its last, past everything that only shows code."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kith.models.dialects.found import Found
from kith.models.dialects.mistral import read_mistral
from kith.models.dialects.pythonic import read_python
from kith.models.dialects.raw import read_glm, read_qwen
from kith.models.dialects.tagged import read_harmony, read_hermes, read_request

Reader = Callable[[str, int, bool], tuple[Found, ...]]


def _read_tool_call(text: str, at: int, mend: bool) -> tuple[Found, ...]:
    """Three dialects begin with `<tool_call>`; what follows tells them apart."""
    return read_qwen(text, at, mend) or read_glm(text, at, mend) or read_hermes(text, at, mend)


_READERS: Mapping[str, Reader] = {
    "tool_call": _read_tool_call,
    "function": read_qwen,
    "mistral": read_mistral,
    "request": read_request,
    "python": read_python,
    "harmony": read_harmony,
}
# A mark counts where it stands free. Fenced and inline code, search/replace blocks and thoughts quote it.
_MARK = re.compile(
    r"""
      ^[ \t]*(?P<fence>`{3,}|~{3,})[^`\n]*$
    | (?P<code>`+)
    | ^<{5,9}[ ](?P<block>SEARCH)
    | (?P<thinking><think>)
    | (?P<thought></think>)
    | ^[ \t]*(?P<answer><tool_response>)
    | (?P<tool_call><tool_call>)
    | (?P<function><function(?:=|\ name=))
    | (?P<mistral>\[TOOL_CALLS\])
    | (?P<request>\[TOOL_REQUEST\])
    | (?P<python><\|python_(?:tag|start)\|>)
    | (?P<harmony>(?:<\|start\|>assistant)?<\|channel\|>)
    """,
    re.MULTILINE | re.VERBOSE,
)
_THOUGHTS = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_BLOCK_END = re.compile(r"^>{5,9} REPLACE", re.MULTILINE)


@dataclass(slots=True)
class Marked:
    """The free-standing calls of a text in their order, and where the model's own words begin and end.

    `begin`: after its thoughts. `end`: before an answer that the model made up itself. `fences` are the
    places of fenced code, from the opening line to the end of the closing one.
    """

    begin: int
    end: int
    calls: list[Found] = field(default_factory=list)
    fences: list[tuple[int, int]] = field(default_factory=list)


def after_thoughts(text: str) -> int:
    """Where a reply goes on after the thoughts that it begins with."""
    thoughts = _THOUGHTS.match(text)
    return thoughts.end() if thoughts else 0


def mark_calls(text: str, mend: bool) -> Marked:
    """Everything in a text that has the form of a call, whatever tool it names."""
    marked, at, last = Marked(0, len(text)), 0, 0
    while mark := _MARK.search(text, at):
        kind = mark.lastgroup or ""
        if kind == "thought":  # its beginning stood in the prompt: all so far was thinking
            marked = Marked(mark.end(), len(text))
        elif kind == "answer" and marked.calls:
            marked.end = mark.start()
            break
        elif kind in _READERS:
            found = _READERS[kind](text, mark.start(), mend)
            if found and not _is_shown(text, last, found[0]):
                marked.calls += found
            if found:
                at = last = found[0].end
                continue
        at = _past(text, mark, kind)
        if kind == "fence":
            marked.fences.append((mark.start(), at))
    return marked


def is_marked(text: str, begin: int, end: int) -> bool:
    """Whether something between two places may be a call, or quotes one: anything but inline code."""
    return any(mark.lastgroup != "code" for mark in _MARK.finditer(text, begin, end))


def _past(text: str, mark: re.Match[str], kind: str) -> int:
    """Where to look on: after the whole of what quotes, after the mark itself otherwise."""
    if kind == "thinking":
        end = text.find("</think>", mark.end())
        return mark.end() if end < 0 else end + len("</think>")
    if kind == "block":
        closed = _BLOCK_END.search(text, mark.end())
        return closed.end() if closed else mark.end()
    if kind == "fence":
        ticks = mark["fence"]
        fence = re.compile(rf"^[ \t]*{ticks[0]}{{{len(ticks)},}}[ \t]*$", re.MULTILINE)
        closed = fence.search(text, mark.end())
        return closed.end() if closed else len(text)
    if kind == "code":
        ticks = re.escape(mark["code"])
        span = re.compile(rf"[^\n]*?(?<!`){ticks}(?!`)").match(text, mark.end())
        return span.end() if span else mark.end()
    return mark.end()


def _is_shown(text: str, last: int, found: Found) -> bool:
    """Whether a call stands in the middle of a sentence: words before and after it on its own lines."""
    line_start = max(text.rfind("\n", 0, found.start) + 1, last)
    line_end = text.find("\n", found.end)
    after = text[found.end : line_end if line_end >= 0 else len(text)].strip()
    return bool(text[line_start : found.start].strip()) and bool(after) and not _MARK.match(after)
