"""How the tests pull: a cache of their own, and a stand-in hub that runs only so long."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hub_server import HubServer, serve_hub
from kith.core.errors import KithError
from kith.core.events import Event, Notice
from kith.features.engine.hub_cache import NOTE, PART
from kith.features.engine.pull import PullRequest, pull

REPO, FILE = "me/tiny-GGUF", "tiny-Q4_K_M.gguf"
DATA = hashlib.shake_256(b"a model").digest(1_000_003)
DIGEST = hashlib.sha256(DATA).hexdigest()
FILES = {f"{REPO}/{FILE}": DATA, f"{REPO}/README.md": b"# tiny\n"}
QUICK = (0.01, 0.01, 0.01)


@dataclass
class Cache:
    """The cache of one test, and what pulling into it emits."""

    folder: Path
    events: list[Event]

    @property
    def home(self) -> Path:
        return self.folder / f"models--{REPO.replace('/', '--')}"

    @property
    def part(self) -> Path:
        return self.home / "blobs" / f"{DIGEST}{PART}"

    @property
    def leftovers(self) -> list[str]:
        """Everything that is no blob, snapshot, ref or lock."""
        return [str(path) for path in self.folder.rglob("*") if ".kith" in path.name or path.suffix == ".new"]

    @property
    def words(self) -> str:
        return "\n".join(event.text for event in self.events if isinstance(event, Notice))

    def request(self, hub: HubServer, name: str = REPO, **fields: Any) -> PullRequest:
        environ = {"HF_ENDPOINT": hub.url, "HF_HUB_CACHE": str(self.folder)}
        return PullRequest(name, **{"environ": environ, "spare_disk": 0, "pauses": QUICK, **fields})

    async def pull(self, hub: HubServer, name: str = REPO, **fields: Any) -> Path:
        path = await pull(self.request(hub, name, **fields), self.events.append)
        assert isinstance(path, Path)
        return path

    def leave_part(self, data: bytes, etag: str = "", digest: str = DIGEST) -> None:
        """What a killed process left."""
        blob = self.home / "blobs" / digest
        blob.parent.mkdir(parents=True, exist_ok=True)
        blob.with_name(digest + PART).write_bytes(data)
        if etag:
            blob.with_name(digest + NOTE).write_text(json.dumps({"file": FILE, "etag": etag}))


def visit(talk: Callable[[HubServer], Coroutine[Any, Any, Any]], **behaviour: Any) -> Any:
    async def run() -> Any:
        async with asyncio.timeout(60), serve_hub(FILES, **behaviour) as hub:
            return await talk(hub)

    return asyncio.run(run())


def refused(
    cache: Cache, name: str = REPO, fields: dict[str, Any] | None = None, **behaviour: Any
) -> KithError:
    """The error that pulling ends with."""

    async def talk(hub: HubServer) -> None:
        await cache.pull(hub, name, **(fields or {}))

    with pytest.raises(KithError) as caught:
        visit(talk, **behaviour)
    return caught.value
