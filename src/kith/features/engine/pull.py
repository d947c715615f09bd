"""Getting a model: from a Hugging Face hub into the cache that all programs share, or through Ollama."""

import asyncio
import errno
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field

from kith.core.errors import EXIT_TRY_LATER, KithError, ModelError, NoModelError, TreeError, UsageError
from kith.core.events import Notice, Progress
from kith.core.model import Emit
from kith.core.numbers import size_text
from kith.core.structs import repr_without
from kith.features.engine.hub import Hub, Listing, is_offline, open_hub
from kith.features.engine.hub_cache import PART, PAUSES, Shelf, fetch, size_of
from kith.features.engine.libraries import cache_folder
from kith.features.engine.quants import Variant, choose_variant
from kith.models.discovery.machine import read_memory, total_memory
from kith.models.discovery.servers import Places, ollama_url
from kith.models.providers.answers import whole
from kith.models.providers.faults import MissingModelError, UnreachableError
from kith.models.providers.wire import Endpoint, is_loopback

SPARE_DISK = 1 << 30  # bytes that stay free
SHARE_OF_MEMORY = 0.85  # what weights may take of it
TELL_S = 0.1  # seconds between two words on the progress
_REPO = re.compile(r"(?!.*(--|\.\.))[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_SITE = re.compile(r"(https?://)?(www\.)?(huggingface\.co|hf\.co)/")
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class PullRequest(Struct, frozen=True):
    """A download, and its limits.

    `name`: USER/REPO, USER/REPO:QUANT or USER/REPO:FILE for a hub; ollama/NAME, or a bare name, for
    Ollama. `force`: ignore the memory limit (in bytes, that of graphics cards separate). `spare_disk` in
    bytes, `pauses` in seconds before each new try after a broken connection.
    """

    name: str
    force: bool = False
    offline: bool = False
    ollama_host: str = ""
    memory: int = field(default_factory=total_memory)
    gpu_memory: int = 0
    spare_disk: int = SPARE_DISK
    pauses: tuple[float, ...] = PAUSES
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    __repr__ = repr_without("environ")


async def pull_model(places: Places, name: str, force: bool, emit: Emit) -> Path | str:
    """`pull`, with the person's settings, on this machine."""
    memory = await asyncio.to_thread(read_memory, cards=True)
    request = PullRequest(name, force, places.offline, places.ollama_host, memory.total, memory.gpu)
    return await pull(request, emit)


async def pull(request: PullRequest, emit: Emit) -> Path | str:
    """Get a model; returns its file, the first of its parts, or its name in Ollama.

    Emits Progress("downloading", bytes, of bytes), Progress("checking", ...) and Notices. Raises KithError
    with one sentence; the partial download is kept, and the same call resumes it.
    """
    if request.offline:
        raise UsageError("Nothing is downloaded offline; leave --offline out to get a model.")
    name = request.name.strip()
    provider, slash, rest = name.partition("/")
    if slash and provider == "ollama":
        return await _pull_through_ollama(request, rest, emit)
    if slash:
        return await _pull_from_hub(request, _SITE.sub("", name, count=1), emit)
    return await _pull_through_ollama(request, name, emit)


# --- from a hub ------------------------------------------------------------------------------


async def _pull_from_hub(request: PullRequest, name: str, emit: Emit) -> Path:
    repo, _, wanted = name.partition(":")
    if not _REPO.fullmatch(repo):
        raise UsageError(f"{name!r} names no repository; it should look like USER/REPO or USER/REPO:Q4_K_M.")
    if is_offline(request.environ):
        raise UsageError("Nothing is downloaded while HF_HUB_OFFLINE is set.")
    shelf = Shelf(cache_folder(request.environ), repo)
    async with open_hub(request.environ) as hub:
        listing = await hub.list(repo)
        variant = choose_variant(repo, listing.files, wanted)
        with _disk_in_words(shelf.cache):
            if all(shelf.holds(listing.commit, file) for file in variant.files):
                emit(Notice(f"{variant.name} ({size_text(variant.size)}) is already there."))
            else:
                _refuse_too_large(request, variant.name, variant.size)
                _refuse_full_disk(request, shelf, listing, variant)
                emit(Notice(f"{variant.name}, {size_text(variant.size)}, from {hub.url}/{repo}"))
                await _fetch_all(hub, listing, variant, shelf, request, emit)
            paths = [shelf.show(listing.commit, file) for file in variant.files]
            shelf.point(listing.commit)
    return paths[0]


async def _fetch_all(
    hub: Hub, listing: Listing, variant: Variant, shelf: Shelf, request: PullRequest, emit: Emit
) -> None:
    """One file after the other, with one progress over all of them."""
    before, told = 0, 0.0

    def tell(size: int) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= TELL_S or before + size == variant.size:
            emit(Progress("downloading", before + size, variant.size))
            told = now

    for file in variant.files:
        if not shelf.holds(listing.commit, file):
            await fetch(hub, listing, file, shelf, emit, tell, request.pauses)
        before += file.size
    emit(Notice("Checksum verified."))


def _refuse_too_large(request: PullRequest, name: str, size: int) -> None:
    memory = request.memory + request.gpu_memory
    carries = int(memory * SHARE_OF_MEMORY)
    if size > carries and not request.force:
        raise KithError(
            f"{name} is {size_text(size)}, but the {size_text(memory)} of memory here carry "
            f"at most {size_text(carries)}; choose a smaller one, or --force."
        )


def _refuse_full_disk(request: PullRequest, shelf: Shelf, listing: Listing, variant: Variant) -> None:
    missing = [file for file in variant.files if not shelf.holds(listing.commit, file)]
    parts = [shelf.blob(file).with_name(file.digest + PART) for file in missing]
    left = sum(file.size for file in missing) - sum(max(0, size_of(part)) for part in parts)
    free = shutil.disk_usage(next(p for p in (shelf.cache, *shelf.cache.parents) if p.exists())).free
    if free < left + request.spare_disk:
        raise TreeError(
            f"{variant.name} needs {size_text(left)} more, but {shelf.cache} has only "
            f"{size_text(free)} free ({size_text(request.spare_disk)} must stay free)."
        )


@contextmanager
def _disk_in_words(cache: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise TreeError(
                f"{cache} is full ({error.strerror}); the partial download is kept. The same "
                "command resumes it."
            ) from error
        raise TreeError(f"{error.filename or cache}: {error.strerror or error}.") from error


# --- through Ollama --------------------------------------------------------------------------


async def _pull_through_ollama(request: PullRequest, name: str, emit: Emit) -> str:
    """Ollama downloads, checks and resumes on its own; it stops when the client leaves."""
    if not re.fullmatch(r"[\w.:/@-]+", name, re.ASCII):
        raise UsageError(
            f"{request.name!r} names no model; it should look like qwen3:8b or USER/REPO:Q4_K_M."
        )
    endpoint = Endpoint(ollama_url(request.ollama_host))
    try:
        await _follow_ollama(request, endpoint, name, emit)
    except UnreachableError as error:
        raise NoModelError(
            f"No Ollama answers at {endpoint.url}; to download without it, name a repository, "
            "such as Qwen/Qwen3-8B-GGUF:Q4_K_M."
        ) from error
    except ModelError as error:
        raise _in_words(error, name) from error
    finally:
        await endpoint.close()
    return f"ollama/{name}"


async def _follow_ollama(request: PullRequest, endpoint: Endpoint, name: str, emit: Emit) -> None:
    layers: dict[str, tuple[int, int]] = {}
    async with endpoint.stream_lines("/api/pull", {"model": name, "stream": True}) as lines:
        async for line in lines:
            status = str(line.get("status") or "") if isinstance(line, dict) else ""
            if status == "success":
                return
            if digest := str(line.get("digest") or ""):
                layers[digest] = (whole(line.get("completed")), whole(line.get("total")))
                done, total = (sum(column) for column in zip(*layers.values(), strict=True))
                if is_loopback(endpoint.url):
                    _refuse_too_large(request, name, total)
                emit(Progress("downloading", done, total))
            elif status.startswith("verifying"):
                emit(Progress("checking", 0))
    raise endpoint.cut_short(heard=True)


def _in_words(error: ModelError, name: str) -> KithError:
    text = str(error)
    if "file does not exist" in text or isinstance(error, MissingModelError):
        return NoModelError(f"Ollama's library has no model {name!r}.")
    if error.code != EXIT_TRY_LATER or "failed in the middle" in text:  # Ollama itself said why
        return error
    return ModelError(f"{text}; the same command resumes", retryable=True, after_s=error.after_s)
