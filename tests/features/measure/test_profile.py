"""`kith profile` from outside: what a person sees of a long log, in every form it can be had in."""

import csv
import io
import json
import os
import random
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace

from kith.core.events import Called, Engaged
from kith.memory.log import Log
from measuring import MODELS, Told, a_task, write
from outside import Kith
from places import ROOT

NOW = 1_795_000_000.0
EVIL = "ollama/<script>alert(1)</script>&\x1b[31m"


@pytest.fixture
def filled(kith: Kith) -> Kith:
    """kith in a folder in which 90 tasks were done; one model writes at half its speed since the 60th."""
    rng = random.Random(1)
    told: list[Told] = []
    for number in range(90):
        for session, at, path, event in a_task(f"s{number}", NOW + 3_600 * number, rng, str(kith.folder)):
            if number >= 50 and isinstance(event, Engaged) and event.model == MODELS[0].model:
                event = replace(event, digest="sha256:new")
            if number >= 50 and isinstance(event, Called) and event.model == MODELS[0].model:
                event = replace(event, timing=replace(event.timing, decode_s=event.timing.decode_s * 2))
            told.append((session, at, path, event))
    write(the_log(), told)
    return kith


def the_log() -> Log:
    return Log(Path(os.environ["XDG_STATE_HOME"]) / "kith" / "log.sqlite3")


def test_before_anything_was_measured_that_is_said(kith: Kith) -> None:
    done = kith("profile")
    assert done.stdout == "" and "Nothing was measured in" in done.stderr
    shown = json.loads(kith("profile", "--json").stdout)
    assert shown["calls"] == 0 and shown["models"] == [] and shown["builds"]["good"] == 0


def test_a_profile_fits_80_columns_and_says_what_is_slower(filled: Kith) -> None:
    text = filled("profile").stdout
    assert max(map(len, text.split("\n"))) <= 80
    assert re.search(r"ollama/small:3b  3B, q4_K_M, window 16,384, desk", text)
    assert re.search(r"ollama/small:3b +write tokens/s +27.0 -> +13.5  WORSE", text)
    assert "digest sha256:a -> sha256:new" in text
    assert re.search(r"any +─*├─*●─*┤─* +\d+% \(\d+-\d+\) +\d+/\d+", text)
    assert "no real difference" in text and "$" in text


def test_few_values_have_no_interval_and_no_trend(kith: Kith) -> None:
    write(the_log(), list(a_task("s", NOW, random.Random(0), str(kith.folder))))
    text = kith("profile").stdout
    assert "only)" in text and "Too little to compare" in text


@pytest.mark.slow
def test_one_model_kind_or_time_can_be_picked(filled: Kith) -> None:
    small = filled("profile", "--model", "small").stdout
    assert "ollama/small" in small and "ollama/large" not in small and "well-formed" in small
    kinds = json.loads(filled("profile", "--json").stdout)["models"]
    kind = kinds[0]["kind"]
    picked = json.loads(filled("profile", "--json", "--kind", kind).stdout)["models"]
    assert {row["kind"] for row in picked} == {kind}
    rows = json.loads(filled("profile", "--json", "--rows", "tasks").stdout)
    late = json.loads(filled("profile", "--json", "--rows", "tasks", "--since", "2099-01-01").stdout)
    assert len(rows) == 90 and late == []
    said = filled("profile", "--model", "nobody", code=2).stderr
    assert "No model 'nobody' was measured; there are: anthropic/far" in said
    assert "is no time" in filled("profile", "--since", "soon", code=2).stderr


def test_json_holds_the_whole_profile(filled: Kith) -> None:
    shown = json.loads(filled("profile", "--json").stdout)
    assert {
        "speed",
        "success",
        "trends",
        "changes",
        "gates",
        "cache",
        "money",
        "errors",
        "days",
    } <= shown.keys()
    assert {"builds", "tasks", "roles", "coverage", "seconds_in_tests"} <= shown.keys()
    far = next(row for row in shown["money"] if row["model"] == MODELS[2].model)
    assert far["usd"] > 0 and far["unpriced"] == 0
    assert all(0.5 < row["spared"] < 1 for row in shown["cache"])
    assert sum(day["calls"] for day in shown["days"]) == shown["calls"]


@pytest.mark.parametrize(
    ("sort", "column"), [("calls", "timing_decode_s"), ("tasks", "reward"), ("verdicts", "gate")]
)
def test_rows_are_exported_with_columns_that_stay(filled: Kith, sort: str, column: str) -> None:
    rows = list(csv.DictReader(io.StringIO(filled("profile", "--csv", "-", "--rows", sort).stdout)))
    plain = json.loads(filled("profile", "--json", "--rows", sort).stdout)
    assert len(rows) == len(plain) and list(rows[0]) == list(plain[0]) and rows[0][column] != ""
    columns = ROOT.joinpath("docs", "profile.md").read_text()
    assert all(f"`{name}`" in columns for name in rows[0])


def test_a_csv_file_holds_nothing_that_a_spreadsheet_would_run(kith: Kith) -> None:
    told = list(a_task("s", NOW, random.Random(0), str(kith.folder)))
    first = replace(told[0][3], task='=HYPERLINK("http://x")')
    write(the_log(), [("s", NOW, (), first), *told[1:]])
    kith("profile", "--csv", "out.csv", "--rows", "tasks")
    assert "'=HYPERLINK" in (kith.folder / "out.csv").read_text()
    assert "cannot be written" in kith("profile", "--csv", "no/such/folder.csv", code=2).stderr


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "data", "action")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()


@pytest.mark.slow
def test_the_page_needs_nothing_beside_itself_and_runs_nothing(filled: Kith) -> None:
    rng = random.Random(2)
    evil = replace(MODELS[0], model=EVIL)
    told = [
        (
            s,
            at,
            path,
            replace(event, model=EVIL)
            if isinstance(event, Called)
            else evil
            if isinstance(event, Engaged)
            else event,
        )
        for s, at, path, event in a_task("evil", NOW, rng, str(filled.folder))
    ]
    write(the_log(), told)
    filled("profile", "--html", "page.html")
    text = (filled.folder / "page.html").read_text()
    page = Page()
    page.feed(text)
    assert not page.open and not page.links
    assert "script" not in page.tags and "svg" in page.tags and "\x1b" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;" in text
    assert "color-scheme: light dark" in text
    assert not any(each in text for each in ("url(", "style=", "@import"))


@pytest.mark.slow
def test_without_unicode_the_plots_are_ascii(filled: Kith, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    command = [sys.executable, "-m", "kith", "profile"]
    done = subprocess.run(command, cwd=filled.folder, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.isascii() and re.search(r"-\|-+o-+\|", done.stdout)
