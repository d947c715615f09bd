"""A tree to index, everything an index holds, and `python indexing.py ROOT CACHE [KILL_AT]`: one refresh."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from kith.memory.index import Index, Refreshed, open_index, refresh
from kith.trees.local import open_tree


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def write_many(root: Path, count: int) -> None:
    """Files that use each other's functions."""
    for number in range(count):
        body = f"def step_{number}():\n    return step_{number - 1}() + LIMIT_{number % 7}\n"
        write(root, f"part_{number // 40}/step_{number}.py", body)


def update(index: Index, root: Path, cache: Path, kill_at: int = 0) -> Refreshed:
    def tell(done: int, count: int) -> None:
        if 0 < kill_at <= done:
            os.kill(os.getpid(), signal.SIGKILL)

    return asyncio.run(refresh(index, open_tree(root, cache / "state", cache), tell))


def contents(index: Index) -> dict[str, Any]:
    """All that can be asked."""
    return {
        path: (
            row,
            index.definitions(path),
            index.uses(path),
            [index.using(name) for name in index.uses(path)],
        )
        for path, row in index.files().items()
    }


def fresh(root: Path, cache: Path) -> dict[str, Any]:
    """What an index made from nothing holds."""
    index = open_index(cache, root)
    update(index, root, cache)
    try:
        return contents(index)
    finally:
        index.close()


if __name__ == "__main__":
    index = open_index(Path(sys.argv[2]), Path(sys.argv[1]))
    update(index, Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if sys.argv[3:] else 0)
