"""Getting a model: where it lands, what is refused before a byte comes, and how Ollama does it."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from hub_server import HubServer, listen
from kith.core.errors import KithError, ModelError, NoModelError, TreeError, UsageError
from kith.core.events import Event, Progress
from kith.features.demo.standin.http import Request, Response
from kith.features.engine.pull import PullRequest, pull, pull_model
from kith.models.discovery.servers import Places
from pulling import DATA, DIGEST, FILE, REPO, Cache, refused, visit


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "hub", [])


# --- whole -----------------------------------------------------------------------------------


def test_a_model_lands_in_the_layout_that_all_programs_share(cache: Cache) -> None:
    async def talk(hub: HubServer) -> tuple[Path, str]:
        return await cache.pull(hub), hub.commit(REPO)

    path, commit = visit(talk, elsewhere=True)
    assert path == cache.home / "snapshots" / commit / FILE
    assert str(path.readlink()) == f"../../blobs/{DIGEST}" and path.read_bytes() == DATA
    assert (cache.home / "refs" / "main").read_text() == commit
    assert not cache.leftovers
    sizes = [event.done for event in cache.events if isinstance(event, Progress)]
    assert sizes == sorted(sizes) and sizes[-1] == len(DATA)


def test_what_is_there_is_not_downloaded_again(cache: Cache) -> None:
    async def talk(hub: HubServer) -> int:
        first = await cache.pull(hub)
        hub.files[f"{REPO}/README.md"] = b"# newer\n"  # another commit, the same model
        second = await cache.pull(hub)
        assert first != second and second.read_bytes() == DATA
        assert (cache.home / "refs" / "main").read_text() == second.parent.name
        return hub.sent

    assert visit(talk) == len(DATA) and "already there" in cache.words


def test_all_parts_of_a_split_file_come_and_show_up_together(cache: Cache) -> None:
    names = [f"Q8_0/big-Q8_0-0000{n}-of-00003.gguf" for n in (1, 2, 3)]

    async def talk(hub: HubServer) -> Path:
        hub.files |= {f"{REPO}/{name}": DATA[n * 1000 : n * 2000] or b"x" for n, name in enumerate(names)}
        return await cache.pull(hub, f"{REPO}:q8_0")

    path = visit(talk)
    assert path.name == "big-Q8_0-00001-of-00003.gguf"
    assert [each.stat().st_size for each in sorted(path.parent.iterdir())] == [1, 1000, 2000]
    assert str(path.readlink()).startswith("../../../blobs/")
    assert cache.events[-2] == Progress("downloading", 3001, 3001)


def test_a_small_file_is_checked_by_its_git_id(cache: Cache) -> None:
    async def talk(hub: HubServer) -> Path:
        hub.files = {f"{REPO}/a.small.gguf": b"GGUF"}
        return await cache.pull(hub)

    path = visit(talk)
    assert path.resolve().name == hashlib.sha1(b"blob 4\0GGUF").hexdigest()
    cache.folder = cache.folder / "other"
    with pytest.raises(KithError, match="wrong checksum"):

        async def damaged(hub: HubServer) -> Path:
            hub.files = {f"{REPO}/a.small.gguf": b"GGUF"}
            return await cache.pull(hub)

        visit(damaged, damaged=True)


def test_addresses_of_web_pages_are_understood(cache: Cache) -> None:
    async def talk(hub: HubServer) -> list[Path]:
        names = (f"https://huggingface.co/{REPO}", f"hf.co/{REPO}:Q4_K_M", f"{REPO}:{FILE}")
        return [await cache.pull(hub, name) for name in names]

    assert len(set(visit(talk))) == 1


# --- refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../../etc:Q4", "a/b/c", "a/../b", "a--b/c", "/b", "a/", "a b/c", "a/b\x1b"]
)
def test_what_names_no_repository_is_refused(cache: Cache, name: str) -> None:
    error = refused(cache, name)
    assert isinstance(error, UsageError) and "should look like USER/REPO" in str(error)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        (REPO, {"offline": True}),
        ("ollama/qwen3:8b", {"offline": True}),
        ("qwen3:8b", {"offline": True}),
        (REPO, {"environ": {"HF_HUB_OFFLINE": "1"}}),
    ],
)
def test_offline_nothing_is_even_asked(cache: Cache, name: str, fields: dict[str, Any]) -> None:
    async def talk(hub: HubServer) -> list[Request]:
        environ = {"HF_ENDPOINT": hub.url, **fields.pop("environ", {})}
        with pytest.raises(UsageError, match="Nothing is downloaded"):
            await cache.pull(hub, name, ollama_host=hub.url, environ=environ, **fields)
        return hub.requests

    assert visit(talk) == []


def test_a_disk_without_room_is_refused_with_the_numbers(cache: Cache) -> None:
    error = refused(cache, fields={"spare_disk": 1 << 60})
    assert not cache.home.exists()
    cache.leave_part(DATA[:400_000])
    assert "needs 600 kB more" in str(refused(cache, fields={"spare_disk": 1 << 60}))
    assert isinstance(error, TreeError) and "1,152,921,504.6 GB must stay free" in str(error)


def test_a_model_that_the_memory_cannot_hold_is_refused_unless_forced(cache: Cache) -> None:
    assert "is 1 MB, but the 1 MB of memory here carry at most 850 kB" in str(
        refused(cache, fields={"memory": 1_000_000})
    )

    async def talk(hub: HubServer) -> None:
        await cache.pull(hub, memory=1_000_000, force=True)

    visit(talk)


def test_memory_of_graphics_cards_counts_too(cache: Cache) -> None:
    async def talk(hub: HubServer) -> None:
        await cache.pull(hub, memory=1_000_000, gpu_memory=1_000_000)

    visit(talk)


def test_a_folder_that_cannot_be_written_is_one_sentence(cache: Cache) -> None:
    cache.folder.parent.mkdir(exist_ok=True)
    cache.folder.write_text("a file")
    assert isinstance(refused(cache), TreeError)


# --- through Ollama --------------------------------------------------------------------------


def lines(*rows: dict[str, Any]) -> Response:
    return Response(200, b"".join(json.dumps(row).encode() + b"\n" for row in rows), "application/x-ndjson")


def pull_from_ollama(
    response: Response, name: str = "ollama/qwen3:8b", **fields: Any
) -> tuple[Any, Any, Any]:
    """What comes back, what was emitted, and what was asked."""
    events: list[Event] = []
    asked: list[Request] = []

    async def answer(request: Request) -> Response:
        asked.append(request)
        return response

    async def run() -> Any:
        async with listen(answer) as url:
            return await pull(PullRequest(name, ollama_host=url, **fields), events.append)

    return asyncio.run(run()), events, asked


GOOD = (
    {"status": "pulling manifest"},
    {"status": "pulling aaaa", "digest": "sha256:a", "total": 1000, "completed": 400},
    {"status": "pulling bbbb", "digest": "sha256:b", "total": 50},
    {"status": "pulling aaaa", "digest": "sha256:a", "total": 1000, "completed": 1000},
    {"status": "verifying sha256 digest"},
    {"status": "success"},
)


@pytest.mark.parametrize("name", ["ollama/qwen3:8b", "qwen3:8b"])
def test_ollama_pulls_by_itself_and_we_watch(name: str) -> None:
    got, events, asked = pull_from_ollama(lines(*GOOD), name)
    assert got == "ollama/qwen3:8b"
    assert (asked[0].path, asked[0].body) == ("/api/pull", {"model": "qwen3:8b", "stream": True})
    progress = [(event.what, event.done, event.total) for event in events]
    assert progress == [
        ("downloading", 400, 1000),
        ("downloading", 400, 1050),
        ("downloading", 1000, 1050),
        ("checking", 0, 0),
    ]


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        (
            [{"error": "pull model manifest: file does not exist"}],
            NoModelError,
            "library has no model 'qwen3:8b'",
        ),
        ([GOOD[1], {"error": "max retries exceeded: EOF"}], ModelError, "max retries exceeded"),
        ([GOOD[1]], ModelError, "broke off .* the same command resumes"),
    ],
)
def test_what_goes_wrong_in_ollama_is_said(
    rows: list[dict[str, Any]], error: type[KithError], words: str
) -> None:
    with pytest.raises(error, match=words):
        pull_from_ollama(lines(*rows))


def test_what_is_too_large_is_stopped_in_ollama_too() -> None:
    with pytest.raises(KithError, match="or --force"):
        pull_from_ollama(lines(*GOOD), memory=1000)
    pull_from_ollama(lines(*GOOD), memory=1000, force=True)


def test_no_ollama_and_names_that_are_none() -> None:
    async def try_it(name: str) -> None:
        await pull_model(Places(ollama_host="127.0.0.1:1"), name, False, lambda event: None)

    with pytest.raises(
        NoModelError, match=r"No Ollama answers at http://127\.0\.0\.1:1; .* name a repository"
    ):
        asyncio.run(try_it("qwen3:8b"))
    for name in ("", "ollama/", "qwen3 8b", "a\nb"):
        with pytest.raises(UsageError, match="names no model"):
            asyncio.run(try_it(name))
