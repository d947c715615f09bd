"""Long texts that were pasted: a short mark stands for each in the line, and it is whole when it is sent."""

from typing import Final

_LINES, _LENGTH = 8, 1_200  # lines and characters from which on a text is folded
_SHORTEST: Final = 200  # characters of a text that is worth being looked for in a message


class Pastes:
    """Every text that was folded, by its mark: `[paste 1: 312 lines]`."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}

    def take(self, text: str, line: str) -> str:
        """What to write into a `line` for a pasted text: itself, or its mark."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.rstrip("\n").count("\n") + 1
        if lines < _LINES and len(text) < _LENGTH:
            return text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        number = sum(mark in line for mark in self._held) + 1
        while self._held.setdefault(mark := f"[paste {number}: {size}]", text) != text:
            number += 1
        return mark

    def learn(self, pasted: "dict[str, str]") -> None:
        """Marks of an earlier conversation; one that means something else by now keeps its new meaning."""
        for mark, text in pasted.items():
            self._held.setdefault(mark, text)

    def used_in(self, line: str) -> dict[str, str]:
        """The marks in a line, and what they stand for."""
        return {mark: text for mark, text in self._held.items() if mark in line}

    def unfold(self, line: str) -> str:
        """The line with the texts in place of their marks."""
        for mark, text in self.used_in(line).items():
            line = line.replace(mark, text)
        return line

    def fold(self, words: str) -> str:
        """A message as it was written: with the marks."""
        for mark, text in self._held.items():
            if len(text) >= _SHORTEST or "\n" in text:
                words = words.replace(text, mark)
        return words

    def mark_before(self, line: str) -> str:
        """The mark that a line ends in; "" where it ends in none."""
        return next((mark for mark in self._held if line.endswith(mark)), "") if line.endswith("]") else ""
