"""What a text costs in tokens before any server is asked, and texts made to fit."""

from typing import Final

# Hundredths of a token per byte of each class. Least squares on 300 samples (Python, C++, prose, lists of
# paths, other scripts; 400 to 8,000 characters) against the Qwen 2 tokenizer, then raised until 98 of 100
# samples are not underestimated: code and prose come out 1.2 to 1.4 times too high, never under 0.93.
_LETTERS, _DIGITS, _LINE_ENDS, _BLANKS, _WIDE, _OTHER = 28, 100, 70, 12, 50, 80
_CLASSES: Final = (
    (b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", _LETTERS),
    (b"0123456789", _DIGITS),
    (b"\r\n", _LINE_ENDS),
    (b" \t", _BLANKS),
    (bytes(range(128, 256)), _WIDE),
)
_MARKER: Final = "\n[... {} characters left out ...]\n"


def estimate_tokens(text: str) -> int:
    """A cautious count of tokens, about 25 ms for a megabyte.

    It is never more for a whole than for its parts together, so parts that fit a budget one by one fit
    it together.
    """
    data = text.encode("utf-8", "surrogatepass")
    cost, rest = 0, len(data)
    for members, price in _CLASSES:
        found = len(data) - len(data.translate(None, members))
        cost += found * price
        rest -= found
    return -((cost + rest * _OTHER) // -100)


def fit_middle(text: str, chars: int) -> str:
    """The text in at most `chars` characters: two thirds from its head, one third from its tail."""
    if len(text) <= chars:
        return text
    # The marker is as long as its number, which is at most the number of characters there are.
    room = chars - len(_MARKER.format(len(text)))
    if room <= 0:
        return text[: max(chars, 0)]
    tail = room // 3
    head = room - tail
    return text[:head] + _MARKER.format(len(text) - room) + text[len(text) - tail :]
