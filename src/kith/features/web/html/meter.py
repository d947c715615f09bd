"""What models took so far, as a panel: window, cache, speed, money, time."""

from collections.abc import Iterator

from kith.core.numbers import dollars
from kith.view.figures import figure
from kith.view.lines import count
from kith.view.markup import Html, element, joined
from kith.view.meter import Meter


def meter_html(meter: Meter) -> Html:
    """The section `meter`."""
    rows = (joined((element("dt", name), element("dd", value))) for name, value in _rows(meter))
    return element("section", element("h2", "Meter"), element("dl", *rows), id="meter", class_="panel")


def _rows(meter: Meter) -> Iterator[tuple[str, Html | str]]:
    if meter.model:
        yield "model", meter.model
    if meter.window and meter.held:
        share = element(
            "meter", value=min(meter.held, meter.window), max=meter.window, aria_label="window used"
        )
        yield "window", joined((f"{meter.held:,} of {meter.window:,} ", share))
    if meter.reused is not None:
        yield "cache", f"{meter.reused:.0%} of what could be reused was"
    if meter.read_rate:
        yield "reading", f"{figure(meter.read_rate)} tokens/s"
    if meter.write_rate:
        yield "writing", f"{figure(meter.write_rate)} tokens/s"
    if meter.calls:
        yield "calls", f"{count(meter.calls, 'call')}, {meter.read:,} tokens read, {meter.written:,} written"
    if meter.usd:
        yield "cost", dollars(meter.usd)
    if meter.began:
        yield "elapsed", _elapsed(meter)


def _elapsed(meter: Meter) -> Html:
    """Seconds of the task; while it runs, the page may count on from `data-since`."""
    since = f"{meter.began:.3f}" if meter.running else None
    return element("time", took(meter.last - meter.began), class_="elapsed", data_since=since)


def took(seconds: float) -> str:
    """`4.2 s`, `3 min 5 s`, `2 h 10 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
