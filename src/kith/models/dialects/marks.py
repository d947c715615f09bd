"""Find marked calls in a reply, and stream a reply without them."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.core.events import Delta, Event
from kith.core.model import Emit
from kith.core.patterns import lazy_pattern
from kith.models.dialects.json_text import Found, guess_name, named_in, read_json, read_object, skip
from kith.models.dialects.pythonic import read_python

_TOOL_CALLS = "[TOOL_CALLS]"
_LIST = lazy_pattern(r"\s*(?=[\[{])")
_NAME = lazy_pattern(r"\s*([\w.:-]+)(?:\[CALL_ID\][\w-]*)?(?:\[ARGS\])?\s*(?=\{)")
_END = lazy_pattern(r"\s*</s>")


def read_mistral(text: str, at: int, repair: bool) -> tuple[Found, ...]:
    """`[TOOL_CALLS][{"name": ..., "arguments": {...}}]`, or `[TOOL_CALLS]name[ARGS]{...}`."""
    body = at + len(_TOOL_CALLS)
    again = text.find(_TOOL_CALLS, body)
    stop = again if again >= 0 else len(text)
    named = _NAME.match(text, body)
    if named is None and not _LIST.match(text, body):
        return ()
    if named:
        args, end, why = read_object(text, named.end(), stop, repair)
        return (Found(at, skip(text, end, _END), named[1], args, why),)
    value, end, why = read_json(text, body, stop, repair)
    end = skip(text, end, _END)
    if why:
        return (Found(at, end, guess_name(text[body:end]), {}, why),)
    calls = named_in(value, repair)
    if not calls:
        return (Found(at, end, "", {}, "it has no name of a tool"),)
    return tuple(Found(at, end, call.name, call.args, call.fault) for call in calls)


# --- raw text between tags: Qwen's XML, GLM's keys and values ------------------------------------


_FUNCTION = lazy_pattern(r'(?:<tool_call>\s*)?<function(?:=|\s+name=)\s*["\']?([^\s"\'<>]+)["\']?\s*>')
_PARAMETER = lazy_pattern(r'\s*<parameter(?:=|\s+name=)\s*["\']?([^\s"\'<>]+)["\']?\s*>')
# What closes a parameter stands before the next one or the end of the call: code may well hold the tag.
_PARAMETER_END = lazy_pattern(r"</parameter>(?=\s*(?:<parameter[=\s]|</function>|</tool_call>|\Z))")
_CLOSING = "</function>"
_FUNCTION_END = lazy_pattern(r"\s*</function>(?:\s*</tool_call>)?")
_CALL_END = lazy_pattern(r"\s*</tool_call>")

_GLM = lazy_pattern(r"<tool_call>\s*([\w.:-]+)\s*(?=<arg_key>|</tool_call>|\Z)")
_KEY = lazy_pattern(r"\s*<arg_key>\s*([^<>]*?)\s*</arg_key>\s*<arg_value>")
_VALUE_END = lazy_pattern(r"</arg_value>(?=\s*(?:<arg_key>|</tool_call>|\Z))")

BREAKS_OFF = "it breaks off before its end"


def read_qwen(text: str, at: int, repair: bool) -> tuple[Found, ...]:
    """`<function=name><parameter=key>` raw text `</parameter></function>`, with `<tool_call>` around or not.

    A parameter's text is taken as it is; one line break after its first tag and one before its last belong
    to the tags.
    """
    opening = _FUNCTION.match(text, at)
    if not opening:
        return ()
    name, args, place = opening[1], dict[str, str](), opening.end()
    if re.compile(r"\s*\{").match(text, place):
        return (_with_json(text, at, place, name, repair),)
    while parameter := _PARAMETER.match(text, place):
        closing = _PARAMETER_END.search(text, parameter.end())
        end = closing.start() if closing else text.find(_CLOSING, parameter.end())
        if end < 0:
            return (Found(at, len(text), name, {}, BREAKS_OFF),)
        args[parameter[1]] = text[parameter.end() : end].removeprefix("\n").removesuffix("\n")
        place = closing.end() if closing else end
    closing = _FUNCTION_END.match(text, place)
    if closing:
        return (Found(at, closing.end(), name, args),)
    # The model may have left the last tags out, but then nothing else may stand in their place.
    rest = skip(text, place, _CALL_END)
    if repair and args and (rest > place or not text[place:].strip()):
        return (Found(at, rest, name, args),)
    late = text.find(_CLOSING, place)
    if late < 0:
        prose = not args and text[place:].strip()[:1] not in ("", "<")  # about the mark
        return () if prose else (Found(at, len(text), name, {}, BREAKS_OFF),)
    why = "its parameters are not between <parameter=...> tags"
    return (Found(at, skip(text, late, _FUNCTION_END), name, {}, why),)


def _with_json(text: str, at: int, place: int, name: str, repair: bool) -> Found:
    """`<function=name>{...}</function>`, as Llama 3.1 writes it."""
    late = text.find(_CLOSING, place)
    args, end, why = read_object(text, place, late if late >= 0 else len(text), repair)
    return Found(at, skip(text, end, _FUNCTION_END), name, args, why)


def read_glm(text: str, at: int, repair: bool) -> tuple[Found, ...]:
    """`<tool_call>name`, then `<arg_key>key</arg_key><arg_value>` raw text `</arg_value>` for each key."""
    opening = _GLM.match(text, at)
    if not opening:
        return ()
    name, args, place = opening[1], dict[str, str](), opening.end()
    while key := _KEY.match(text, place):
        end = _VALUE_END.search(text, key.end())
        if end is None:
            return (Found(at, len(text), name, {}, BREAKS_OFF),)
        args[key[1]] = text[key.end() : end.start()]
        place = end.end()
    closing = _CALL_END.match(text, place)
    if closing:
        return (Found(at, closing.end(), name, args),)
    if repair and args and not text[place:].strip():
        return (Found(at, len(text), name, args),)
    return (Found(at, len(text), name, {}, BREAKS_OFF),)


# --- JSON between tags: Hermes, Qwen 2 and 3, LM Studio, harmony ---------------------------------


_BLANKS = lazy_pattern(r"\s*")
_BETWEEN = lazy_pattern(r"[\s,;]*(?=\{)")
_JSON = lazy_pattern(r"\s*(?:[{\[]|\Z)")
_REST = lazy_pattern(r"[\s}\]]*")
# <|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path": "a.py"}<|call|>
_HARMONY = lazy_pattern(
    r"(?:<\|start\|>assistant)?<\|channel\|>\w+ to=(?:functions\.)?([\w-]+)[^{}\n]{0,40}?<\|message\|>",
    re.IGNORECASE,
)
_HARMONY_END = lazy_pattern(r"<\|(?:call|end|return)\|>")


def read_hermes(text: str, at: int, repair: bool) -> tuple[Found, ...]:
    """`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, the end tag left out at will."""
    return _read_between(text, at, at + len("<tool_call>"), "</tool_call>", "\n<tool_call>", repair)


def read_request(text: str, at: int, repair: bool) -> tuple[Found, ...]:
    """`[TOOL_REQUEST]{...}[END_TOOL_REQUEST]`, which LM Studio teaches models without a form of their own."""
    return _read_between(
        text, at, at + len("[TOOL_REQUEST]"), "[END_TOOL_REQUEST]", "\n[TOOL_REQUEST]", repair
    )


def _read_between(
    text: str, start: int, body: int, closing: str, again: str, repair: bool
) -> tuple[Found, ...]:
    """The calls from `start`, as JSON from `body` to a closing tag, to the next call or to the text's end."""
    ends = (text.find(closing, body), text.find(again, body), len(text))
    stop, at = min(end for end in ends if end >= 0), body
    if not text.startswith(closing, stop) and not _JSON.match(text, body):
        return ()  # prose about the mark
    values: list[Any] = []
    while at == body or text[at : at + 1] == "{":  # some models put all their calls between one pair of tags
        value, at, why = read_json(text, at, max(stop, at), repair)
        if why:
            inside = text[body:stop]
            why = why if inside.strip() else "it is empty"
            return (Found(start, _past_tag(text, stop, closing), guess_name(inside), {}, why),)
        values += value if isinstance(value, list) else [value]
        at = skip(text, at, _BETWEEN)
    calls, end = named_in(values, repair), _past_tag(text, at, closing)
    if not calls:
        return (Found(start, end, "", {}, "it has no name of a tool"),)
    return tuple(Found(start, end, call.name, call.args, call.fault) for call in calls)


def _past_tag(text: str, at: int, closing: str) -> int:
    """After the closing tag, if it comes next; an extra bracket may come before it."""
    tag = skip(text, at, _REST)
    return tag + len(closing) if text.startswith(closing, tag) else at


def read_harmony(text: str, at: int, repair: bool) -> tuple[Found, ...]:
    """Parse the text of gpt-oss's channels, from a server that does not know them."""
    opening = _HARMONY.match(text, at)
    if not opening:
        return ()
    closed = _HARMONY_END.search(text, opening.end())
    args, end, why = read_object(text, opening.end(), closed.start() if closed else len(text), repair)
    return (Found(at, skip(text, skip(text, end, _BLANKS), _HARMONY_END), opening[1], args, why),)


# --- which marks stand for which dialect ---------------------------------------------------------


Reader = Callable[[str, int, bool], tuple[Found, ...]]


def _read_tool_call(text: str, at: int, repair: bool) -> tuple[Found, ...]:
    """Three dialects begin with `<tool_call>`; what follows tells them apart."""
    return read_qwen(text, at, repair) or read_glm(text, at, repair) or read_hermes(text, at, repair)


_READERS: Mapping[str, Reader] = {
    "tool_call": _read_tool_call,
    "function": read_qwen,
    "mistral": read_mistral,
    "request": read_request,
    "python": read_python,
    "harmony": read_harmony,
}
# A mark counts where it stands free. Fenced and inline code, search/replace blocks and thoughts quote it.
_MARK = lazy_pattern(
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
_THOUGHTS = lazy_pattern(r"\s*<think>.*?</think>", re.DOTALL)
_BLOCK_END = lazy_pattern(r"^>{5,9} REPLACE", re.MULTILINE)


class Marked(Struct):
    """The free-standing calls of a text in their order, and where the model's own words begin and end.

    `begin`: after its thoughts. `end`: before an answer that the model made up itself. `fences` are the
    places of fenced code, from the opening line to the end of the closing one.
    """

    begin: int
    end: int
    calls: list[Found] = field(default_factory=list)
    fences: list[tuple[int, int]] = field(default_factory=list)


def after_thoughts(text: str) -> int:
    """Return the position after the thoughts at the start of a reply."""
    thoughts = _THOUGHTS.match(text)
    return thoughts.end() if thoughts else 0


def mark_calls(text: str, repair: bool) -> Marked:
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
            found = _READERS[kind](text, mark.start(), repair)
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
    """True if the text between two places may hold or quote a call: anything but inline code."""
    return any(mark.lastgroup != "code" for mark in _MARK.finditer(text, begin, end))


def _past(text: str, mark: re.Match[str], kind: str) -> int:
    """Return the position to search on from: after the whole of a quote, else after the mark."""
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
    """True if a call is in the middle of a sentence: words before and after it on its own lines."""
    line_start = max(text.rfind("\n", 0, found.start) + 1, last)
    line_end = text.find("\n", found.end)
    after = text[found.end : line_end if line_end >= 0 else len(text)].strip()
    return bool(text[line_start : found.start].strip()) and bool(after) and not _MARK.match(after)


# A reply as it streams, without the syntax of its calls.

_MARKS: Final = (
    "<tool_call>",
    "<function=",
    "[TOOL_CALLS]",
    "[TOOL_REQUEST]",
    "<|python_tag|>",
    "<|python_start|>",
    "<|channel|>",
)
_CALL_MARK: Final = lazy_pattern("|".join(map(re.escape, _MARKS)))
_BEGINNINGS: Final = frozenset(mark[:length] for mark in _MARKS for length in range(1, len(mark)))
_LONGEST: Final = max(map(len, _MARKS)) - 1


class CallFilter(Struct):
    """Hands events on; what streams as words counts as "tool" from the first mark of a call on.

    With `closed` from the start, all of it does.
    """

    emit: Emit
    closed: bool = False
    _shown: str = ""
    _held: str = ""  # the end of what came, which may be the beginning of a mark
    _reply: str = ""

    def hear(self, event: Event) -> None:
        """Take the next event."""
        if not (isinstance(event, Delta) and event.kind == "text"):
            self.emit(event)
            return
        self._reply = event.reply
        if self.closed:
            self.emit(replace(event, kind="tool"))
        else:
            self._take(self._held + event.text)

    def _take(self, text: str) -> None:
        mark = _CALL_MARK.search(text)
        if mark:
            self.closed, self._held = True, ""
            self._show(text[: mark.start()])
            self.emit(Delta(text[mark.start() :], "tool", self._reply))
            return
        lengths = range(min(_LONGEST, len(text)), 0, -1)
        keep = next((length for length in lengths if text[-length:] in _BEGINNINGS), 0)
        self._held = text[len(text) - keep :]
        self._show(text[: len(text) - keep])

    def _show(self, text: str) -> None:
        if text:
            self._shown += text
            self.emit(Delta(text, "text", self._reply))

    def end(self, words: str) -> None:
        """Show what is left of the reply's words, once it is known what they are."""
        if words.startswith(self._shown):
            self._show(words[len(self._shown) :])
