"""Measuring a model with the real engine: a tiny one, whose replies are noise."""

import argparse
import asyncio
from pathlib import Path

import pytest

from engines import ignore
from kith.core.errors import BusyError
from kith.core.events import Event, Progress
from kith.features.engine.commands import engine_command
from kith.features.engine.gguf import read_header
from kith.features.engine.model_files import OwnEngine
from kith.features.engine.options import EngineOptions
from kith.features.engine.running import open_engine, running_engines
from kith.features.engine.tune import find_draft, tune, ways_for
from kith.features.engine.tuning import PLAIN, find_tuning, keep_tuning
from kith.models.discovery.stored import Stored
from kith.models.traits import Header, Template
from kith.settings import load_settings

TALKS = Header("qwen2", blocks=2, vocabulary=1000, template=Template())


def stored(path: Path, size: int = 100, header: Header = TALKS) -> Stored:
    return Stored(path.stem, path, size, "your folder", header)


def names(*ways: object) -> list[str]:
    return [getattr(way, "name") for way in ways]  # noqa: B009


def test_ways_follow_from_the_model_and_what_a_person_chose(tmp_path: Path) -> None:
    model, free = stored(tmp_path / "m.gguf"), EngineOptions()
    usual = [PLAIN, "ngram-mod", "ngram-map-k", "no flash attention", "q8_0 cache"]
    assert names(*ways_for(model, free, None)) == usual
    predicts = stored(tmp_path / "m.gguf", header=Header("qwen35", predicts=1))
    more = names(*ways_for(predicts, free, tmp_path / "small.gguf"))
    assert more[3:5] == ["draft-mtp", "draft small"]
    assert names(*ways_for(model, EngineOptions(extra=("--spec-type", "none")), None)) == [PLAIN, *usual[3:]]
    own = EngineOptions(flash_attn="on", cache_type_k="q8_0")
    assert names(*ways_for(model, own, None)) == usual[:3]


def test_a_draft_has_the_same_words_and_far_fewer_weights(tmp_path: Path) -> None:
    big, small, smaller = (tmp_path / f"{name}.gguf" for name in ("big", "small", "smaller"))
    other = stored(tmp_path / "other.gguf", 1, Header("llama", blocks=2, vocabulary=999))
    model = stored(big, 1000)
    assert find_draft(model, [model, other]) is None
    assert find_draft(model, [model, other, stored(small, 251)]) is None
    assert find_draft(model, [model, stored(small, 200), stored(smaller, 100)]) == smaller


@pytest.mark.slow
def test_a_model_is_measured_and_the_engine_is_left_to_nobody(
    state: Path, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = EngineOptions(threads=1, extra=("--no-warmup", "--cache-ram", "64", "-fa", "on"))
    own = OwnEngine(state, state / "cache", program="xllamacpp", options=options)
    events: list[Event] = []
    model = stored(wheel, wheel.stat().st_size, read_header(wheel))
    tuning = asyncio.run(tune(own, model, events.append, rounds=1))
    assert names(*tuning.ways) == [PLAIN, "ngram-mod", "ngram-map-k", "q8_0 cache"]
    plain, *others = tuning.ways
    assert all(speed.ratio == speed.read == 1.0 and speed.same for speed in plain.speeds)
    assert all(len(way.speeds) == 2 and not way.trouble for way in others)
    assert [each.slots for each in tuning.slot_speeds] == [2, 4]
    assert not running_engines(state)
    steps = [event for event in events if isinstance(event, Progress)]
    assert (steps[-1].done, steps[-1].total) == (5, 5)

    folder = state.parent
    here = load_settings(folder, {}).state
    keep_tuning(here, tuning)
    assert find_tuning(here, model.header.digest, "xllamacpp") == tuning
    engine_command(argparse.Namespace(folder=str(folder), action="status", model=""))
    shown = capsys.readouterr().out
    assert f"file/{model.name}, measured" in shown and "speculation" in shown


@pytest.mark.slow
def test_an_engine_in_use_is_not_disturbed(state: Path, wheel: Path) -> None:
    options = EngineOptions(2048, threads=1, extra=("--no-warmup",))
    own = OwnEngine(state, state / "cache", program="xllamacpp", options=options)

    async def work() -> None:
        used = await open_engine(wheel, options, state, ignore, name="tiny", idle_s=30)
        with pytest.raises(BusyError, match="tiny is in use"):
            await tune(own, stored(wheel), ignore)
        assert [each.used for each in running_engines(state)] == [True]
        used.release()

    asyncio.run(work())


@pytest.mark.slow
def test_a_draft_model_guesses_for_another(state: Path, wheel: Path) -> None:
    """The tiny model guesses for itself: every guess is right, and the reply is the plain one."""
    options = EngineOptions(threads=1, extra=("--no-warmup", "-fa", "on", "-ctk", "f16"))
    own = OwnEngine(state, state / "cache", program="xllamacpp", options=options, draft=str(wheel))
    model = stored(wheel, wheel.stat().st_size, read_header(wheel))
    tuning = asyncio.run(tune(own, model, ignore, rounds=1))
    (draft,) = (way for way in tuning.ways if way.draft)
    assert not draft.trouble and all(speed.accepted > 0.5 for speed in draft.speeds)
