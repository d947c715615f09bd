"""A prompt as it may leave the machine: what is secret is taken out, the same way each time."""

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from enum import Enum
from pathlib import PurePath
from typing import Any, Final, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from kith.context.secrets import entropy, find_spans
from kith.core.model import Prompt
from kith.core.values import Image, Message, Part, Text, Thinking, ToolCall, ToolResult

# Where any of many values stands in a text, in the time that the text alone takes.

_BLOCK: Final = 8  # characters that are looked up at once
PIECE: Final = 2 * _BLOCK - 1  # characters of the shortest piece that holds a whole block wherever it begins

Places = dict[str, list[tuple[str, int]]]  # a block of characters -> the values that hold it, and where


class Occurrences:
    """Find `values` as a whole, and pieces of 15 characters or more of those `in_pieces`.

    The text is cut into blocks. Every value contains a block that begins among its first characters, so only
    these are looked up. The time depends on the text alone.
    """

    def __init__(self, values: Iterable[str], in_pieces: Iterable[str] = ()) -> None:
        self._whole: dict[int, Places] = {}
        for value in values:
            size = _block_of(value)
            _add(self._whole.setdefault(size, {}), value, size, range(size))
        self._parts: Places = {}
        for value in in_pieces:
            _add(self._parts, value, _BLOCK, range(len(value) - _BLOCK + 1))

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """The start and end of each occurrence, in no order; they may overlap."""
        for size, blocks in self._whole.items():
            for at, value, begin in _met(text, blocks, size):
                if at >= begin and text.startswith(value, at - begin):
                    yield at - begin, at - begin + len(value)
        seen: dict[str, int] = {}  # up to where pieces of a value are known
        for at, value, begin in _met(text, self._parts, _BLOCK):
            if at >= seen.get(value, 0):
                start, end = _grown(text, at, value, begin)
                if end - start >= PIECE:
                    seen[value] = end
                    yield start, end


def _block_of(value: str) -> int:
    """Return the block size for a value in characters; there are few sizes, since each costs a pass."""
    return _BLOCK if len(value) >= PIECE else 3 if len(value) >= 5 else 1


def _add(blocks: Places, value: str, size: int, begins: range) -> None:
    for begin in begins:
        blocks.setdefault(value[begin : begin + size], []).append((value, begin))


def _met(text: str, blocks: Places, size: int) -> Iterator[tuple[int, str, int]]:
    """Each block of the text that values hold: where it begins in the text, the value, and where in that."""
    if blocks:
        for at in range(0, len(text) - size + 1, size):
            if found := blocks.get(text[at : at + size]):
                yield from ((at, value, begin) for value, begin in found)


def _grown(text: str, at: int, value: str, begin: int) -> tuple[int, int]:
    """The longest piece of `value` around its block at `at`."""
    first, last = 0, _BLOCK
    while begin + first > 0 and at + first > 0 and text[at + first - 1] == value[begin + first - 1]:
        first -= 1
    while begin + last < len(value) and at + last < len(text) and text[at + last] == value[begin + last]:
        last += 1
    return at + first, at + last


T = TypeVar("T")
MARK: Final = "[secret left out]"
_LONG, _BITS = 20, 3.5  # characters; bits in each (Shannon's), below which it may be words
_KEPT: Final = 4096  # messages whose redacted form is remembered
# Texts of so many characters that are remembered: events tell of one several times.
_TEXTS, _WORTH = 64, 2_000
_IN_HTML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
# Fields that name things: nobody could find them again under another name.
_NAMES: Final = frozenset(
    (
        *("id", "call_id", "question_id", "change_id", "undoes", "digest"),
        *("root", "opaque", "thread", "pattern", "subject"),
    )
)
# A private key as a whole, with the line numbers or quotes that stand around its lines.
_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:\\[nr]|[\s\"'+,>|:]|\d{1,6}(?=[\t :|])){0,16}[A-Za-z0-9+/=]{16,})+"
    r"(?:[^-]{0,80}-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----)?"
)


class Redactor:
    """Removes secrets from prompts: `values` anywhere, and text that looks like a key.

    Of long random values pieces go too (a test's report shows the beginning of what it compared). What the
    model called `own` said and signed goes back to it unread. Messages never change, so each is looked at
    once. Without `forms`, only the values are removed.
    """

    def __init__(self, values: Iterable[str] = (), own: str | None = None, *, forms: bool = True) -> None:
        self._own, self._forms = own, forms
        spelt = {each for value in values if value for each in _spellings(value)}
        self.has_phrases = any(" " in value for value in spelt)  # a part of one is no secret by itself
        self._values = Occurrences(spelt, filter(_is_known_in_pieces, spelt))
        self._kept: dict[int, tuple[Message, Message, int]] = {}
        self._texts: dict[str, tuple[str, int]] = {}

    def redact(self, prompt: Prompt) -> tuple[Prompt, int]:
        """The prompt without secrets, and how many were taken out of it."""
        system, found = self.clean(prompt.system)
        messages = list[Message]()
        for message in prompt.messages:
            cleaned, count = self._message(message)
            messages.append(cleaned)
            found += count
        return (replace(prompt, system=system, messages=tuple(messages)), found) if found else (prompt, 0)

    def strip(self, value: T, kept: frozenset[str] = _NAMES) -> T:
        """A value without secrets in any text of it, the same object where none is; fields in `kept` stay.

        What a provider signed is not its own any more once something was taken out of it. Raises TypeError
        for a value of a type that is not known here: it might hold a text that nobody looked at.
        """
        return cast(T, self._strip(value, kept))

    def _strip(self, value: Any, kept: frozenset[str]) -> Any:
        match value:
            case Enum() | type() | None | bool() | int() | float() | date() | timedelta():
                return value
            case str():
                return self.clean(value)[0]
            case PurePath():
                text = str(value)
                return value if (cleaned := self.clean(text)[0]) == text else type(value)(cleaned)
            case bytes():
                text = value.decode("utf-8", "surrogateescape")
                cleaned = self.clean(text)[0]
                return value if cleaned == text else cleaned.encode("utf-8", "surrogateescape")
            case tuple() | list() | set() | frozenset():
                items = [self._strip(item, kept) for item in value]
                if _all_same(items, value):
                    return value
                make = getattr(type(value), "_make", type(value))  # a named tuple's parts are its arguments
                return make(items)
            case Mapping():
                pairs = [(self._strip(key, kept), self._strip(item, kept)) for key, item in value.items()]
                same = all(map(_all_same, pairs, value.items()))
                return value if same else dict(pairs)
            case Struct():
                news = self._strip_fields(value, value.__struct_fields__, kept)
                if news and isinstance(value, ToolCall | Thinking):
                    news["opaque"] = ""
                return replace(value, **news) if news else value
        if is_dataclass(value) and not isinstance(value, type):
            news = self._strip_fields(value, tuple(each.name for each in fields(value)), kept)
            return dataclasses.replace(value, **news) if news else value
        raise TypeError(f"Nobody knows which texts a {type(value).__name__} holds.")

    def _strip_fields(self, value: Any, names: Iterable[str], kept: frozenset[str]) -> dict[str, Any]:
        """The fields that held a secret, with their new values."""
        held = {name: getattr(value, name) for name in names if name not in kept}
        return {name: new for name, old in held.items() if (new := self._strip(old, kept)) is not old}

    def clean(self, text: str) -> tuple[str, int]:
        """A text without secrets, and how many were taken out."""
        if len(text) < _WORTH:
            return self._clean(text)
        if text not in self._texts:
            if len(self._texts) >= _TEXTS:
                self._texts.pop(next(iter(self._texts)))
            self._texts[text] = self._clean(text)
        return self._texts[text]

    def _clean(self, text: str) -> tuple[str, int]:
        merged = list[tuple[int, int]]()
        for start, end in sorted(self._places(text)):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        pieces, at = list[str](), 0
        for start, end in merged:
            pieces += (text[at:start], _in_place_of(text[start:end]))
            at = end
        return ("".join((*pieces, text[at:])), len(merged)) if merged else (text, 0)

    def _places(self, text: str) -> Iterator[tuple[int, int]]:
        if self._forms:
            yield from ((span.start, span.end) for span in find_spans(text))
        if self._forms and "PRIVATE KEY" in text:
            yield from (match.span() for match in _PRIVATE_KEY.finditer(text))
        yield from self._values.find(text)

    def _message(self, message: Message) -> tuple[Message, int]:
        kept = self._kept.get(id(message))
        if kept is not None and kept[0] is message:  # an id may be used again
            return kept[1:]
        if len(self._kept) >= _KEPT:
            self._kept.clear()
        cleaned = [self._part(part, signed=message.author == self._own) for part in message.parts]
        count = sum(found for _, found in cleaned)
        other = replace(message, parts=tuple(part for part, _ in cleaned)) if count else message
        self._kept[id(message)] = (message, other, count)
        return other, count

    def _part(self, part: Part, *, signed: bool) -> tuple[Part, int]:
        if isinstance(part, Image) or (isinstance(part, ToolCall | Thinking) and part.opaque and signed):
            return part, 0
        if isinstance(part, ToolCall):
            args, found = self._data(dict(part.args))
            return (replace(part, args=args, opaque=""), found) if found else (part, 0)
        text, found = self.clean(part.text)
        return (_with_text(part, text), found) if found else (part, 0)

    def _data(self, data: Any) -> tuple[Any, int]:
        """A call's arguments, every text in them cleaned. Raises TypeError for what is not JSON."""
        if isinstance(data, str):
            return self.clean(data)
        if isinstance(data, Mapping):
            pairs = [(self.clean(str(key)), self._data(value)) for key, value in data.items()]
            found = sum(key[1] + value[1] for key, value in pairs)
            return {key[0]: value[0] for key, value in pairs}, found
        if isinstance(data, list | tuple):
            items = [self._data(item) for item in data]
            return [item for item, _ in items], sum(count for _, count in items)
        if data is None or isinstance(data, bool | int | float):
            return data, 0
        raise TypeError(f"A call's arguments are JSON, and a {type(data).__name__} is not.")


def _spellings(value: str) -> tuple[str, ...]:
    """A value as written in a text, in JSON and in HTML."""
    return value, json.dumps(value)[1:-1], value.translate(_IN_HTML)


def _all_same(new: Iterable[object], old: Iterable[object]) -> bool:
    return all(one is other for one, other in zip(new, old, strict=True))


def _in_place_of(secret: str) -> str:
    """The mark on its first line; the other lines stay, empty, with what a diff puts before them."""
    _, *others = secret.split("\n")
    return "\n".join((MARK, *(line[:1] if line[:1] in tuple("+- ") else "" for line in others)))


def _with_text(part: Text | Thinking | ToolResult, text: str) -> Part:
    return replace(part, text=text)


def _is_known_in_pieces(value: str) -> bool:
    """True if a value is long, random and one piece, so that a part of it identifies it."""
    return len(value) >= _LONG and entropy(value) >= _BITS and _is_solid(value)


def _is_solid(value: str) -> bool:
    """True if a value is one piece, not a path, address or sentence."""
    joints = sum(value.count(mark) for mark in "/. ")
    return "://" not in value and joints <= max(2, len(value) // 12)
