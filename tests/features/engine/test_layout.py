"""How a model lies in memory: the window first, then all of a sliding window, slots, and the prompt cache."""

import pytest
from msgspec.structs import replace

from kith.features.engine.layout import HELD, Wanted, choose_layout, lay_out, options_for
from kith.features.engine.options import EngineOptions, flags_of
from kith.models.discovery.memory import GIB, Memory, cache_bytes, memory_needed
from kith.models.traits import Header

SIZE = 4 * GIB
FULL = Header("qwen2", trained=32_768, blocks=28, heads_kv=(4,) * 28, key_length=128, value_length=128)
SLIDING = replace(
    FULL, architecture="gemma3", sliding_window=1024, sliding=tuple(at % 6 < 5 for at in range(28))
)


def machine(free: float, total: float = 64) -> Memory:
    return Memory(int(total * GIB), int(free * GIB))


def room_for(header: Header, window: int) -> Memory:
    return machine((memory_needed(header, SIZE, window) + (1 << 20)) / 0.85 / GIB)


def test_a_sliding_window_is_kept_whole_where_memory_suffices() -> None:
    _, (first, *others) = choose_layout(SLIDING, SIZE, machine(32), Wanted())
    assert (first.window, first.swa_full, first.slots) == (32_768, True, 1)
    assert {each.swa_full for each in others} == {False}
    assert "--swa-full" in flags_of(lay_out(EngineOptions(), first))


def test_the_window_matters_more_than_a_whole_sliding_window() -> None:
    memory = room_for(SLIDING, 32_768)  # the whole one needs more
    choice, (first, *others) = choose_layout(SLIDING, SIZE, memory, Wanted())
    assert (choice.fits, first.window, first.swa_full) == (True, 32_768, False)
    assert any(each.window == 32_768 and each.swa_full for each in others)  # if it runs, it will do
    assert "--swa-full" not in flags_of(lay_out(EngineOptions(), first))


def test_a_person_who_wants_it_whole_gets_a_smaller_window() -> None:
    memory = room_for(SLIDING, 32_768)
    _, (first, *_) = choose_layout(SLIDING, SIZE, memory, Wanted(swa_full=True))
    assert first.swa_full and first.window < 32_768
    _, (first, *_) = choose_layout(SLIDING, SIZE, machine(32), Wanted(swa_full=False))
    assert not first.swa_full


def test_a_model_without_a_sliding_window_gets_no_flag() -> None:
    _, layouts = choose_layout(FULL, SIZE, machine(32), Wanted(swa_full=True))
    assert {each.swa_full for each in layouts} == {False}


def test_slots_never_make_the_window_smaller_unless_asked_for() -> None:
    memory = room_for(FULL, 32_768)
    _, (first, *_) = choose_layout(FULL, SIZE, memory, Wanted(slots=4))
    assert (first.window, first.slots) == (32_768, 1)
    _, (first, *_) = choose_layout(FULL, SIZE, memory, Wanted(slots=4, all_slots=True))
    assert (first.window, first.slots) == (8192, 4)
    _, (first, *_) = choose_layout(FULL, SIZE, machine(32), Wanted(slots=4))
    assert (first.window, first.slots) == (32_768, 4)
    flags = flags_of(lay_out(EngineOptions(), first))
    assert flags[:4] == ("--ctx-size", str(4 * 32_768), "--parallel", "4")


@pytest.mark.parametrize(
    ("total", "mib"),
    [
        (256, HELD * cache_bytes(FULL, 32_768) >> 20),  # all conversations
        (32, 32 * 1024 // 4),  # a quarter of the memory
        (8, 256),  # the model itself leaves nothing
    ],
)
def test_the_prompt_cache_holds_the_conversations_that_memory_allows(total: float, mib: int) -> None:
    memory = machine(min(total, 32), total)
    _, (first, *_) = choose_layout(FULL, SIZE if total > 8 else 7 * GIB, memory, Wanted())
    assert first.cache_ram == mib
    assert lay_out(EngineOptions(), first).cache_ram == mib


def test_the_prompt_cache_does_not_depend_on_what_is_free_now() -> None:
    _, (before, *_) = choose_layout(FULL, SIZE, machine(40), Wanted())
    _, (after, *_) = choose_layout(FULL, SIZE, machine(30), Wanted())
    assert before == after


def test_a_second_model_in_the_engine_counts() -> None:
    memory = room_for(FULL, 32_768)
    choice, (first, *_) = choose_layout(FULL, SIZE, memory, Wanted(beside=GIB))
    assert first.window == choice.window < 32_768


def test_a_persons_own_flags_win() -> None:
    _, layouts = choose_layout(SLIDING, SIZE, machine(32), Wanted(slots=2))
    own = EngineOptions(extra=("--cache-ram", "64", "-np", "3", "--swa-full"))
    options, *_ = options_for(own, layouts)
    assert (options.cache_ram, options.slots, options.swa_full) == (0, 1, False)
    flags = flags_of(options)
    assert flags.count("--cache-ram") == flags.count("--swa-full") == 1
    assert flags[-5:] == own.extra
