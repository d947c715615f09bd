"""What a model needs in memory, what this machine has, and the window that follows from both."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.models.discovery.advice import OFFERS, recommend
from kith.models.discovery.machine import find_program, read_memory, total_memory, usable_cores
from kith.models.discovery.memory import (
    GIB,
    STEPS,
    Memory,
    cache_bytes,
    choose_window,
    count_parameters,
    fits,
    memory_needed,
)
from kith.models.traits import Header, describe


def shape(blocks: int, heads_kv: Any, length: int = 128, **more: Any) -> Header:
    """A header as Ollama's `model_info` gives it."""
    own = {"block_count": blocks, "attention.head_count_kv": heads_kv, "attention.key_length": length}
    own |= {"attention.value_length": length, "context_length": 262_144} | more
    architecture = own.pop("architecture", "qwen2")
    values = {f"{architecture}.{key}": value for key, value in own.items()}
    return describe({"general.architecture": architecture, **values})


@pytest.mark.parametrize(
    ("name", "header", "kib"),
    [
        ("Qwen2.5-Coder 1.5B", shape(28, 2), 28),
        ("Qwen2.5-Coder 3B", shape(36, 2), 36),
        ("Qwen2.5-Coder 7B", shape(28, 4), 56),
        ("Qwen2.5-Coder 14B", shape(48, 8), 192),
        ("Qwen2.5-Coder 32B", shape(64, 8), 256),
        ("Qwen3 8B", shape(36, 8), 144),
        ("Qwen3 30B-A3B", shape(48, 4), 96),
        ("Qwen3.5 35B-A3B", shape(40, 2, 256, architecture="qwen35moe"), 20),
        (
            "gpt-oss 20B",
            shape(24, 8, 64, architecture="gpt-oss", **{"attention.sliding_window": 128}),
            24,
        ),
    ],
)
def test_a_token_costs_what_the_engine_allocates(name: str, header: Header, kib: int) -> None:
    assert grows_by(header) == kib * 1024


def grows_by(header: Header, cache_type: Any = "f16") -> int:
    """What one more token costs in a cache that is larger than any sliding window."""
    return cache_bytes(header, 65_536, cache_type) - cache_bytes(header, 65_535, cache_type)


def test_the_types_of_the_cache_count() -> None:
    header = shape(28, 4)
    assert grows_by(header, "q8_0") == 56 * 1024 * 34 / 64
    assert grows_by(header, ("f16", "q4_0")) == 28 * 1024 * (1 + 18 / 64)
    assert grows_by(header, "of tomorrow") == 56 * 1024


def test_a_sliding_window_stops_growing() -> None:
    header = shape(24, 8, 64, architecture="gpt-oss", **{"attention.sliding_window": 128})
    grown = cache_bytes(header, 65_536) - cache_bytes(header, 32_768)
    assert grown == 32_768 * grows_by(header)
    assert cache_bytes(header, 32_768) == 32_768 * 24 * 1024 + (128 + 512) * 24 * 1024


def test_a_recurrent_state_does_not_grow() -> None:
    own = {"ssm.conv_kernel": 4, "ssm.inner_size": 4096, "ssm.state_size": 128, "ssm.group_count": 16}
    header = shape(40, 2, 256, architecture="qwen35moe", **own)
    state = cache_bytes(header, 4096) - 4096 * 20 * 1024
    assert state == cache_bytes(header, 8192) - 8192 * 20 * 1024
    assert 60 << 20 < state / 5 < 66 << 20  # one snapshot is about 63 MiB


def machine(free: float, gpu: float = 0) -> Memory:
    return Memory(int(64 * GIB), int(free * GIB), int(gpu * GIB))


SEVEN, SIZE = shape(28, 4, **{"vocab_size": 152_064}), 4_680_000_000


def test_the_window_is_the_largest_that_all_three_allow() -> None:
    assert choose_window(SEVEN, SIZE, machine(32)).window == 32_768
    short = shape(28, 4, context_length=20_000)
    assert choose_window(short, SIZE, machine(32)).window == 20_000
    tight = choose_window(SEVEN, SIZE, machine(7.2))
    assert (tight.window, tight.wider, tight.fits) == (16_384, (32_768, 24_576), True)
    none = choose_window(SEVEN, SIZE, machine(2))
    assert (none.window, none.fits) == (4096, False)
    wanted = choose_window(shape(64, 8), 20 * GIB, machine(64, 80), want=131_072)
    assert wanted.window == 131_072
    small = choose_window(SEVEN, SIZE, machine(64), want=131_072)
    assert small.window == 65_536


def test_a_smaller_cache_makes_room_for_a_larger_window() -> None:
    assert choose_window(SEVEN, SIZE, machine(7.2), cache_type="q8_0").window == 32_768


@given(st.floats(0.1, 200), st.integers(512, 1 << 18), st.sampled_from([1, 8, 20]), st.booleans())
def test_a_window_always_fits_or_is_the_least(free: float, want: int, gigabytes: int, unified: bool) -> None:
    memory = machine(free, 24 if unified else 0)
    choice = choose_window(SEVEN, gigabytes * GIB, memory, want)
    assert choice.window <= want
    if choice.fits:
        assert memory_needed(SEVEN, gigabytes * GIB, choice.window) <= memory.budget
        assert choice.window in STEPS or choice.window in (want, SEVEN.trained)
    else:
        assert choice.window == min(4096, want)
    assert choose_window(SEVEN, gigabytes * GIB, memory, want) == choice


def test_whether_it_fits_is_said_in_words() -> None:
    assert fits(SEVEN, SIZE, machine(32)) == (True, "needs 5.7 GB of 29.2 GB")
    assert fits(SEVEN, SIZE, machine(6.5)) == (True, "needs 5.7 GB of 5.9 GB, which is tight")
    ok, why = fits(SEVEN, SIZE, machine(4))
    assert not ok and "needs 5.7 GB with a window of 4,096; there is room for 3.7 GB" in why
    assert fits(SEVEN, SIZE, machine(4, 24))[1].endswith("graphics card")
    assert fits(None, SIZE, machine(32))[0] and not fits(None, 40 * GIB, machine(32))[0]


def test_weights_are_counted_or_guessed_from_the_size() -> None:
    assert count_parameters(describe({"general.parameter_count": 7_600_000_000}), 1) == 7_600_000_000
    guessed = count_parameters(describe({"general.file_type": 15}), 4_680_000_000)
    assert 7.2e9 < guessed < 8.4e9


# --- the machine -------------------------------------------------------------------------------


def a_machine(root: Path, files: dict[str, str]) -> Path:
    free = {"proc/meminfo": "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n"}
    for name, content in {**free, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


V1, V2 = "sys/fs/cgroup/memory", "sys/fs/cgroup"
linux = pytest.mark.skipif(os.name == "nt", reason="Linux says it in files")


@linux
@pytest.mark.parametrize(
    ("files", "gib", "limit"),
    [
        ({}, 8.0, ""),
        ({"proc/self/cgroup": "0::/\n", f"{V2}/memory.max": "max\n"}, 8.0, ""),
        (
            {
                "proc/self/cgroup": "0::/user/kith\n",
                f"{V2}/user/memory.max": str(4 * GIB),
                f"{V2}/user/memory.current": str(3 * GIB),
                f"{V2}/user/memory.stat": f"anon 1\ninactive_file {2 * GIB}\n",
            },
            3.0,
            "of this container",
        ),
        # In a container the path is not there: its own group is the root.
        (
            {
                "proc/self/cgroup": "0::/docker/abc\n",
                f"{V2}/memory.max": str(2 * GIB),
                f"{V2}/memory.current": str(GIB),
            },
            1.0,
            "of this container",
        ),
        (
            {
                "proc/self/cgroup": "5:cpu:/a\n4:memory:/a\n",
                f"{V1}/a/memory.limit_in_bytes": str(6 * GIB),
                f"{V1}/a/memory.usage_in_bytes": str(GIB),
                f"{V1}/memory.limit_in_bytes": "9223372036854771712",
            },
            5.0,
            "of this container",
        ),
        ({"proc/self/cgroup": "what\n0::/../../x\n", f"{V2}/memory.max": "many"}, 8.0, ""),
    ],
)
def test_free_memory_is_what_this_process_may_use(
    tmp_path: Path, files: dict[str, str], gib: float, limit: str
) -> None:
    memory = read_memory(root=a_machine(tmp_path, files))
    assert (memory.total, memory.available, memory.limit) == (16 * GIB, gib * GIB, limit)


@linux
def test_cards_are_asked_for_only_when_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = "sys/class/drm/card0/device"
    files = {f"{device}/mem_info_vram_total": str(16 * GIB), f"{device}/mem_info_vram_used": str(GIB)}
    root = a_machine(tmp_path, {**files, "proc/driver/nvidia/version": "1"})
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "nvidia-smi").write_text("#!/bin/sh\nprintf '8192\\n[N/A]\\n1024\\n'\n")
    (programs / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    assert read_memory(root=root).gpu == 0
    assert read_memory(cards=True, root=root).gpu == (15 + 8 + 1) * GIB


@linux
@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({f"{V2}/box/cpu.max": "150000 100000\n", "proc/self/cgroup": "0::/box\n"}, 1),
        ({f"{V2}/cpu.max": "10000 100000\n", "proc/self/cgroup": "0::/\n"}, 1),
        ({f"{V2}/cpu.max": "max 100000\n", "proc/self/cgroup": "0::/\n"}, None),
        ({f"{V2}/cpu.max": "one 0\n", "proc/self/cgroup": "0::/\n"}, None),
        (
            {
                "proc/self/cgroup": "3:cpu,cpuacct:/a\n",
                f"{V2}/cpu/a/cpu.cfs_quota_us": "100000\n",
                f"{V2}/cpu/a/cpu.cfs_period_us": "100000\n",
            },
            1,
        ),
    ],
)
def test_cores_are_those_that_the_container_grants(
    tmp_path: Path, files: dict[str, str], cores: int | None
) -> None:
    assert usable_cores(a_machine(tmp_path, files)) == (cores or len(os.sched_getaffinity(0)))


def test_a_program_of_the_current_folder_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path in (".", "", "sub/.."):
        monkeypatch.setenv("PATH", path)
        assert find_program("tool") == ""
    monkeypatch.setenv("PATH", f".{os.pathsep}{tmp_path}")
    assert find_program("tool") == str(tmp_path / "tool")


def test_this_machine_has_memory() -> None:
    memory = read_memory()
    assert 0 < memory.available <= memory.total and memory.budget < memory.available
    assert total_memory() > GIB // 2


# --- what is worth having ----------------------------------------------------------------------


@pytest.mark.parametrize("total", [2, 4, 8, 16, 24, 32, 64, 128])
@pytest.mark.parametrize("gpu", [0, 12, 24, 96])
def test_what_is_recommended_fits_and_can_be_had(total: int, gpu: int) -> None:
    offers = recommend(Memory(total * GIB, total * GIB * 3 // 4, gpu * GIB))
    assert 1 <= len(offers) <= 3
    assert len(offers) >= 2 or total + gpu <= 4
    for offer in offers:
        assert offer.command.startswith("kith models pull ") and offer.command.count(":") == 1
        assert offer.ollama_command.startswith("ollama pull ")
        assert offer.tight or offer.size < (total * 0.75 + gpu) * GIB
    sizes = [OFFERS[[each.name for each in OFFERS].index(offer.name)] for offer in offers]
    assert sizes == sorted(sizes, key=OFFERS.index)


def test_what_is_tight_is_said() -> None:
    busy = recommend(Memory(16 * GIB, 4 * GIB))
    assert any(offer.tight for offer in busy)
    assert all(offer.tight for offer in recommend(Memory(2 * GIB, GIB)))
    assert not any("slow" in offer.tight for offer in recommend(Memory(64 * GIB, 60 * GIB, 24 * GIB)))


def test_a_containers_limit_counts() -> None:
    boxed = Memory(64 * GIB, 6 * GIB, limit="of this container")
    assert max(offer.size for offer in recommend(boxed)) < 6 * GIB
