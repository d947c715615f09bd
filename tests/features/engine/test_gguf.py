"""What a model file's header tells, and that no file, however it was made, does harm to who reads it."""

import os
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from gguf import LlamaFileType
from hypothesis import given, settings
from hypothesis import strategies as st

from kith.features.engine.gguf import MOST_BYTES, ModelFileError, read_header
from kith.models.discovery.memory import cache_bytes
from kith.models.traits import QUANTISATIONS, Header, Template, describe, read_template
from model_files import write_model
from steps import count_steps


def text(words: str) -> bytes:
    return struct.pack("<Q", len(words.encode())) + words.encode()


def opening(keys: int, tensors: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys)


ARCHITECTURE = text("general.architecture") + struct.pack("<I", 8) + text("llama")
SMALL = opening(2, 1) + ARCHITECTURE + text("x") + struct.pack("<IIQ3f", 9, 6, 3, 1, 2, 3)
SMALL += text("t") + struct.pack("<I2QIQ", 2, 4, 5, 0, 0) + bytes(80)


def read(folder: Path, data: bytes) -> Header:
    path = folder / "any.gguf"
    path.write_bytes(data)
    return read_header(path)


def test_a_model_says_what_it_is(tmp_path: Path) -> None:
    path = write_model(tmp_path / "m.gguf", words=500, weights=100, general__size_label="7B")
    header = read_header(path)
    assert (header.architecture, header.name, header.size_label) == ("qwen2", "m", "7B")
    assert (header.quantisation, header.trained, header.blocks) == ("Q4_K_M", 32_768, 28)
    assert header.heads_kv == (4,) * 28
    assert (header.key_length, header.value_length) == (128, 128)
    assert (header.vocabulary, header.parameters) == (500, 100)
    assert header.template == Template(tools=True, thinking=True)
    assert header.talks and not header.state


def test_layers_may_differ(tmp_path: Path) -> None:
    heads = [8 if layer % 4 == 3 else 0 for layer in range(8)]
    path = write_model(
        tmp_path / "m.gguf",
        "jamba",
        block_count=8,
        attention__head_count_kv=heads,
        attention__sliding_window=64,
        attention__sliding_window_pattern=[True, False] * 4,
        ssm__conv_kernel=4,
        ssm__inner_size=10,
        ssm__state_size=3,
        nextn_predict_layers=1,
    )
    header = read_header(path)
    assert (header.heads_kv, header.predicts) == (tuple(heads), 1)
    assert header.sliding == (True, False) * 4
    assert header.state == 6 * (3 * 10 + 3 * 10)


def test_an_interval_leaves_layers_without_attention() -> None:
    values = {"general.architecture": "qwen3next", "qwen3next.block_count": 8}
    values |= {"qwen3next.attention.head_count_kv": 2, "qwen3next.attention.key_length": 256}
    assert describe(values).heads_kv == (0, 0, 0, 2) * 2
    assert describe({**values, "qwen3next.full_attention_interval": 2}).heads_kv == (0, 2) * 4


def test_known_architectures_slide_without_saying_which_layers() -> None:
    values = {"general.architecture": "gpt-oss", "gpt-oss.block_count": 4, "gpt-oss.attention.head_count": 2}
    assert describe(values).sliding == (True, False, True, False)
    values = {"general.architecture": "llama", "llama.block_count": 2}
    assert describe(values).sliding == (False, False)


def test_quantisations_are_called_as_llama_cpp_calls_them() -> None:
    for kind in LlamaFileType:
        name = kind.name.removeprefix("ALL_").removeprefix("MOSTLY_")
        if name not in ("GUESSED", "Q1_0"):
            assert QUANTISATIONS[kind.value] == name.replace("MXFP4_MOE", "MXFP4")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("{{ messages }}", Template()),
        ("{% for tool in tools %}", Template(tools=True)),
        ("<function={{ name }}> tool_call", Template(tools=True)),
        ("<think>", Template(thinking=True)),
    ],
)
def test_a_template_tells_by_its_words(words: str, expected: Template) -> None:
    assert read_template(words) == expected


@pytest.mark.parametrize(
    "more",
    [
        {"general__type": "adapter"},
        {"general__type": "mmproj"},
        {"general__type": "imatrix"},
        {"architecture": "bert"},
        {"architecture": "nomic-bert-moe"},
        {"architecture": "gemma-embedding"},
        {"architecture": "clip"},
        {"architecture": "flux", "words": 0},
        {"pooling_type": 3},
    ],
)
def test_what_does_not_answer_in_words_is_known(tmp_path: Path, more: dict[str, object]) -> None:
    architecture = str(more.pop("architecture", "qwen3"))
    words = int(str(more.pop("words", 300)))
    assert not read_header(write_model(tmp_path / "m.gguf", architecture, words=words, **more)).talks


def test_the_real_engines_model_is_read(tiny_gguf: Path) -> None:
    header = read_header(tiny_gguf)
    assert (header.architecture, header.name, header.blocks) == ("llama", "tiny", 2)
    assert header.talks and header.template == Template(tools=True)
    assert header.parameters > 100_000


def test_a_digest_names_one_file(tmp_path: Path) -> None:
    one = read_header(write_model(tmp_path / "a.gguf", general__name="a", weights=100)).digest
    again = read_header(write_model(tmp_path / "b.gguf", general__name="a", weights=100)).digest
    other = read_header(write_model(tmp_path / "c.gguf", general__name="c", weights=100)).digest
    larger = read_header(write_model(tmp_path / "d.gguf", general__name="a", weights=900)).digest
    assert one == again and len({one, other, larger}) == 3


def test_a_large_vocabulary_is_skipped_word_by_word(tmp_path: Path) -> None:
    words = 50_000
    path = write_model(tmp_path / "m.gguf", words=words)
    header = read_header(path)
    assert (header.vocabulary, header.trained) == (words, 32_768)
    assert count_steps(lambda: read_header(path)) < 5 * words


# --- files that are not as they should be ------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is not a GGUF model file"),
        (b"GGUF", "is not a GGUF model file"),
        (b"GGML" + bytes(40), "is not a GGUF model file"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 1) + bytes(40), "big-endian"),
        (opening(0, version=1) + bytes(40), "version 1"),
        (opening(0, version=4) + bytes(40), "version 4"),
        (opening(1 << 60), "claims to hold 0 tensors and 1,152,921,504,606,846,976 metadata"),
        (opening(1, 1 << 60), "tensors"),
        (opening(0), "does not name its architecture"),
        (SMALL[:90], "breaks off inside its header"),
        (opening(1) + struct.pack("<Q", 1 << 62), "a name of"),
        (opening(1) + text("x") + struct.pack("<IQ", 8, 1 << 62), "a text of"),
        (opening(1) + text("x") + struct.pack("<IIQ", 9, 8, 1 << 62), "words"),
        (opening(1) + text("x") + struct.pack("<IIQ", 9, 4, 1 << 62), "breaks off"),
        (opening(1) + text("x") + struct.pack("<IIQ", 9, 9, 1), "unknown kind 9"),
        (opening(1) + text("x") + struct.pack("<I", 99), "unknown kind 99"),
        (opening(1, 1) + ARCHITECTURE + text("t") + struct.pack("<I", 1 << 30), "dimensions"),
        (SMALL[:-80].replace(struct.pack("<IQ", 0, 0), struct.pack("<IQ", 0, 4096)), "incomplete"),
    ],
)
def test_a_broken_file_is_refused_in_one_sentence(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        read(tmp_path, data)
    said = str(caught.value)
    assert words in said and said.endswith(".") and "\n" not in said and said.count("any.gguf") == 1


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.gguf", Path(os.devnull)):
        with pytest.raises(ModelFileError):
            read_header(path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.gguf")
        with pytest.raises(ModelFileError, match="is not a file"):
            read_header(tmp_path / "pipe.gguf")


TEMPLATES = text("tokenizer.chat_template.x") + struct.pack("<IQ", 8, 1 << 15) + bytes(1 << 15)
WORST = {
    "two million empty words": opening(1) + text("x") + struct.pack("<IIQ", 9, 8, 2_000_000),
    "a text of 40 MB": opening(1) + text("tokenizer.chat_template") + struct.pack("<IQ", 8, 40 << 20),
    "many arrays": opening(1000) + (text("xx") + struct.pack("<IIQ", 9, 0, 1024) + bytes(1024)) * 1000,
    "many texts": opening(2000) + TEMPLATES * 500,
}


@pytest.mark.parametrize("name", WORST)
def test_the_worst_headers_cost_little(tmp_path: Path, name: str) -> None:
    path = tmp_path / "worst.gguf"
    path.write_bytes(WORST[name])
    os.truncate(path, MOST_BYTES)  # zeros to the end, on no disk at all
    with pytest.raises(ModelFileError):
        read_header(path)
    if "words" in name:
        return  # nothing of them is kept, and measuring memory makes the loop thirty times as slow
    tracemalloc.start()
    with pytest.raises(ModelFileError):
        read_header(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 << 20


def survive(folder: Path, data: bytes) -> None:
    with suppress(ModelFileError):
        assert read(folder, data).architecture


@given(st.binary(max_size=300))
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    survive(folder, data)
    survive(folder, opening(3, 1) + data)
    survive(folder, opening(2, 1) + ARCHITECTURE + data)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(4, len(SMALL) - 1), st.integers(0, 255)), max_size=6), st.data())
@settings(max_examples=300, deadline=None)
def test_a_damaged_header_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], data: st.DataObject
) -> None:
    damaged = bytearray(SMALL)
    for at, byte in changes:
        damaged[at] = byte
    survive(tmp_path_factory.getbasetemp(), bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
KEYS = ("block_count", "attention.head_count", "attention.head_count_kv", "attention.key_length")
KEYS += ("attention.sliding_window", "attention.sliding_window_pattern", "full_attention_interval")
KEYS += ("ssm.inner_size", "ssm.conv_kernel", "context_length", "embedding_length", "pooling_type")


@given(st.dictionaries(st.sampled_from([f"q.{key}" for key in KEYS]), JSON), JSON)
def test_any_metadata_make_a_header(values: dict[str, object], other: object) -> None:
    header = describe({"general.architecture": "q", **values, "tokenizer.ggml.tokens": other})
    assert len(header.heads_kv) <= 1024 and header.trained >= 0 and header.talks in (True, False)


@pytest.mark.slow
def test_the_cache_of_the_real_engine(tiny_gguf: Path) -> None:
    # What the engine itself prints for 16,384 cells of this model: "KV buffer size = 8.00 MiB".
    assert cache_bytes(read_header(tiny_gguf), 16_384) == 8 << 20
