"""Which choices follow from what was measured, and how they are kept."""

import argparse
import asyncio
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from kith.core.errors import UsageError
from kith.features.engine.commands import engine_command
from kith.features.engine.model_files import OwnEngine
from kith.features.engine.options import EngineOptions, flags_of
from kith.features.engine.tuning import (
    SlotSpeed,
    Speed,
    Tuning,
    Way,
    engine_version,
    find_tuning,
    keep_tuning,
    load_tunings,
    pays,
    tuned,
    with_small_cache,
)
from kith.features.engine.tuning_view import describe_tuning
from kith.models.discovery.machine import machine_name, read_memory
from kith.models.discovery.stored import Stored
from kith.models.traits import Header


def guess(edit: float, new: float, *, same: bool = True, loops: bool = False, name: str = "ngram-mod") -> Way:
    speeds = (
        Speed("edit", 20.0 * edit, edit, 1.0, same, 0.8),
        Speed("new", 20.0 * new, new, 1.0, same, 0.1, loops),
    )
    return Way(name, speeds, speculation=name)


def tuning(*ways: Way, slots: tuple[SlotSpeed, ...] = ()) -> Tuning:
    plain = replace(guess(1.0, 1.0, name="plain"), speculation="")
    engine = engine_version("xllamacpp")
    return Tuning("m", "/m.gguf", "d1", machine_name(), engine, 1.8e9, 3, "clock", (plain, *ways), slots)


@pytest.mark.parametrize(
    ("way", "yes"),
    [
        (guess(1.8, 1.0), True),
        (guess(1.8, 0.96), True),
        (guess(1.8, 0.9), False),  # slower where nothing repeats
        (guess(1.05, 1.0), False),  # not worth it
        (guess(1.8, 1.0, same=False), False),  # other replies
        (guess(1.8, 0.5, loops=True), True),  # a reply that loops tells nothing
        (guess(0.9, 2.0), False),
        (Way("draft x", speculation="draft-simple", trouble="vocabulary differs"), False),
    ],
)
def test_guessing_ahead_pays_only_with_the_same_replies_and_no_loss(way: Way, yes: bool) -> None:
    assert pays(way) == yes
    assert (tuning(way).speculation is way) == yes


def test_a_looping_edit_proves_nothing() -> None:
    looping = guess(3.0, 1.0)
    edit, new = looping.speeds
    assert not pays(replace(looping, speeds=(replace(edit, loops=True), new)))


def test_the_best_way_is_chosen_and_a_persons_own_stays() -> None:
    best = tuning(guess(1.5, 1.0), guess(1.7, 1.0, name="ngram-map-k"))
    assert tuned(EngineOptions(), best).speculation == "ngram-map-k"
    flags = flags_of(tuned(EngineOptions(threads=1), best))
    assert flags[-2:] == ("--spec-type", "ngram-map-k")
    own = EngineOptions(extra=("--spec-type", "none"))
    assert tuned(own, best) == own
    assert tuned(EngineOptions(), None) == EngineOptions()


def test_a_draft_model_that_is_gone_is_not_used(tmp_path: Path) -> None:
    draft = tmp_path / "small.gguf"
    way = replace(guess(1.8, 1.2, name="draft small"), speculation="draft-simple", draft=str(draft))
    assert tuned(EngineOptions(), tuning(way)).speculation == ""
    draft.write_bytes(b"GGUF")
    options = tuned(EngineOptions(threads=2), tuning(way))
    assert flags_of(options)[-6:] == (
        *("--spec-type", "draft-simple", "--spec-draft-model", str(draft)),
        *("--spec-draft-threads", "2"),
    )


def test_flash_attention_goes_off_only_where_nothing_gets_slower() -> None:
    speeds = (Speed("edit", 24.0, 1.2, 1.0, False), Speed("new", 24.0, 1.2, 1.1, True))
    off = Way("no flash attention", speeds, flash_attn="off")
    assert tuned(EngineOptions(), tuning(off)).flash_attn == "off"
    slow_reading = replace(off, speeds=(replace(speeds[0], read=0.7), speeds[1]))
    assert tuned(EngineOptions(), tuning(slow_reading)).flash_attn == "auto"
    assert tuned(EngineOptions(flash_attn="on"), tuning(off)).flash_attn == "on"


def test_a_small_cache_is_for_windows_and_must_be_quick() -> None:
    speeds = (Speed("edit", 19.0, 0.95, 0.98, False), Speed("new", 19.0, 0.95, 1.0, False))
    small = Way("q8_0 cache", speeds, cache_type="q8_0")
    assert tuned(EngineOptions(), tuning(small)).cache_type_k == ""
    assert with_small_cache(EngineOptions(), tuning(small)).cache_type_k == "q8_0"
    slow = replace(small, speeds=(replace(speeds[0], ratio=0.7), speeds[1]))
    assert with_small_cache(EngineOptions(), tuning(slow)).cache_type_k == ""
    own = EngineOptions(cache_type_k="q4_0")
    assert with_small_cache(own, tuning(small)) == own


@pytest.mark.parametrize(
    ("ratios", "slots"),
    [((1.6, 2.4), 4), ((1.6, 1.7), 2), ((1.1, 2.4), 1), ((), 1)],
)
def test_slots_double_as_long_as_it_pays(ratios: tuple[float, ...], slots: int) -> None:
    speeds = tuple(SlotSpeed(2 * (at + 1), ratio) for at, ratio in enumerate(ratios))
    assert tuning(slots=speeds).slots == slots


def test_it_is_kept_for_the_model_the_machine_and_the_engine(tmp_path: Path) -> None:
    state = tmp_path / "state"
    first = tuning(guess(1.8, 1.0))
    keep_tuning(state, first)
    keep_tuning(state, replace(first, digest="d2"))
    again = replace(first, rounds=5)
    keep_tuning(state, again)
    assert find_tuning(state, "d1", "xllamacpp") == again
    assert len(load_tunings(state)) == 2
    assert find_tuning(state, "d1", "/usr/bin/llama-server") is None
    keep_tuning(state, replace(first, engine="xllamacpp 1"))
    assert find_tuning(state, "d1", "xllamacpp") == again
    assert [path.name for path in state.iterdir()] == ["engine-tuning.json"]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"format": 99, "tunings": []}', '{"format": 1, "tunings": [{}]}']
)
def test_a_file_that_cannot_be_read_is_no_measurement(tmp_path: Path, text: str) -> None:
    (tmp_path / "engine-tuning.json").write_text(text)
    assert load_tunings(tmp_path) == ()
    keep_tuning(tmp_path, tuning())
    assert json.loads((tmp_path / "engine-tuning.json").read_text())["format"] == 1
    assert len(load_tunings(tmp_path)) == 1


def test_a_program_is_known_by_its_file(tmp_path: Path) -> None:
    program = tmp_path / "llama-server"
    program.write_text("one")
    before = engine_version(str(program))
    program.write_text("another")
    assert engine_version(str(program)) != before


def test_the_table_fits_80_columns_and_names_the_choice() -> None:
    failed = Way("draft " + "x" * 90, speculation="draft-simple", trouble="it \x1b[31mfailed " * 20)
    shown = list(describe_tuning(tuning(guess(1.8, 1.0, loops=True), failed, slots=(SlotSpeed(2, 1.5),))))
    assert max(map(len, shown)) <= 80 and all(line.isprintable() for line in shown)
    text = "\n".join(shown)
    assert "speculation         ngram-mod" in text and "slots               2 where" in text
    assert "1.00x*" in text and "not counted" in text
    later = "\n".join(describe_tuning(tuning(guess(1.8, 1.0)), "xllamacpp 9"))
    assert "measure again" in later and "speculation  " not in later


def test_only_tune_takes_a_model(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="`kith engine stop` takes no model"):
        engine_command(argparse.Namespace(folder=str(tmp_path), action="stop", model="file/x"))


@pytest.mark.usefixtures("wheel")
def test_a_small_cache_makes_room_for_a_larger_window(tmp_path: Path) -> None:
    memory = read_memory()
    heads = memory.budget // 20_000 // 256  # so that f16 carries 16,384 tokens, and q8_0 32,768
    header = Header("qwen2", trained=32_768, blocks=1, heads_kv=(heads,), key_length=64, value_length=64)
    header = replace(header, digest="d1")
    stored = Stored("m", tmp_path / "m.gguf", 1000, "your folder", header)
    own = OwnEngine(tmp_path, tmp_path / "cache", program="xllamacpp")

    def chosen(own: OwnEngine) -> tuple[EngineOptions, ...]:
        return asyncio.run(own.options_of(stored, lambda event: None))

    assert [(each.window, each.cache_type_k) for each in chosen(own)[:1]] == [(16_384, "")]
    speeds = (Speed("edit", 19.0, 0.95, 0.98, False), Speed("new", 19.0, 0.95, 1.0, False))
    keep_tuning(tmp_path, tuning(Way("q8_0 cache", speeds, cache_type="q8_0")))
    first, *others = chosen(own)
    assert (first.window, first.cache_type_k, first.cache_type_v) == (32_768, "q8_0", "q8_0")
    assert any(each.cache_type_k == "" for each in others)  # an engine that runs without it will do
    mine = replace(own.options, cache_type_k="f16")
    first, *_ = chosen(OwnEngine(tmp_path, tmp_path / "cache", program="xllamacpp", options=mine))
    assert (first.window, first.cache_type_k) == (16_384, "f16")


@pytest.mark.usefixtures("wheel")
def test_settings_of_speculation_win_over_the_measurement(tmp_path: Path) -> None:
    stored = Stored("m", tmp_path / "m.gguf", 1000, "your folder", Header("qwen2", trained=4096, digest="d1"))
    keep_tuning(tmp_path, tuning(guess(1.8, 1.0), slots=(SlotSpeed(2, 1.9),)))

    def chosen(speculation: str, draft: str = "", parallel: int | None = None) -> EngineOptions:
        own = OwnEngine(
            tmp_path,
            tmp_path / "cache",
            program="xllamacpp",
            speculation=speculation,
            draft=draft,
            parallel=parallel,
        )
        return asyncio.run(own.options_of(stored, lambda event: None))[0]

    assert (chosen("auto").speculation, chosen("auto").slots) == ("ngram-mod", 2)
    assert chosen("off").speculation == ""
    assert chosen("ngram-map-k", parallel=1).speculation == "ngram-map-k"
    assert chosen("auto", parallel=1).slots == 1 and chosen("auto", parallel=3).slots == 3
    with pytest.raises(UsageError, match="there is no file"):
        chosen("auto", draft="/nowhere/small.gguf")
    draft = tmp_path / "small.gguf"
    draft.write_bytes(b"GGUF")
    own = chosen("auto", draft=str(draft))
    assert (own.speculation, own.draft) == ("draft-simple", str(draft.resolve()))
