"""The time line: one bar for each step, of what its seconds went into, on a scale that never changes."""

import math
from typing import Final

from kith.core.values import Timing
from kith.features.web.html.steps import id_of
from kith.view.items import GateVerdict, Item, ModelStep
from kith.view.markup import NOTHING, Html, element, joined

PHASES: Final = ("waiting", "reading", "writing", "tools", "checks")
_HEIGHT, _WIDTH = 48, 8  # of a bar, in pixels
_LEAST_S, _MOST_S = 0.05, 1_000.0  # the scale is logarithmic: bars of long sessions need no other one


def has_bar(item: Item) -> bool:
    """Whether an item is part of the time line: a step, or a check that ran."""
    return isinstance(item, ModelStep) or (isinstance(item, GateVerdict) and bool(item.judged.ran))


def bar_html(item: Item) -> Html:
    """A step's bar, which leads to it; nothing for what takes no time."""
    spent = {phase: seconds for phase, seconds in seconds_of(item).items() if seconds >= _LEAST_S / 10}
    total = sum(spent.values())
    words = f"Step {item.number}" if isinstance(item, ModelStep) else "Checks"
    told = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in spent.items())
    label = f"{words}: {total:.1f} s" + (f" ({told})" if told else "")
    picture = element(
        "svg",
        *_stacked(spent, total),
        width=_WIDTH,
        height=_HEIGHT,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        aria_hidden="true",
    )
    link = element("a", picture, href=f"#{id_of(item)}", title=label, aria_label=label)
    return element("li", link, id=f"{id_of(item)}-bar")


def seconds_of(item: Item) -> dict[str, float]:
    """What a step's seconds went into, by phase."""
    spent = dict.fromkeys(PHASES, 0.0)
    if isinstance(item, ModelStep):
        if item.called:
            spent["waiting"], spent["reading"], spent["writing"] = _phases(item.called.timing)
        spent["tools"] = sum(each.ended.seconds for each in item.tools if each.ended)
    elif isinstance(item, GateVerdict):
        spent["checks"] = sum(ran.seconds for ran in item.judged.ran)
    return spent


def _phases(timing: Timing) -> tuple[float, float, float]:
    """Seconds of waiting, reading and writing; where a server tells none, its first token parts the two."""
    waiting = timing.load_s + timing.queue_s
    if timing.prefill_s or timing.decode_s:
        return waiting, timing.prefill_s, timing.decode_s
    reading = timing.first_token_s or timing.total_s
    return waiting, max(reading - waiting, 0.0), max(timing.total_s - reading, 0.0)


def _stacked(spent: dict[str, float], total: float) -> list[Html]:
    if not total:
        return [NOTHING]
    scale = math.log(max(total, _LEAST_S) / _LEAST_S) / math.log(_MOST_S / _LEAST_S)
    height, top, bars = max(2.0, min(scale, 1.0) * _HEIGHT), float(_HEIGHT), []
    for phase, seconds in spent.items():
        part = height * seconds / total
        top -= part
        bars.append(element("rect", class_=phase, width=_WIDTH - 1, height=f"{part:.1f}", y=f"{top:.1f}"))
    return bars


def timeline_html(bars: Html) -> Html:
    """The section `timeline`, with what its colours mean."""
    key = (joined((element("dt", class_=phase), element("dd", phase))) for phase in PHASES)
    return element(
        "section",
        element("h2", "Time"),
        element("ol", bars, id="bars"),
        element("dl", *key, class_="key"),
        id="timeline",
        class_="panel",
    )
