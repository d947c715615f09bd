"""Which file a quantisation means, whatever a repository is filled with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.core.errors import NoModelError, UsageError
from kith.core.numbers import size_text
from kith.features.engine.file_names import quant_of
from kith.features.engine.quants import PREFERENCE, HubFile, choose_variant, variants_of


def files(*paths: str) -> list[HubFile]:
    return [HubFile(path, 1000 + n, f"{n:064x}") for n, path in enumerate(paths)]


def chosen(wanted: str, *paths: str) -> list[str]:
    return [file.path for file in choose_variant("me/it", files(*paths), wanted).files]


@pytest.mark.parametrize(
    ("path", "quant"),
    [
        ("Qwen3-8B-Q4_K_M.gguf", "Q4_K_M"),
        ("qwen2.5-coder-7b-instruct-q4_0.gguf", "Q4_0"),
        ("phi-2.Q5_K_S.gguf", "Q5_K_S"),
        ("phi-2_Q6_K.gguf", "Q6_K"),
        ("Q8_0.gguf", "Q8_0"),
        ("x-UD-Q4_K_XL.gguf", "UD-Q4_K_XL"),
        ("x-IQ4_XS-imat.gguf", "IQ4_XS"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("x-fp16.gguf", "F16"),
        ("BF16/x.gguf", "BF16"),
        ("Q2_K/x-Q3_K_L.gguf", "Q3_K_L"),
        ("Qwen3-8B.gguf", ""),
        ("q4-chatter.gguf", "Q4"),
        ("freq4_mod.gguf", ""),
    ],
)
def test_a_name_tells_its_quantisation(path: str, quant: str) -> None:
    assert quant_of(path) == quant


QUANTS = st.sampled_from(PREFERENCE)


@given(st.sets(QUANTS, min_size=1), st.data())
def test_any_quantisation_that_is_there_is_found_in_any_case(there: set[str], data: st.DataObject) -> None:
    wanted = data.draw(st.sampled_from(sorted(there)))
    name = "".join(data.draw(st.sampled_from([char.lower(), char.upper()])) for char in wanted)
    assert chosen(name, *(f"m-{quant}.gguf" for quant in there)) == [f"m-{wanted}.gguf"]


@given(st.sets(QUANTS, min_size=1), QUANTS)
def test_what_is_not_there_is_never_replaced_in_silence(there: set[str], wanted: str) -> None:
    if wanted not in there:
        with pytest.raises(NoModelError, match=f"has no {wanted}; there is .*{min(there)}"):
            chosen(wanted, *(f"m-{quant}.gguf" for quant in sorted(there)))


@given(st.sets(QUANTS, min_size=1), st.integers(1, 4))
def test_without_a_wish_the_best_that_is_there_comes_with_all_its_parts(there: set[str], count: int) -> None:
    def parts(quant: str) -> list[str]:
        return [f"{quant}/m-{quant}-{n + 1:05}-of-{count:05}.gguf" for n in range(count)]

    beside = ["mmproj-F16.gguf", "m-lora-Q4_K_M.gguf", "adapters/a.gguf", "imatrix.gguf", "README.md"]
    paths = [path for quant in sorted(there) for path in parts(quant)][::-1]
    assert chosen("", *beside, *paths) == parts(min(there, key=PREFERENCE.index))


@given(st.lists(st.text(max_size=30).map(lambda name: name + ".gguf"), max_size=6), st.text(max_size=12))
def test_whatever_names_there_are_one_file_or_one_sentence_comes(names: list[str], wanted: str) -> None:
    try:
        variant = choose_variant("me/it", files(*names), wanted)
    except (NoModelError, UsageError) as error:
        assert str(error).startswith("me/it has ")
    else:
        assert {file.path for file in variant.files} <= set(names)


def test_the_usual_one_is_preferred_in_the_order_that_was_promised() -> None:
    assert PREFERENCE[:3] == ("Q4_K_M", "Q5_K_M", "Q4_K_S")
    assert chosen("", "a-Q8_0.gguf", "a-Q6_K.gguf", "a-F16.gguf") == ["a-Q6_K.gguf"]


def test_a_dynamic_quantisation_answers_to_both_names_and_gives_way_to_the_plain_one() -> None:
    both = ("a-UD-Q4_K_M.gguf", "a-Q4_K_M.gguf")
    assert chosen("q4_k_m", *both) == ["a-Q4_K_M.gguf"]
    assert chosen("ud-q4_k_m", *both) == ["a-UD-Q4_K_M.gguf"]
    assert chosen("Q4_K_M", "a-UD-Q4_K_M.gguf", "a-Q8_0.gguf") == ["a-UD-Q4_K_M.gguf"]


def test_one_file_needs_no_name() -> None:
    assert chosen("", "anything.gguf") == ["anything.gguf"]


def test_of_several_one_must_be_named_and_can_be() -> None:
    with pytest.raises(UsageError, match=r"name one of them as me/it:FILE: a-Q4_K_M.gguf .*, b-Q4_K_M.gguf"):
        chosen("Q4_K_M", "a-Q4_K_M.gguf", "b-Q4_K_M.gguf")
    assert chosen("B-q4_k_m.gguf", "a-Q4_K_M.gguf", "b-Q4_K_M.gguf") == ["b-Q4_K_M.gguf"]
    assert chosen("b-Q4_K_M", "a-Q4_K_M.gguf", "sub/b-Q4_K_M.gguf") == ["sub/b-Q4_K_M.gguf"]


def test_split_files_with_a_part_missing_are_not_offered() -> None:
    paths = ["m-Q4_K_M-00001-of-00003.gguf", "m-Q4_K_M-00003-of-00003.gguf", "m-Q8_0.gguf"]
    assert [variant.name for variant in variants_of(files(*paths))] == ["m-Q8_0.gguf"]
    assert chosen("m-Q8_0-00002-of-00002.gguf", *(f"m-Q8_0-0000{n}-of-00002.gguf" for n in (2, 1))) == [
        "m-Q8_0-00001-of-00002.gguf",
        "m-Q8_0-00002-of-00002.gguf",
    ]


def test_a_repository_without_models_is_said() -> None:
    with pytest.raises(NoModelError, match="no GGUF model"):
        chosen("", "model.safetensors", "mmproj-model.gguf")


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "2 kB"), (4_700_000_000, "4.7 GB"), (999_700, "1 MB")],
)
def test_sizes_are_for_people(size: int, text: str) -> None:
    assert size_text(size) == text
