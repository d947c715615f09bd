"""The models that can be asked: how fast and how good they were here, how large they are, where they run."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from kith.core.sizes import size_text
from kith.features.measure.intervals import Share
from kith.features.measure.page.charts import grouped, interval_of, quiet
from kith.features.measure.successes import Success
from kith.terminal.models import ModelRow
from kith.view.lines import figure
from kith.view.markup import NOTHING, Html, element, joined


def models_html(
    rows: Sequence[ModelRow], notes: Sequence[str] = (), successes: Sequence[Success] = ()
) -> Html:
    """The table below its heading. `successes` are those of a profile; `notes` are sentences for a person."""
    said = joined(element("p", note, class_="means note") for note in notes if note)
    head = element("header", element("h1", "Models"), said, class_="profile-head")
    if not rows:
        return head
    solved = {each.model: each.solved for each in successes if not each.kind and not each.size}
    groups = [(place, [_cells(row, solved) for row in own]) for place, own in groupby(rows, key=_place)]
    heads = ("Model", "Writes tokens/s", "Reads tokens/s", "Solved here", "Size", "Window", "Tools", "Fits")
    return joined([head, grouped(heads, groups, "Models that can be asked")])


def _place(row: ModelRow) -> str:
    """What a row stands under: its server, or whose file it is."""
    server = row.where.startswith(("http://", "https://"))
    return f"{row.source} at {row.where}" if server else f"{row.source}, on the disk"


def _cells(row: ModelRow, solved: Mapping[str, Share]) -> list[str]:
    share = solved.get(row.name, Share())
    size = " ".join(filter(None, [size_text(row.size) if row.size else "", row.quantisation]))
    return [
        _name(row),
        figure(row.write_rate) if row.write_rate else "",
        figure(row.read_rate) if row.read_rate else "",
        interval_of(share) if share.number else "",
        size,
        _window(row),
        _say(row.tools),
        _fits(row),
    ]


def _name(row: ModelRow) -> Html:
    loaded = joined([" ", quiet("loaded")]) if row.loaded else NOTHING
    good = f"good for {', '.join(row.good_for)}" if row.good_for else ""
    bad = f"not for {', '.join(row.not_for)}" if row.not_for else ""
    told = "; ".join(filter(None, [good, bad]))
    return joined([row.name, loaded, element("span", told, class_="dim says") if told else NOTHING])


def _window(row: ModelRow) -> str:
    if row.window and row.trained and row.window != row.trained:
        return f"{row.window:,} of {row.trained:,}"
    return f"{row.window:,}" if row.window else f"up to {row.trained:,}" if row.trained else ""


def _say(value: bool | None) -> str:
    return {True: "yes", False: "no", None: ""}[value]


def _fits(row: ModelRow) -> Html:
    if row.fits is None:
        return NOTHING
    if row.fits:
        return element("span", "yes", class_="good")
    return joined([element("span", "no", class_="bad"), element("span", row.why, class_="dim says")])
