"""The state that a task begins from, looked at while nothing else can be done yet."""

import asyncio
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Final

from kith.core.event_loop import run_loop
from kith.trees.revisions import clean_commit

_PATIENCE: Final = 0.3  # seconds for git, while nothing can be said before it answers
_FRESH_S: Final = 2.0  # for a look ahead: what is older may not be what the task begins from
_begun: dict[Path, tuple[float, Future[str]]] = {}


def look_ahead(root: Path) -> None:
    """Begin to look at the tree at `root` in a thread, for `find_commit`.

    For who loads the rest of kith meanwhile: that keeps one core busy for longer than git needs.
    """
    if not _is_top(root):
        return
    found: Future[str] = Future()
    found.set_running_or_notify_cancel()  # who waits may be cancelled, and the thread not

    def work() -> None:
        try:
            found.set_result(run_loop(_look(root, _FRESH_S)))
        except BaseException as error:
            found.set_exception(error)

    _begun[root] = time.monotonic(), found
    threading.Thread(target=work, daemon=True, name="kith-ahead").start()


async def find_commit(root: Path, begins: bool) -> str:
    """The commit that the tree is; where a conversation begins, git lists the files beside that."""
    if not begins or not _is_top(root):
        return await clean_commit(root)
    at, found = _begun.pop(root, (0.0, None))
    if found is None or time.monotonic() - at > _FRESH_S:
        return await _look(root)
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            return await asyncio.wrap_future(found)
    return ""


def _is_top(root: Path) -> bool:
    return (root / ".git").exists()


async def _look(root: Path, patience: float = _PATIENCE) -> str:
    """The commit; the list of the files stays with who lists them."""
    return await clean_commit(root, patience, lists=True)
