"""Downloads that are cut, killed, changed or damaged: what is left, and that the next one goes on from it."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hub_server import HubServer
from kith.core.errors import EXIT_TRY_LATER, ModelError
from kith.core.events import Event, Progress
from kith.features.engine.hub_cache import hold_lock
from kith.features.engine.pull import pull
from places import SUPPORT
from pulling import DATA, DIGEST, FILE, REPO, Cache, refused, visit


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "hub", [])


# --- cut, changed, damaged -------------------------------------------------------------------


@pytest.mark.parametrize("elsewhere", [False, True])
def test_dropped_connections_cost_nothing_but_time(cache: Cache, elsewhere: bool) -> None:
    async def talk(hub: HubServer) -> tuple[bytes, int]:
        return (await cache.pull(hub)).read_bytes(), hub.sent

    # More drops than pauses: each that brought something new starts the count anew.
    assert visit(talk, drop_after=150_000, elsewhere=elsewhere) == (DATA, len(DATA))
    assert cache.words.count("trying again") == 6


def test_a_connection_that_stays_broken_ends_with_what_is_kept(cache: Cache) -> None:
    error = refused(cache, drop_after=600_000, ranges=False)
    assert "600 kB of 1 MB are kept, and the same command resumes" in str(error)
    assert error.code == EXIT_TRY_LATER and cache.part.stat().st_size == 600_000


def test_a_hub_that_is_busy_is_asked_again(cache: Cache) -> None:
    async def talk(hub: HubServer) -> bytes:
        return (await cache.pull(hub)).read_bytes()

    assert visit(talk, failures=2) == DATA


@pytest.mark.parametrize(
    ("etag", "behaviour", "words"),
    [
        (f'"{DIGEST}"', {"ranges": False}, "Resuming"),  # the server ignores Range
        ('"old"', {}, "Resuming"),  # If-Range does not hold: the whole file comes
        ('"old"', {"keep_etag": True}, "has changed"),  # the server does not know If-Range
    ],
)
def test_a_part_that_cannot_be_continued_begins_anew(
    cache: Cache, etag: str, behaviour: dict[str, Any], words: str
) -> None:
    cache.leave_part(b"!" * 5000, etag)

    async def talk(hub: HubServer) -> bytes:
        return (await cache.pull(hub)).read_bytes()

    assert visit(talk, **behaviour) == DATA
    assert words in cache.words and not cache.leftovers


@pytest.mark.parametrize("rest", [b"", b"more than there is"])
def test_a_part_that_is_whole_or_too_long_is_seen_through(cache: Cache, rest: bytes) -> None:
    cache.leave_part(DATA + rest)

    async def talk(hub: HubServer) -> tuple[bytes, int]:
        return (await cache.pull(hub)).read_bytes(), hub.sent

    assert visit(talk) == (DATA, len(DATA) if rest else 0)


def test_the_part_of_an_older_file_is_thrown_away(cache: Cache) -> None:
    cache.leave_part(b"old", '"old"', "0" * 64)
    held = cache.folder / ".locks" / cache.home.name / f"{'1' * 64}.lock"
    cache.leave_part(b"of another process", '"other"', "1" * 64)

    async def talk(hub: HubServer) -> None:
        async with hold_lock(held, lambda: None):
            await cache.pull(hub)

    visit(talk)
    assert [Path(path).name[:1] for path in cache.leftovers] == ["1", "1"]


def test_what_does_not_match_its_checksum_is_deleted(cache: Cache) -> None:
    assert "wrong checksum" in str(refused(cache, damaged=True)) and not cache.leftovers
    cache.leave_part(b"!" * 5000, f'"{DIGEST}"')
    assert "wrong checksum" in str(refused(cache)) and not cache.leftovers

    async def talk(hub: HubServer) -> bytes:
        return (await cache.pull(hub)).read_bytes()

    assert visit(talk) == DATA


def test_a_hub_that_asks_for_a_long_pause_is_not_waited_for(cache: Cache) -> None:
    async def talk(hub: HubServer) -> None:
        def emit(event: Event) -> None:
            hub.behaviour.limited = 600  # the listing has come by now

        await pull(cache.request(hub), emit)

    with pytest.raises(ModelError, match="the next one is possible in 600 s") as caught:
        visit(talk)
    assert caught.value.code == EXIT_TRY_LATER


def test_a_name_that_leads_elsewhere_is_put_right(cache: Cache) -> None:
    async def talk(hub: HubServer) -> bytes:
        name = cache.home / "snapshots" / hub.commit(REPO) / FILE
        name.parent.mkdir(parents=True)
        name.symlink_to("../../blobs/gone")
        return (await cache.pull(hub)).read_bytes()

    assert visit(talk) == DATA


# --- killed ----------------------------------------------------------------------------------


class Children:
    """Downloads in processes of their own."""

    def __init__(self, process: asyncio.subprocess.Process, cache: Cache, hub: HubServer) -> None:
        self.process, self.cache, self.hub = process, cache, hub

    async def start(self, **task: Any) -> int:
        """Begin one; returns its process id."""
        environ = {"HF_ENDPOINT": self.hub.url, "HF_HUB_CACHE": str(self.cache.folder)}
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"environ": environ, "name": REPO, **task}).encode() + b"\n")
        return await self.number()

    async def number(self) -> int:
        assert self.process.stdout
        return int(await self.process.stdout.readline())

    async def run(self, **task: Any) -> int:
        """Begin one and wait for its end; returns its exit code, negative for a signal."""
        await self.start(**task)
        return await self.number()


@asynccontextmanager
async def children(
    cache: Cache, hub: HubServer, errors: int = asyncio.subprocess.DEVNULL
) -> AsyncIterator[Children]:
    pipe = asyncio.subprocess.PIPE
    script = str(SUPPORT / "pull_child.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, script, stdin=pipe, stdout=pipe, stderr=errors
    )
    try:
        yield Children(process, cache, hub)
    finally:
        assert process.stdin
        process.stdin.close()
        await process.wait()


needs_fork = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that can be forked and killed"
)
OFFSETS = (1, 7, 65_535, 65_536, 100_000, 300_001, 500_000, 700_000, 999_999, 1_000_002)


@pytest.mark.slow
@needs_fork
def test_a_download_that_is_killed_again_and_again_goes_on_where_it_was(cache: Cache) -> None:
    async def talk(hub: HubServer) -> int:
        async with children(cache, hub) as downloads:
            for offset in OFFSETS:
                hub.behaviour.hold_after = offset
                child = await downloads.start()
                while not cache.part.exists() or cache.part.stat().st_size < offset:
                    await asyncio.sleep(0.005)
                os.kill(child, signal.SIGKILL)
                assert await downloads.number() == -signal.SIGKILL
                assert cache.part.read_bytes() == DATA[:offset]
            hub.behaviour.hold_after = None
            assert await downloads.run() == 0
        return hub.sent

    sent = visit(talk, elsewhere=True)
    (path,) = cache.home.rglob("snapshots/*/*.gguf")
    assert path.read_bytes() == DATA and not cache.leftovers
    assert sent < 1.3 * len(DATA)


@pytest.mark.slow
@needs_fork
def test_a_kill_before_any_step_on_the_disk_is_mended_by_the_next_run(cache: Cache) -> None:
    """Each child dies one step later than the one before, until one lives; what it left is mended here."""

    async def talk(hub: HubServer) -> int:
        async with children(cache, hub) as downloads:
            hub.files = {f"{REPO}/{FILE}": DATA[:5000]}
            step = 0
            while True:
                cache.folder = cache.folder.with_name(f"hub-{step}")
                ended = await downloads.run(die_at=step)
                assert ended in (0, -signal.SIGKILL)
                path = await cache.pull(hub)
                assert path.read_bytes() == DATA[:5000] and not cache.leftovers
                assert (cache.home / "refs" / "main").read_text() == path.parent.name
                if not ended:
                    return step
                step += 1

    assert visit(talk) > 7


def test_two_at_once_download_once(cache: Cache) -> None:
    async def talk(hub: HubServer) -> tuple[Path, Path, int]:
        return *await asyncio.gather(cache.pull(hub), cache.pull(hub)), hub.sent

    first, second, sent = visit(talk, pause=0.01)
    assert first == second and sent == len(DATA) and "Another kith" in cache.words


@pytest.mark.slow
@needs_fork
def test_whoever_waits_goes_on_when_the_other_is_killed(cache: Cache) -> None:
    async def talk(hub: HubServer) -> tuple[bytes, int]:
        hub.behaviour.hold_after = 500_000
        async with children(cache, hub) as downloads:
            child = await downloads.start()
            while not cache.part.exists() or cache.part.stat().st_size < 500_000:
                await asyncio.sleep(0.005)
            second = asyncio.create_task(cache.pull(hub))
            while "Another kith" not in cache.words:
                await asyncio.sleep(0.005)
            hub.behaviour.hold_after = None
            os.kill(child, signal.SIGKILL)  # a lock dies with its owner
            return (await second).read_bytes(), hub.sent

    assert visit(talk) == (DATA, len(DATA))
    assert Progress("downloading", 500_000, len(DATA)) in cache.events


@pytest.mark.slow
@needs_fork
def test_a_disk_that_fills_up_keeps_what_came(cache: Cache) -> None:
    async def talk(hub: HubServer) -> None:
        async with children(cache, hub, asyncio.subprocess.PIPE) as downloads:
            assert await downloads.run(file_limit=400_000) == 1
            assert cache.part.read_bytes() == DATA[:400_000]
            assert await downloads.run() == 0
            assert downloads.process.stderr and downloads.process.stdin
            downloads.process.stdin.close()
            words = (await downloads.process.stderr.read()).decode()
        assert "is full" in words and "The same command resumes it" in words
        assert "Resuming at 400 kB of 1 MB" in words

    visit(talk)
