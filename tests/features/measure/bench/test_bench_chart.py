"""A bench as bars: in the terminal, and on the page."""

from pathlib import Path

from kith.agent.project import Project
from kith.core.events import Carded
from kith.features.measure.bench.chart import bar_lines, bench_section, read_benches
from kith.features.measure.bench.result import BenchResult, BenchSpeed
from kith.features.measure.profile import ProfileScope
from kith.memory.session import Session

SPEEDS = (BenchSpeed(0, 512, (1000.0, 1000.0), 32, (40.0,)), BenchSpeed(4096, 512, (500.0,), 32, (30.0,)))


def test_the_fastest_fills_its_column_and_half_the_speed_half_of_it() -> None:
    _, fast, slow = bar_lines(SPEEDS, "#")
    assert fast.split() == ["0", "#" * 24, "#" * 24] and slow.split() == ["4,096", "#" * 12, "#" * 18]
    assert max(map(len, bar_lines(SPEEDS, "#"))) <= 80


def test_one_depth_is_no_chart() -> None:
    assert list(bar_lines(SPEEDS[:1], "#")) == list(bar_lines((), "#")) == []


def test_the_last_bench_of_each_model_is_on_the_page(repository: Path) -> None:
    project = Project.open(repository, {})
    with Session(project.log, "b1") as session:
        for at, speeds in ((1.0, SPEEDS[:1]), (2.0, SPEEDS)):
            run = BenchResult("<small>", "desk", at=at, digest="d", speeds=speeds)
            session.emit(Carded("d", "<small>", {"bench": run.facts}))
    found = read_benches(project, ProfileScope()).found
    assert [len(run.speeds) for run in found] == [2]
    drawn = bench_section(found)
    assert "&lt;small&gt; on desk" in drawn and "500 tokens/s" in drawn
    assert read_benches(project, ProfileScope(model="other")).found == []
