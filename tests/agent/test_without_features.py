"""Features as the kernel sees them: every part that one names is there, and work goes on without them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import astuple

from kith.agent.worker import start_worker
from kith.core.events import RunEnded
from kith.core.feature import Lazy
from kith.memory.inbox import Inbox, Letter
from kith.memory.log import LOG_FILE, Log
from kith.settings.features import known_features
from mending import CHECK, DONE, edit
from outside import Kith

DECIDING = "build,coach,confer,review,route"  # what chooses and judges beside the kernel


def parts_of(value: Any) -> Iterator[Lazy[Any]]:
    """Every part that is named in a feature."""
    if isinstance(value, Lazy):
        yield value
    elif isinstance(value, Mapping):
        yield from (part for each in value.values() for part in parts_of(each))
    elif isinstance(value, tuple):
        yield from (part for each in value for part in parts_of(each))
    elif isinstance(value, Struct):
        yield from (part for each in astuple(value) for part in parts_of(each))


@pytest.mark.parametrize("feature", known_features(), ids=lambda feature: feature.name)
def test_every_part_that_a_feature_names_is_there(feature: Any) -> None:
    parts = list(parts_of(feature))
    assert parts and all(part.load() is not None for part in parts)


def test_a_task_is_done_without_what_decides_beside_the_kernel(
    kith: Kith, script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_FEATURES_OFF", DECIDING)
    report = kith.run("--yes", "-m", script(edit(), DONE), "--check", CHECK, "fix mean")
    assert report["status"] == "done" and report["changes"]


@pytest.mark.parametrize(
    ("off", "words"),
    [
        ("route", ("run", "-m", "route", "fix mean")),
        ("build", ("status", "--watch")),
        ("clouds", ("run", "-m", "anthropic/claude", "fix mean")),
        ("pools", ("run", "-m", "boxes/qwen3", "fix mean")),
        ("hooks", ("run", "-m", "replay/none.json", "fix mean")),
        ("linters", ("run", 'replace "a" with "b" in utils.py')),
    ],
)
def test_what_is_asked_of_a_feature_that_is_off_names_it(
    kith: Kith, home: Path, monkeypatch: pytest.MonkeyPatch, off: str, words: tuple[str, ...]
) -> None:
    config = home / ".config/kith/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    pool = '[pools]\nboxes = ["http://127.0.0.1:9", "http://127.0.0.1:10"]\n'
    config.write_text(f'lint = "require"\n{pool}[[hooks]]\non = "stop"\ncommand = "true"\n')
    monkeypatch.setenv("KITH_FEATURES_OFF", off)
    done = kith(*words, code=2)
    assert f"the feature {off}" in done.stderr


def test_a_worker_refuses_a_letter_for_a_feature_that_is_off(
    repository: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_FEATURES_OFF", "confer")
    log = Log(home / ".local/state/kith" / LOG_FILE)
    Inbox(log, "one").write(Letter("Where should the cache live?", kind="confer"))
    assert start_worker(repository, log.path.parent, "one").wait(60) == 0
    ended = log.past("one").ended
    assert isinstance(ended, RunEnded) and ended.status == "failed" and "the feature confer" in ended.text


def test_a_panel_without_the_feature_that_seats_it_is_said(
    kith: Kith, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roles = home / ".config" / "kith" / "roles"
    roles.mkdir(parents=True)
    (roles / "finder.md").write_text(
        "---\npurpose: review\npanel: replay/a.json, replay/b.json\ntools:\npolicy: read-only\n---\nReview.\n"
    )
    file = kith.folder / "utils.py"
    file.write_text(f"{file.read_text()}\n")
    monkeypatch.setenv("KITH_FEATURES_OFF", "confer")
    done = kith("review", code=2)
    assert "finder" in done.stderr and "the feature confer, which is off" in done.stderr
