"""Pages that were fetched lately, in the cache folder: the next part of a long one needs no request."""

import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kith.core.replace_file import put_private
from kith.features.browse.address import Address

_FRESH_S: Final = 900.0
_MOST: Final = 60  # pages of one project


class Page(Struct, frozen=True):
    """A page as text: the address that was asked for, the one it came from, and when."""

    asked: str
    came_from: str
    text: str
    cut: bool = False  # the server had more
    at: float = 0.0


class Cache(Struct, frozen=True):
    """The pages of one project, each in a file that only the person may read."""

    folder: Path
    now: Callable[[], float] = time.time

    @classmethod
    def of(cls, cache: Path, root: Path) -> "Cache":
        """The pages that were fetched for the project at `root`: no other project may read them."""
        return cls(cache / "pages" / sha256(str(root).encode("utf-8", "replace")).hexdigest()[:16])

    def find(self, address: Address) -> Page | None:
        """The page at an address, if it is fresh."""
        try:
            page = msgspec.json.decode(self._file(str(address)).read_bytes(), type=Page)
        except (OSError, msgspec.MsgspecError):
            return None
        fresh = 0 <= self.now() - page.at < _FRESH_S
        return page if fresh and page.asked == str(address) else None

    def keep(self, page: Page) -> None:
        """Keep a page, and drop old ones. A disk that refuses costs nothing but the next request."""
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            put_private(self._file(page.asked), msgspec.json.encode(replace(page, at=self.now())))
            files = sorted(self.folder.glob("*.json"), key=lambda each: each.stat().st_mtime)
            for place, old in enumerate(reversed(files)):
                if place >= _MOST or self.now() - old.stat().st_mtime > _FRESH_S:
                    old.unlink(missing_ok=True)

    def _file(self, address: str) -> Path:
        return self.folder / f"{sha256(address.encode()).hexdigest()[:32]}.json"
