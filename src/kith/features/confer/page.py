"""A council in columns: what each member said, which claims held, and what decided."""

from collections.abc import Iterable, Iterator
from typing import Final

from kith.core.decisions import Claimed, Concluded
from kith.core.events import Event
from kith.core.numbers import dollars
from kith.core.values import Message
from kith.features.confer.history import Minutes, read_minutes
from kith.features.web.html.markdown import render_markdown
from kith.features.web.part import WebPart
from kith.view.lines import count
from kith.view.markup import NOTHING, Html, element

_MARKS: Final = {"confirmed": ("✓", "good"), "refuted": ("✗", "bad"), "unchecked": ("·", "dim")}
_BY: Final = {
    "tests": "Tests decided.",
    "evidence": "Evidence decided.",
    "agreement": "They agreed.",
    "judge": "A judge decided.",
    "limit": "It ended at a limit.",
}
_JUDGE: Final = "judge"


def council_html(minutes: Minutes) -> Html:
    """Show a council: a column for each speaker, and the result. Replies of kith's own are left out."""
    speakers = list(minutes.members) + [who for who, _ in minutes.said if _speaks(who)]
    chosen = minutes.concluded.choice if minutes.concluded else ""
    columns = [_column(minutes, who, who == chosen) for who in dict.fromkeys(speakers) if who != _JUDGE]
    judged = [_message(what) for who, what in minutes.said if who == _JUDGE and isinstance(what, Message)]
    return element(
        "section",
        element("p", minutes.question, class_="words question") if minutes.question else NOTHING,
        element("div", *columns, class_="columns"),
        element("div", element("p", element("strong", "Judge")), *judged, class_="judge")
        if judged
        else NOTHING,
        _conclusion(minutes.concluded) if minutes.concluded else NOTHING,
        class_="council",
        aria_label="Council",
    )


def _speaks(who: str) -> bool:
    return bool(who) and "/" not in who


def _column(minutes: Minutes, who: str, chosen: bool) -> Html:
    heard = [what for speaker, what in minutes.said if speaker == who]
    head = element(
        "p",
        element("span", who, class_="label"),
        element("span", minutes.members.get(who, ""), class_="dim"),
        element("span", "its proposal holds", class_="good") if chosen else NOTHING,
        class_="member",
    )
    said = [_claim(what) if isinstance(what, Claimed) else _message(what) for what in heard]
    return element("section", head, *said, class_="speaker chosen" if chosen else "speaker", aria_label=who)


def _message(message: Message) -> Html:
    """Show a model's message; messages of people and kith are left out."""
    if message.role != "assistant":
        return NOTHING
    cut = NOTHING if message.complete else element("p", "Cut short.", class_="warn")
    return element("article", render_markdown(message.text.strip()), cut, class_="prose")


def _claim(claim: Claimed) -> Html:
    mark, kind = _MARKS[claim.check]
    return element(
        "article",
        element(
            "p",
            element("span", f"{mark} {claim.check}", class_=kind),
            f" {claim.id} on {claim.of}",
            class_="about",
        ),
        element("p", claim.text, class_="words"),
        element("code", claim.evidence, class_="evidence") if claim.evidence else NOTHING,
        element("p", claim.why, class_="words dim") if claim.why else NOTHING,
        class_="claim",
    )


def _conclusion(concluded: Concluded) -> Html:
    """Show the chosen plan, the kind of decision, and its cost against a single call."""
    figures, name = concluded.figures, concluded.members.get(concluded.choice, "")
    tokens, single = int(figures.get("tokens", 0)), int(figures.get("single_tokens", 0))
    claims = int(figures.get("claims", 0))
    costs = [
        f"{tokens:,} tokens" if tokens else "",
        f"one call: {single:,}" if single else "",
        dollars(figures["usd"]) if figures.get("usd") else "",
        f"{count(claims, 'claim')}, {int(figures.get('confirmed', 0))} confirmed" if claims else "",
    ]
    who = f"{concluded.choice} ({name})" if name else concluded.choice
    return element(
        "div",
        element(
            "p",
            element("strong", f"→ {who}. " if who else ""),
            f"{_BY.get(concluded.by, '')} {concluded.why}",
            class_="words",
        ),
        element("p", " · ".join(filter(None, costs)), class_="dim"),
        class_="conclusion",
    )


def councils_html(events: Iterable[Event]) -> Iterator[Html]:
    """The councils in these events."""
    return (council_html(minutes) for minutes in read_minutes(events).values())


PART: Final = WebPart(items={"council": councils_html})
