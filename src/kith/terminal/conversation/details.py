"""What the lines of a conversation leave out: thoughts, and what tools were given and said, for Ctrl-O."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kith.core.events import Event, Said
from kith.core.values import ToolCall, ToolResult
from kith.terminal.rendering.spans import Line, Span, wrap
from kith.terminal.rendering.spans import words as words_of

_KEPT: Final = 60
_LONGEST: Final = 20_000  # characters of one
_EMPTY: Final = "Nothing was folded yet."


@dataclass(slots=True)
class Details:
    """The last things that were folded into a line: a title, and all of it."""

    kept: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=_KEPT))
    _calls: dict[str, ToolCall] = field(default_factory=dict)

    def hear(self, event: Event) -> None:
        """One event: calls and their results belong together."""
        if not isinstance(event, Said):
            return
        for call in event.message.calls:
            self._calls[call.id] = call
        for result in event.message.results:
            self._keep(self._calls.pop(result.call_id, None), result)

    def keep_thoughts(self, text: str) -> None:
        """What a model thought before it spoke."""
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

    def _keep(self, call: ToolCall | None, result: ToolResult) -> None:
        name = f"{call.name}({', '.join(_arguments(call.args))})" if call else "tool"
        mark = "" if result.ok else "  (failed)"
        self.kept.append((f"{name}{mark}", result.text[:_LONGEST]))


def _arguments(args: Mapping[str, Any]) -> Iterator[str]:
    for key, value in args.items():
        shown = " ".join(str(value).split())
        yield f"{key}={shown[:200]}{'...' if len(shown) > 200 else ''}"
