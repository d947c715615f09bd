"""A council for people: a block for each speaker, with its letter and in its colour; claims, the decision."""

import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from kith.core.decisions import Claimed, Concluded
from kith.core.events import Event, Said
from kith.core.numbers import dollars
from kith.core.values import Message
from kith.features.confer.history import Minutes, speaker_of
from kith.terminal.rendering.activity import FeatureLine
from kith.view.lines import count, shortened
from kith.view.printing import printable

WIDTH: Final = 80  # columns, at the most
COLOURS: Final[Mapping[str, str]] = {"A": "cyan", "B": "magenta", "C": "blue"}
_MARKS: Final = {"confirmed": ("✓", "green"), "refuted": ("✗", "red"), "unchecked": ("·", "dim")}
_INDENT: Final = "     "


def margin(label: str) -> str:
    """Return the prefix of a speaker's lines: readable without colour."""
    return f"{label} │ "


def colour(label: str) -> str:
    return COLOURS.get(label, "bold")


def heading(label: str, name: str, what: str = "") -> FeatureLine:
    """The line above a block."""
    words = " ".join(filter(None, (printable(name), what)))
    return colour(label), shortened(f"{label} ┌ {words}", WIDTH)


def block(label: str, message: Message) -> Iterator[FeatureLine]:
    """Wrap a speaker's message behind its letter; a cut message says so."""
    text = message.text if message.complete else f"{message.text} (cut short)"
    for line in printable(text).strip().split("\n"):
        for part in textwrap.wrap(line, WIDTH - len(margin(label)), break_long_words=True) or [""]:
            yield colour(label), f"{margin(label)}{part}".rstrip()


def claim_lines(claim: Claimed) -> Iterator[FeatureLine]:
    """Show a claim, its evidence, and the result of the check."""
    mark, style = _MARKS[claim.check]
    who = f"{claim.by} on {claim.of}"
    said = f": {claim.text}" if claim.text.strip() else ""
    yield from _wrap(style, f"{mark} {claim.id} {claim.check}, {who}{said}", "", _INDENT)
    for more in (claim.evidence, claim.why):
        yield from _wrap("dim", more, _INDENT, _INDENT)


def conclusion_lines(concluded: Concluded) -> Iterator[FeatureLine]:
    """The last lines: whose plan holds, what decided it, and what that cost against a single call."""
    figures, name = concluded.figures, concluded.members.get(concluded.choice, "")
    yield from _wrap("green", f"→ {concluded.choice} ({name}). {concluded.why}", "", "  ")
    tokens, single = int(figures.get("tokens", 0)), int(figures.get("single_tokens", 0))
    usd = f", {dollars(figures['usd'])}" if figures.get("usd") else ""
    claims = int(figures.get("claims", 0))
    said = f"; {count(claims, 'claim')}, {int(figures.get('confirmed', 0))} confirmed" if claims else ""
    one = f" (one call: {single:,})" if single else ""
    yield from _wrap("dim", f"{tokens:,} tokens{one}{usd}{said}", "  ", "  ")


def _wrap(style: str, text: str, first: str, others: str) -> Iterator[FeatureLine]:
    plain = printable(" ".join(text.split()))
    for line in textwrap.wrap(plain, WIDTH, initial_indent=first, subsequent_indent=others):
        yield style, line


def council_lines(event: Event) -> Iterator[FeatureLine]:
    """Show a council's event to people: a whole block, a claim, the decision; else nothing."""
    if isinstance(event, Claimed):
        yield from claim_lines(event)
    elif isinstance(event, Concluded):
        yield from conclusion_lines(event)
    elif isinstance(event, Said) and (label := speaker_of(event)):
        yield heading(label, event.message.author)
        yield from block(label, event.message)


def show_minutes(minutes: Minutes, show: Callable[[str, str], object]) -> None:
    """A council from its first word to its last, as it is kept; `show` takes a line and its style."""
    show(f"Council {minutes.id}: {shortened(printable(minutes.question), WIDTH - 22)}", "")
    for who, what in minutes.said:
        if isinstance(what, Claimed):
            lines = claim_lines(what)
        elif what.role == "assistant" and "/" not in who:
            style, text = heading(who, minutes.members.get(who, what.author))
            show(text, style)
            lines = block(who, what)
        else:
            continue
        for style, text in lines:
            show(text, style)
    if minutes.concluded:
        for style, text in conclusion_lines(minutes.concluded):
            show(text, style)
