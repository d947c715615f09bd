"""What the lines of a conversation leave out: thoughts, and what tools were given and said, for Ctrl-O."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kith.terminal.rendering.spans import Line, Span, wrap
from kith.terminal.rendering.spans import words as words_of
from kith.view.items import ToolUse

_KEPT: Final = 60
_LONGEST: Final = 20_000  # characters of one
_EMPTY: Final = "Nothing was folded yet."


@dataclass(slots=True)
class Details:
    """The last things that were folded into a line: a title, and all of it."""

    kept: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def keep_use(self, use: ToolUse) -> None:
        """Keep a tool's arguments and its answer."""
        name = f"{use.call.name}({', '.join(_arguments(use.call.args))})" if use.call else "tool"
        if use.result:
            mark = "" if use.result.ok else "  (failed)"
            self.kept.append((f"{name}{mark}", use.result.text[:_LONGEST]))

    def keep_thoughts(self, text: str) -> None:
        """Keep a model's thoughts."""
        self.kept.append(("thought", text.strip()[-_LONGEST:]))

    def lines(self, width: int) -> list[Line]:
        """All that is kept, the newest first."""
        found: list[Line] = []
        for title, text in reversed(self.kept):
            found += [(), (Span(title, "title"),)]
            for line in text.split("\n"):
                indent = min(len(line) - len(line.lstrip(" ")), width // 2)
                begin = (Span("  " + " " * indent),)
                found += wrap(words_of(line.lstrip(" ")), width, begin, begin) or [()]
        return found[1:] or [(Span(_EMPTY, "dim"),)]


def _arguments(args: Mapping[str, Any]) -> Iterator[str]:
    for key, value in args.items():
        shown = " ".join(str(value).split())
        yield f"{key}={shown[:200]}{'...' if len(shown) > 200 else ''}"
