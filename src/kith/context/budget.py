"""Estimate tokens, fit texts to a budget, and divide the window among a prompt's parts."""

import re
from typing import Final

from kith.core.values import Image

# Hundredths of a token per byte of each class. Least squares on 300 samples (Python, C++, prose, lists of
# paths, other scripts; 400 to 8,000 characters) against the Qwen 2 tokenizer, then raised until 98 of 100
# samples are not underestimated: code and prose come out 1.2 to 1.4 times too high, never under 0.93.
_CLASSES: Final = (
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    b"0123456789",
    b"\r\n",
    b" \t",
    bytes(range(128, 256)),
)
_CAUTIOUS: Final = (28, 100, 70, 12, 50, 80)  # in the order of the classes, then everything else
# The other end: of 400 samples of the same kinds, and of hexadecimal, Base64 and numbers, none came below it
# by the Qwen 2 tokenizer, nor at a token for every four bytes. Llama 3 takes three digits at once.
_FEWEST: Final = (17, 28, 20, 2, 12, 24)
_RUN: Final = re.compile(rb"(.)\1{2,}", re.DOTALL)
_MARKER: Final = "\n[... {} characters left out ...]\n"


# Pixels of one token of a picture, and the tokens of the smallest and the largest one.
_PIXELS, _LEAST_OF_PICTURE, _MOST_OF_PICTURE = 750, 256, 4_096


def estimate_tokens(text: str) -> int:
    """A cautious count of tokens, about 25 ms for a megabyte.

    It is never more for a whole than for its parts together, so parts that fit a budget one by one fit
    it together.
    """
    return -(_price(text.encode("utf-8", "surrogatepass"), _CAUTIOUS) // -100)


def picture_tokens(image: Image) -> int:
    """A cautious count of what a picture takes: models cut it into squares of 27 or 28 pixels, up to a limit.

    Sources: https://platform.claude.com/docs/en/build-with-claude/vision (width times height by 750), and
    Qwen2.5-VL (28 by 28 pixels); others take 256 for any picture.
    """
    return min(_MOST_OF_PICTURE, max(_LEAST_OF_PICTURE, image.width * image.height // _PIXELS))


def fewest_tokens(text: str) -> int:
    """A count that no tokenizer in use goes below, typically two thirds of the true one.

    Runs of one character (rulers, indentation) count as two of them: vocabularies hold tokens for long runs.
    """
    return _price(_RUN.sub(rb"\1\1", text.encode("utf-8", "surrogatepass")), _FEWEST) // 100


def _price(data: bytes, prices: tuple[int, ...]) -> int:
    """Sum the cost of all bytes, in hundredths of a token."""
    cost, rest = 0, len(data)
    for members, price in zip(_CLASSES, prices, strict=False):
        found = len(data) - len(data.translate(None, members))
        cost += found * price
        rest -= found
    return cost + rest * prices[-1]


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


# How much of a window each thing may take that kith adds to a task.

ASSUMED_WINDOW: Final = 16_384  # tokens, where nobody tells


def output_room(window: int, most: int) -> int:
    """Return the bytes that one tool may answer with: about a sixth of the window, at 3 bytes a token."""
    return max(2_000, min(most, (window or ASSUMED_WINDOW) // 2))


def opening_room(window: int) -> int:
    """Return the tokens for the project's layout: a twelfth of the window, with a fixed maximum.

    They are read before the first answer, and a CPU alone reads slowly.
    """
    return min(window or ASSUMED_WINDOW, ASSUMED_WINDOW) // 12


def knowledge_room(window: int) -> int:
    """Return the tokens for agent notes and the list of skills together: an eighth of the window."""
    return min(window or ASSUMED_WINDOW, 4 * ASSUMED_WINDOW) // 8
