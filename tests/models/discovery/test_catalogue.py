"""The one list of all models: their names, whether they fit, and what experience says of them."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kith.models.discovery.advice import advise
from kith.models.discovery.cards import Card
from kith.models.discovery.catalogue import Entry, list_models, names_of
from kith.models.discovery.memory import GIB, Memory
from kith.models.discovery.servers import NamedServer, Places, Server
from kith.models.discovery.stored import Stored
from kith.models.traits import Header, Template, describe

OLLAMA, LLAMA = "http://127.0.0.1:11434", "http://127.0.0.1:8080"
MEMORY = Memory(32 * GIB, 20 * GIB)
PLACES = Places()
INFO = {"general.architecture": "qwen3", "qwen3.block_count": 36, "qwen3.attention.head_count_kv": 8}
INFO |= {"qwen3.attention.key_length": 128, "qwen3.attention.value_length": 128}


def header(**more: Any) -> Header:
    return Header("qwen3", trained=40_960, blocks=1, template=Template(tools=True), digest="f1", **more)


def stored(name: str, source: str = "Hugging Face", size: int = 5 * GIB, **more: Any) -> Stored:
    return Stored(name, Path("/models") / f"{name}.gguf", size, source, header(), "Q4_K_M", **more)


def listed(servers: list[Server], files: list[Stored], learned: Any = None) -> tuple[Entry, ...]:
    return list_models(servers, files, places=PLACES, memory=MEMORY, learned=learned)


def test_servers_come_first_and_every_name_can_be_asked() -> None:
    card = Card(
        "qwen3:8b", 5 * GIB, 16_384, "Q4_K_M", trained=40_960, tools=True, parameters="8B", loaded=True
    )
    rows = listed([Server("ollama", OLLAMA, (card,))], [stored("Mini:Q4_K_M")])
    assert [(row.name, row.source, row.where) for row in rows] == [
        ("ollama/qwen3:8b", "Ollama", OLLAMA),
        ("file/Mini:Q4_K_M", "Hugging Face", "/models/Mini:Q4_K_M.gguf"),
    ]
    assert (rows[0].window, rows[0].trained, rows[0].fits, rows[0].why) == (16_384, 40_960, True, "loaded")
    assert (rows[1].window, rows[1].trained, rows[1].tools, rows[1].thinking) == (0, 40_960, True, False)


def test_what_does_not_fit_says_why() -> None:
    shape = describe(INFO)
    cards = (Card("big", 60 * GIB), Card("small", 5 * GIB, header=shape), Card("unknown"))
    far = Server("openai", "http://10.0.0.7:1", (Card("far", 60 * GIB),))
    rows = listed([Server("ollama", OLLAMA, cards), far], [stored("huge", size=90 * GIB)])
    assert [row.fits for row in rows] == [False, True, None, None, False]
    assert "there is room for 18.3 GB" in rows[0].why and rows[1].why.startswith("needs 6.")
    assert rows[3].why


def test_a_model_that_lacks_a_part_does_not_fit() -> None:
    (row,) = listed([], [stored("m", fault="part 2 of 3 is missing")])
    assert (row.fits, row.why) == (False, "part 2 of 3 is missing")
    assert names_of([], [stored("m", fault="part 2 of 3 is missing")], PLACES) == ()


def test_what_a_running_program_lists_itself_is_shown_once() -> None:
    files = [
        stored("qwen3:8b", "Ollama"),
        stored("other:1b", "Ollama"),
        stored("lm:Q6_K", "LM Studio", size=7),
    ]
    ollama = Server("ollama", OLLAMA, (Card("qwen3:8b"),))
    studio = Server("lmstudio", "http://127.0.0.1:1234", (Card("pub/lm", 7),))
    assert [row.name for row in listed([ollama, studio], files)] == [
        "ollama/qwen3:8b",
        "lmstudio/pub/lm",
        "file/other:1b",
    ]
    elsewhere = Server("ollama", "http://10.0.0.7:11434", (Card("qwen3:8b"),))
    assert "file/qwen3:8b" in [row.name for row in listed([elsewhere], files)]


def test_experience_is_found_by_digest() -> None:
    facts = {"read_rate": 812.5, "write_rate": 21, "probe": {"good_for": ["agent work"], "not_for": ["x"]}}
    (row,) = listed([], [stored("m")], {"f1": facts, "other": {"read_rate": 1}})
    assert (row.read_rate, row.write_rate) == (812.5, 21.0)
    assert (row.good_for, row.not_for) == (("agent work",), ("x",))
    (row,) = listed([Server("ollama", OLLAMA, (Card("q", digest="o1"),))], [], {"o1": facts})
    assert row.read_rate == 812.5


@given(
    st.dictionaries(
        st.sampled_from(["read_rate", "write_rate", "probe"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["good_for", "not_for"]), inner),
        ),
    )
)
def test_any_card_is_taken(facts: dict[str, Any]) -> None:
    (row,) = listed([], [stored("m")], {"f1": facts})
    assert all(isinstance(word, str) for word in (*row.good_for, *row.not_for))


def test_names_are_each_once() -> None:
    servers = [
        Server("llama-server", LLAMA, (Card("nano"),)),
        Server("llama-server", f"{LLAMA[:-1]}1", (Card("n"),)),
    ]
    assert names_of([*servers, *servers], [stored("m")], PLACES) == ("llama-server/nano", "n", "file/m")


# --- and when there is none --------------------------------------------------------------------


def test_advice_says_where_it_looked_and_what_fits() -> None:
    box = NamedServer("vllm", "http://10.0.0.7:9/v1")
    words = advise(Places(named={"box": box}), (), Memory(16 * GIB, 12 * GIB))
    assert f"Ollama at {OLLAMA}" in words and "box at http://10.0.0.7:9" in words
    assert "8080, 1234, 8000" in words and "17.2 GB of memory" in words
    assert "kith models pull Qwen/Qwen3-8B-GGUF:Q4_K_M" in words and "ollama pull" in words
    assert "10.0.0.7" not in advise(Places(named={"box": box}, offline=True), (), MEMORY)


@pytest.mark.parametrize(
    ("server", "words"),
    [
        (Server("ollama", OLLAMA, ()), f"Ollama at {OLLAMA}, which runs but has no model"),
        (Server("llama-server", LLAMA, (), loading=True), f"{LLAMA}, which still loads its model"),
    ],
)
def test_advice_says_what_is_there_instead(server: Server, words: str) -> None:
    assert words in advise(PLACES, (server,), MEMORY)
