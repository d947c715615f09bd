"""Charts of what was measured: nothing foreign acts in them, and no style is in them."""

import random
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kith.agent.project import Project
from kith.core.decisions import Coached, Compared, Routed
from kith.core.events import Called, Engaged, RunStarted
from kith.core.values import Timing, Usage
from kith.features.coach.page import error_left, list_experiments
from kith.features.coach.strategy import read_coaching
from kith.features.measure.measured_rows import read_measured
from kith.features.measure.page.charts import Field, draw_share, plot, round_step, round_top
from kith.features.measure.page.profile import profile_html
from kith.features.measure.page.routes import models_html
from kith.features.measure.profile import ProfileScope, read_profile
from kith.features.measure.rows import CallRow, LegRow
from kith.features.measure.trends import (
    bin_values,
    cached_by,
    count_plans,
    paid_by,
    period_of,
)
from kith.memory.log import LOG_FILE, Log
from kith.models.discovery.catalogue import Entry
from measuring import MODELS, a_task, write

NOW = 1_795_000_000.0
DAY = 86_400.0
EVIL = 'ollama/<script>alert(1)</script>&"\x1b[31m\u202e'


class Page(HTMLParser):
    """What a piece of a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def log(home: Path) -> Log:
    return Log(home / ".local/state/kith" / LOG_FILE)


@pytest.mark.slow
def test_a_whole_profile_is_told_without_style_or_script(log: Log, repository: Path) -> None:
    rng, told = random.Random(1), []
    for number in range(60):
        for session, at, path, event in a_task(f"s{number}", NOW + DAY * number, rng, str(repository)):
            if isinstance(event, Engaged | Called) and event.model == MODELS[0].model:
                event = replace(event, model=EVIL)
            told.append((session, at, path, event))
            if isinstance(event, Engaged):
                told.append((session, at, (), Routed("edit", (event.model, MODELS[2].model), "why")))
    strategy = {"id": "abc", "levers": {"edits": EVIL}}
    options = {"kind": "coach", "digest": "d", "work": "edit"}
    told.append(("c", NOW, (), RunStarted("coach", str(repository), "", "0", options)))
    told.append(("c", NOW, (), Coached("d", EVIL, "edit", strategy, "proposed")))
    told += [("c", NOW, (), Compared("abc", f"t{n}", n % 3 == 0, True)) for n in range(9)]
    write(log, told)

    text = profile_html(read_profile(Project.open(repository, {}), ProfileScope()))

    page = Page(text)
    assert not page.open and "script" not in page.tags and "\x1b" not in text and "\u202e" not in text
    names = {name for name, _ in page.attributes}
    assert "style" not in names and not any(name.startswith("on") for name in names)
    for title in ("Writing speed", "Reading speed", "Spared by the cache", "Cost by day and model"):
        assert f"<figcaption>{title}</figcaption>" in text
    for section in ("Solved, by model and kind of work", "Who was asked", "Experiments of the coach"):
        assert f"<h2>{section}</h2>" in text
    assert "6 : 0" in text and "next look at 20 pairs" in text
    described = [value for name, value in page.attributes if name == "aria-label"]
    assert len(described) >= page.tags.count("svg") - page.tags.count("li")
    assert page.tags.count("details") == page.tags.count("summary") > 3


def test_where_nothing_was_measured_that_is_all_it_says(log: Log, repository: Path) -> None:
    text = profile_html(read_profile(Project.open(repository, {}), ProfileScope()))
    assert "Nothing was measured yet" in text and "<svg" not in text


def test_a_few_calls_make_no_line(log: Log, repository: Path) -> None:
    write(log, list(a_task("s", NOW, random.Random(0), str(repository))))
    text = profile_html(read_profile(Project.open(repository, {}), ProfileScope()))
    assert "only)" in text and "polyline" not in text


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0.01, 1e6)), min_size=1, max_size=200))
def test_bins_hold_every_value_once_in_order(points: list[tuple[float, float]]) -> None:
    bins = bin_values(points)
    assert sum(each.number for each in bins) == len(points)
    assert [each.at for each in bins] == sorted(each.at for each in bins)
    assert all(each.low <= each.median <= each.high for each in bins)


@given(st.floats(1e-6, 1e12))
def test_an_axis_has_few_round_steps_and_reaches_the_top(top: float) -> None:
    step = round_step(top)
    assert 2 <= round_top(top) / step <= 6.01 and round_top(top) >= top * 0.999999


@given(st.floats(1e8, 4e9), st.floats(0, 4e8))
def test_a_plot_of_any_time_has_its_labels_inside(first: float, span: float) -> None:
    text = plot(Field(first, first + span, 1.0), "unit", (), "words")
    places = [float(part.split('"')[1]) for part in text.split(" x=")[1:]] if " x=" in text else []
    assert all(0 <= place <= 400 for place in places) and Page(text).tags.count("text") < 20


@pytest.mark.parametrize(("days", "period"), [(0, 1), (62, 1), (63, 7), (430, 7), (500, 30)])
def test_long_times_are_told_in_longer_periods(days: int, period: int) -> None:
    calls = [call(NOW), call(NOW + days * DAY)]
    assert period_of(calls) == period
    told = cached_by(calls, period)
    assert sum(each.input for each in told) == 200 and all(each.share == 0.75 for each in told)
    assert all(time.localtime(each.at)[3:6] == (0, 0, 0) for each in told)


def call(at: float, **more: Any) -> CallRow:
    row = CallRow("s", at, "/p", "m", "edit", usage=Usage(100, 10, 75), evaluated=25, timing=Timing())
    return replace(row, **more)


def test_money_is_summed_by_model_and_what_has_no_price_is_counted() -> None:
    far = [call(NOW, model="far", usd=0.5), call(NOW + 60, model="far", usd=0.25)]
    unknown = [call(NOW, model="new", usd=None, cloud=True), call(NOW, usd=None), call(NOW, usd=0.0)]
    (told,) = paid_by([*far, *unknown], 1)
    assert told.usd == {"far": 0.75} and told.unpriced == 1


def test_plans_are_counted_by_piece_of_work() -> None:
    plan = ("small", "far")
    legs = [
        leg("a", "small", plan, reward=0.0),
        leg("a", "far", ("far",), reward=1.0),  # it took over: one piece of work, solved
        leg("b", "small", plan, reward=0.0),
        leg("c", "small", plan, reward=None),
        leg("d", "small", (), reward=1.0),  # nobody decided
    ]
    (told,) = count_plans(legs)
    assert (told.plan, told.number, told.solved, told.failed, told.relayed, told.unknown) == (
        plan,
        3,
        1,
        1,
        1,
        1,
    )


def leg(session: str, model: str, plan: tuple[str, ...], reward: float | None) -> LegRow:
    return LegRow(session, 1, NOW, "/p", model, "edit", plan=plan, reward=reward)


def test_the_error_that_is_left_falls_with_every_look() -> None:
    left = [error_left(pairs, pairs // 5) for pairs in (0, 20, 99, 100, 149, 150)]
    assert left == sorted(left, reverse=True) and left[0] < 0.06 and left[-1] == 0.0
    assert left[2] > 2 * left[3], "nearly all is kept for the two late looks"


def test_experiments_tell_where_they_stand(log: Log) -> None:
    assert list_experiments(read_coaching(log)) == () and read_measured(log).calls == ()


def test_models_are_listed_by_place_and_foreign_names_do_nothing() -> None:
    rows = [
        Entry(
            EVIL, "Ollama", "http://127.0.0.1:11434", 5_000_000_000, write_rate=27.1, fits=True, loaded=True
        ),
        Entry(
            "file/x", "Hugging Face", "/home/x", 7_000_000_000, trained=4_096, fits=False, why="is too large"
        ),
    ]
    text = models_html(rows, ["kith asks <b>."])
    assert "Ollama at http://127.0.0.1:11434" in text and "Hugging Face, on the disk" in text
    assert "27.1" in text and "is too large" in text and "kith asks &lt;b&gt;." in text
    assert not Page(text).open and "<script" not in text and "No model" in models_html([], ["No model."])


def test_a_share_says_in_words_what_it_draws() -> None:
    assert 'aria-label="50%, between 10% and 90%"' in draw_share(0.5, 0.1, 0.9)
