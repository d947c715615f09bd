"""The hub client: whom it asks, to whom it shows the token, what it believes, and its words for a refusal."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub_server import HubServer, listen, serve_hub
from kith.core.errors import EXIT_NO_MODEL, EXIT_TRY_LATER, KithError, ModelError, NoModelError, UsageError
from kith.features.demo.standin.http import Request, Response, json_response
from kith.features.engine.hub import Hub, Listing, hub_url, is_safe_path, open_hub, read_token
from kith.features.engine.libraries import cache_folder

REPO, FILE = "me/tiny-GGUF", "tiny-Q4_K_M.gguf"
DATA = bytes(range(256)) * 400
FILES = {f"{REPO}/{FILE}": DATA, f"{REPO}/README.md": b"# tiny\n"}
TOKEN = "hf_secret"


def visit(
    talk: Callable[[Hub, HubServer], Coroutine[Any, Any, Any]], token: str = "", **behaviour: Any
) -> Any:
    """Talk to a stand-in hub that runs only so long."""

    async def run() -> Any:
        async with (
            serve_hub(FILES, **behaviour) as server,
            open_hub({"HF_ENDPOINT": server.url, "HF_TOKEN": token}) as hub,
        ):
            return await talk(hub, server)

    return asyncio.run(run())


async def read(hub: Hub, start: int = 0, etag: str = "") -> bytes:
    listing = await hub.list(REPO)
    file = next(file for file in listing.files if file.path == FILE)
    async with hub.open(REPO, listing.commit, file, start, etag) as arrival:
        return b"".join([chunk async for chunk in arrival.chunks])


def refused(token: str = "", repo: str = REPO, **behaviour: Any) -> KithError:
    """The error that reading a file ends with."""

    async def talk(hub: Hub, server: HubServer) -> None:
        listing = await hub.list(repo)
        async with hub.open(repo, listing.commit, listing.files[0]):
            pass

    with pytest.raises(KithError) as caught:
        visit(talk, token, **behaviour)
    assert TOKEN not in str(caught.value)
    return caught.value


# --- what it reads ---------------------------------------------------------------------------


@pytest.mark.parametrize("listed_sizes", [True, False])
def test_files_are_listed_with_size_and_digest_wherever_the_hub_tells_them(listed_sizes: bool) -> None:
    async def talk(hub: Hub, server: HubServer) -> tuple[Listing, str]:
        return await hub.list(REPO), server.commit(REPO)

    listing, commit = visit(talk, listed_sizes=listed_sizes)
    assert listing.commit == commit
    assert {(file.path, file.size, len(file.digest)) for file in listing.files} == {
        (FILE, len(DATA), 64),
        ("README.md", 7, 40),
    }


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_file_comes_whole_or_from_where_it_is_asked_for(elsewhere: bool) -> None:
    async def talk(hub: Hub, server: HubServer) -> tuple[bytes, bytes]:
        return await read(hub), await read(hub, 1000)

    assert visit(talk, elsewhere=elsewhere) == (DATA, DATA[1000:])


def test_a_file_whose_tag_is_another_comes_from_its_beginning() -> None:
    async def talk(hub: Hub, server: HubServer) -> bytes:
        return await read(hub, 1000, '"another"')

    assert visit(talk) == DATA


def test_a_server_that_goes_on_with_another_content_is_not_believed() -> None:
    async def talk(hub: Hub, server: HubServer) -> bytes:
        return await read(hub, 1000, '"another"')

    with pytest.raises(ModelError, match="has changed"):
        visit(talk, keep_etag=True)


def test_a_file_that_shrank_is_noticed() -> None:
    async def talk(hub: Hub, server: HubServer) -> bytes:
        return await read(hub, len(DATA))

    with pytest.raises(ModelError, match="shorter"):
        visit(talk)


# --- the token -------------------------------------------------------------------------------


def test_the_token_goes_to_the_hub_and_to_nobody_else() -> None:
    async def talk(hub: Hub, server: HubServer) -> tuple[list[Request], list[Request]]:
        await read(hub)
        assert TOKEN not in repr(hub)
        return server.requests, server.elsewhere

    here, there = visit(talk, TOKEN, elsewhere=True, secret=TOKEN)
    assert {request.headers["authorization"] for request in here} == {f"Bearer {TOKEN}"}
    assert there and not any(TOKEN in str(request.headers) for request in there)


def test_a_token_is_found_where_other_programs_keep_it(home: Path, tmp_path: Path) -> None:
    usual = home / ".cache" / "huggingface" / "token"
    usual.parent.mkdir(parents=True)
    usual.write_text(f"{TOKEN}\n")
    (tmp_path / "token").write_text("hf_other")
    assert read_token({}) == TOKEN
    assert read_token({"HF_HOME": str(tmp_path)}) == "hf_other"
    assert read_token({"HF_TOKEN_PATH": str(tmp_path / "token")}) == "hf_other"
    assert read_token({"HF_TOKEN": " hf_mine "}) == "hf_mine"
    assert read_token({"HF_HOME": str(tmp_path / "none")}) == ""


def test_a_token_that_would_break_a_header_is_refused_and_not_shown() -> None:
    with pytest.raises(UsageError) as caught:
        read_token({"HF_TOKEN": "hf_a\nx-evil: 1"})
    assert "evil" not in str(caught.value)


# --- redirects -------------------------------------------------------------------------------


def test_a_circle_of_redirects_ends() -> None:
    async def talk(hub: Hub, server: HubServer) -> int:
        server.behaviour.away = f"{server.url}/{REPO}/resolve/main/{FILE}"
        with pytest.raises(KithError, match="more than 5 times"):
            await read(hub)
        return len(server.requests)

    assert visit(talk) == 1 + 6


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://host/x", "http://[broken", "https:///"])
def test_a_redirect_to_something_else_than_a_web_server_is_not_followed(place: str) -> None:
    assert isinstance(refused(away=place), KithError)


def test_an_encrypted_hub_cannot_send_us_to_a_plain_connection() -> None:
    import httpx2

    def answer(request: httpx2.Request) -> httpx2.Response:
        assert request.url.scheme == "https"
        return httpx2.Response(302, headers={"location": "http://plain.example/x"})

    async def run() -> None:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client:
            await Hub("https://hub.example", TOKEN, client).list(REPO)

    with pytest.raises(KithError, match="not encrypted"):
        asyncio.run(run())


# --- words for a refusal ---------------------------------------------------------------------


def test_a_repository_that_is_not_there() -> None:
    error = refused(repo="me/nothing")
    assert (type(error), error.code) == (NoModelError, EXIT_NO_MODEL)
    assert "has no repository me/nothing, or it is private and needs a token" in str(error)
    assert "private" not in str(refused(TOKEN, repo="me/nothing", secret=TOKEN))


def test_a_gated_repository() -> None:
    assert "accept its licence" in str(refused(secret=TOKEN, gated=True))
    error = refused(gated=True)
    assert "put a token of yours into HF_TOKEN" in str(error) and f"/{REPO}" in str(error)


def test_a_token_that_is_not_accepted() -> None:
    assert "does not accept the token" in str(refused("hf_wrong", secret=TOKEN))


def test_too_many_requests() -> None:
    error = refused(limited=120)
    assert isinstance(error, ModelError) and error.retryable and error.after_s == 120
    assert "the next one is possible in 120 s" in str(error) and error.code == EXIT_TRY_LATER


def test_a_web_page_is_no_hub() -> None:
    assert "not JSON" in str(refused(html=True))


def test_no_network() -> None:
    async def run() -> None:
        async with open_hub({"HF_ENDPOINT": "http://127.0.0.1:1"}) as hub:
            await hub.list(REPO)

    with pytest.raises(ModelError, match=r"127\.0\.0\.1 cannot be reached.* is there a network\?") as caught:
        asyncio.run(run())
    assert caught.value.code == EXIT_TRY_LATER


def test_a_hub_that_falls_silent_is_asked_again_later() -> None:
    import httpx2

    def answer(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadTimeout("")

    async def run() -> None:
        async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as client:
            await Hub("https://hub.example", "", client).list(REPO)

    with pytest.raises(ModelError, match=r"hub\.example stopped sending") as caught:
        asyncio.run(run())
    assert caught.value.retryable


# --- what is not believed --------------------------------------------------------------------


def listed(answer: Any) -> Listing:
    """What is made of a hub's answer."""

    async def tell(request: Request) -> Response:
        return json_response(answer)

    async def run() -> Listing:
        async with listen(tell) as url, open_hub({"HF_ENDPOINT": url}) as hub:
            return await hub.list(REPO)

    return asyncio.run(run())


GOOD = {"rfilename": "a.gguf", "size": 5, "lfs": {"sha256": "0" * 64}}


@pytest.mark.parametrize(
    "row",
    [
        {"rfilename": "../a.gguf"},
        {"rfilename": "/etc/a.gguf"},
        {"rfilename": "b/../../a.gguf"},
        {"rfilename": "C:\\a.gguf"},
        {"rfilename": "a\x1b[2J.gguf"},
        {"rfilename": 7},
        {"size": -1},
        {"size": True},
        {"size": "5"},
        {"lfs": {"sha256": "../../../x"}},
        {"lfs": {"sha256": "A" * 64}},
        {"lfs": {}},
    ],
)
def test_a_row_that_cannot_be_trusted_is_left_out(row: dict[str, Any]) -> None:
    assert [file.path for file in listed({"sha": "a" * 40, "siblings": [GOOD | row, GOOD]}).files] == [
        "a.gguf"
    ]


@pytest.mark.parametrize("answer", [[], {}, {"sha": "../x", "siblings": []}, {"sha": 4}, "hello", None])
def test_an_answer_of_another_kind_is_one_sentence(answer: Any) -> None:
    with pytest.raises(KithError, match="does not answer as a Hugging Face hub"):
        listed(answer)


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["rfilename", "size", "lfs"]), x),
    max_leaves=8,
)


@given(JSON)
def test_rows_may_be_anything(rows: Any) -> None:
    from kith.features.engine.hub import _files

    assert _files(json.loads(json.dumps(rows)), "rfilename", "blobId", "sha256") == ()


@given(st.lists(st.text(max_size=8) | st.sampled_from(["..", ".", "", "a", "\\", "C:"]), max_size=5))
def test_a_safe_path_stays_inside(parts: list[str]) -> None:
    path = "/".join(parts)
    if is_safe_path(path):
        inside = Path("/root/of/all") / path
        assert inside.parts[:4] == ("/", "root", "of", "all") and ".." not in inside.parts
        assert len(inside.parts) > 4


@pytest.mark.parametrize(
    ("change", "words"),
    [(DATA + b"!", "102,401 bytes on the server"), (DATA[::-1], "changed on the server")],
)
def test_contradictions_between_listing_and_file_are_refused(change: bytes, words: str) -> None:
    async def talk(hub: Hub, server: HubServer) -> None:
        listing = await hub.list(REPO)
        server.files[f"{REPO}/{FILE}"] = change
        async with hub.open(REPO, listing.commit, listing.files[0]):
            pass

    with pytest.raises(KithError, match=words):
        visit(talk)


# --- where it is -----------------------------------------------------------------------------


def test_the_hub_is_the_one_that_is_configured() -> None:
    assert hub_url({}) == "https://huggingface.co"
    assert hub_url({"HF_ENDPOINT": "http://mirror:8000/hf/"}) == "http://mirror:8000/hf"
    for wrong in (
        "mirror",
        "ftp://mirror",
        "http://",
        "http://a b",
        "http://user:word@mirror",
        "http://[::1",
    ):
        with pytest.raises(UsageError, match="HF_ENDPOINT"):
            hub_url({"HF_ENDPOINT": wrong})


def test_the_cache_is_where_llama_cpp_looks(home: Path) -> None:
    names = ("LLAMA_CACHE", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME")
    environ = {name: f"/c/{name}" for name in names}
    ends = ("", "", "", "/hub", "/huggingface/hub")
    for name, end in zip(names, ends, strict=True):
        assert cache_folder(environ) == Path(f"/c/{name}{end}")
        del environ[name]
    assert cache_folder(environ) == home / ".cache" / "huggingface" / "hub"
