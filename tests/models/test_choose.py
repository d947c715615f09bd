"""Which model is asked: what is loaded before what is not, servers before files, and a sentence otherwise."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kith.core.errors import KithError, NoModelError
from kith.core.events import Event, Notice, Progress
from kith.features.demo.standin import serve
from kith.features.engine.model_files import OwnEngine
from kith.models.choose import choose_provider, first_model
from kith.models.discovery.cards import Card
from kith.models.discovery.servers import NamedServer, Places, Server
from model_files import write_model

NOBODY = Places(ollama_host="http://127.0.0.1:1", offline=True, usual=())


@pytest.fixture
def own(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> OwnEngine:
    """An engine that could run one file of the person's; nothing here starts it."""
    write_model(home / "models" / "Tiny-Q4_K_M.gguf")
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "llama-server").touch(mode=0o755)
    return OwnEngine(tmp_path / "state", tmp_path / "cache", program="llama-server")


def choose(name: str, places: Places, own: OwnEngine) -> tuple[str, list[Event]]:
    events: list[Event] = []
    return asyncio.run(choose_provider(name, places, {"file": lambda: own}, events.append)).name, events


@pytest.mark.slow
def test_a_server_that_still_loads_is_waited_for(own: OwnEngine) -> None:
    async def run() -> tuple[str, list[Event]]:
        events: list[Event] = []
        async with serve([], "llama-server", model="big", loading=0.8) as server:
            places = replace(NOBODY, named={"box": NamedServer("llama-server", server.url)})
            return (await choose_provider("", places, {"file": lambda: own}, events.append)).name, events

    name, events = asyncio.run(run())
    assert name == "llama-server/big"
    assert [event for event in events if isinstance(event, Progress)]


def test_the_key_of_an_endpoint_goes_there_alone(own: OwnEngine) -> None:
    heads: dict[str, list[str]] = {"one": [], "other": []}

    def listen(name: str) -> Any:
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heads[name].append((await reader.read(4096)).decode().lower())
            body = (
                b'{"data": [{"id": "m", "max_model_len": 8192}]}' if "the-key" in heads[name][-1] else b"{}"
            )
            writer.write(b"HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n" + body)
            writer.close()

        return asyncio.start_server(talk, "127.0.0.1", 0)

    async def run() -> str:
        async with await listen("one") as one, await listen("other") as other:
            urls = [f"http://127.0.0.1:{each.sockets[0].getsockname()[1]}" for each in (one, other)]
            named = {"a": NamedServer("openai", urls[1]), "b": NamedServer("openai", urls[0], "the-key")}
            return (
                await choose_provider(
                    "", replace(NOBODY, named=named), {"file": lambda: own}, lambda event: None
                )
            ).name

    assert asyncio.run(run()) == "vllm/m"
    assert not any("the-key" in head for head in heads["other"])


def server(url: str, *models: Card) -> Server:
    return Server("ollama", url, models)


HERE, THERE = "http://127.0.0.1:1", "http://10.0.0.7:1"


@pytest.mark.parametrize(
    ("servers", "name"),
    [
        ([server(HERE, Card("a"), Card("b", loaded=True))], "b"),
        ([server(HERE, Card("a")), server(THERE, Card("b", loaded=True))], "b"),
        ([server(THERE, Card("a")), server(HERE, Card("b"))], "b"),
        ([server(HERE, Card("a", tools=False), Card("b"), Card("c", tools=True))], "b"),
        ([server(HERE, Card("a", size=1 << 50), Card("b", size=1 << 20))], "b"),
        ([server(HERE, Card("a"), Card("b"))], "a"),
        ([server(HERE)], ""),
    ],
)
def test_the_first_model_is_one_that_answers_soon_and_well(servers: list[Server], name: str) -> None:
    found = first_model(servers)
    assert (found[1].name if found else "") == name


def test_files_without_an_engine_are_named_with_the_remedy(own: OwnEngine) -> None:
    with pytest.raises(NoModelError, match=r"\(file/Tiny:Q4_K_M\) can be run\. .*switched off") as caught:
        choose("", NOBODY, replace(own, program="off"))
    assert "models pull" not in str(caught.value)


def test_a_damaged_file_is_listed_and_not_chosen(own: OwnEngine, home: Path) -> None:
    (home / "models" / "Tiny-Q4_K_M.gguf").rename(home / "models" / "Tiny-Q4_K_M-00001-of-00002.gguf")
    assert [each.fault for each in asyncio.run(own.stored())] == ["part 2 of 2 is missing"]
    with pytest.raises(NoModelError, match="damaged"):
        choose("", NOBODY, own)
    with pytest.raises(NoModelError, match="part 2 of 2 is missing"):
        choose("file/Tiny", NOBODY, own)


def test_the_path_of_a_file_is_a_name(
    own: OwnEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(tmp_path / "other.gguf")
    monkeypatch.chdir(tmp_path)
    assert choose("./other.gguf", NOBODY, own)[0] == "file/other:Q4_K_M"
    assert choose(str(tmp_path / "other.gguf"), NOBODY, own)[0] == "file/other:Q4_K_M"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("file/Tiny", "There is no provider 'file'"),
        ("replay/talk.json", "There is no provider 'replay'"),
        ("./Tiny.gguf", "Nothing that is installed runs model files"),
        ("", "No model was found"),
    ],
)
def test_without_what_runs_files_none_is_asked(name: str, said: str) -> None:
    with pytest.raises(KithError, match=said):
        asyncio.run(choose_provider(name, NOBODY, {}, lambda event: None))


SHOWN = {"model_info": {"general.architecture": "q", "q.context_length": 32_768, "q.block_count": 28}}


def ollama(shown: dict[str, Any], places: Places, own: OwnEngine, runs: int = 0) -> tuple[Any, list[Event]]:
    """`ollama/big`, from a server that says this of it; `runs` is the window that it is loaded with."""
    events: list[Event] = []
    row = {"name": "big", "context_length": runs}
    answers = {
        "/api/show": shown,
        "/api/ps": {"models": [row] if runs else []},
        "/api/tags": {"models": [row]},
    }

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        body = json.dumps(answers.get(head.split()[1], {})).encode()
        writer.write(b"HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n" + body)
        writer.close()

    async def run() -> Any:
        async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
            host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            return await choose_provider(
                "ollama/big", replace(places, ollama_host=host), {"file": lambda: own}, events.append
            )

    return asyncio.run(run()), events


def test_a_model_of_a_cloud_is_no_model_of_this_machine(own: OwnEngine) -> None:
    cloud = {**SHOWN, "remote_host": "https://ollama.com:443"}
    with pytest.raises(NoModelError, match=r"https://ollama.com:443, which is not .* --offline is set"):
        ollama(cloud, NOBODY, own)
    _, (notice,) = ollama(cloud, replace(NOBODY, offline=False), own)
    assert isinstance(notice, Notice) and "this machine" in notice.text


@pytest.mark.parametrize(
    ("wish", "runs", "window"), [(0, 0, 32_768), (0, 8192, 8192), (4096, 8192, 4096), (99_999, 0, 32_768)]
)
def test_the_window_is_the_wish_else_what_runs_else_what_fits(
    wish: int, runs: int, window: int, own: OwnEngine
) -> None:
    provider, _ = ollama(SHOWN, replace(NOBODY, window=wish), own, runs)
    assert provider.num_ctx == window
