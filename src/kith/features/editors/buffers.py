"""Files that are open in the editor and hold what is not saved: nothing of it may be lost."""

import asyncio
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from acp.exceptions import RequestError
from msgspec import Struct
from pydantic import ValidationError

from kith.view.printing import printable

_PATIENCE_S: Final = 5.0  # for one file; an editor that does not answer has no say
_LARGEST: Final = 1_000_000  # bytes


class Buffers(Struct, frozen=True):
    """The editor's versions of a session's files, if it offers them (`offered`)."""

    client: Any  # acp's AgentSideConnection
    session: str
    root: Path
    offered: bool

    async def unsaved(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Those of the tree's files whose text in the editor is not the one on the disk."""
        if not self.offered:
            return ()
        differs = await asyncio.gather(*(self._differs(self.root / path) for path in paths))
        return tuple(path for path, unsaved in zip(paths, differs, strict=True) if unsaved)

    async def _differs(self, path: Path) -> bool:
        saved = read_small(path)
        if saved is None:
            return False
        with suppress(RequestError, ValidationError, TimeoutError):  # it does not know the file
            held = await asyncio.wait_for(
                self.client.read_text_file(session_id=self.session, path=str(path)), _PATIENCE_S
            )
            return _plain(held.content) != _plain(saved)
        return False


def read_small(path: Path) -> str | None:
    """The text of a file on the disk; None where there is none: no pipe is waited for, no device is read."""
    try:
        found = path.stat()
        is_text = stat.S_ISREG(found.st_mode) and found.st_size <= _LARGEST
        return path.read_text("utf-8") if is_text else None
    except (OSError, ValueError):
        return None


def _plain(text: str) -> str:
    """A text without what editors keep apart from it: the kind of line ends, a mark, the last end."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")


def tell_unsaved(paths: Sequence[str]) -> str:
    """`utils.py has changes in the editor that are not saved`."""
    names = printable(", ".join(paths))
    return f"{names} {'has' if len(paths) == 1 else 'have'} changes in the editor that are not saved"
