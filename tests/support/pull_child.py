"""A process that forks one download for each line of JSON it is given, and tells how each ended.

`{"environ": {...}, "name": ..., "die_at": N, "file_limit": BYTES}` -> the process's id, then its exit code.
With `die_at`, the download kills itself right before its N-th change to the cache's files.
"""

import asyncio
import json
import os
import resource
import signal
import sys
from typing import Any

import httpx2  # noqa: F401 -- imported once, for all that are forked

from kith.core.errors import KithError
from kith.core.events import Notice
from kith.features.engine.pull import PullRequest, pull


def download(task: dict[str, Any]) -> int:
    if task.get("die_at") is not None:
        count_down(task["die_at"], task["environ"]["HF_HUB_CACHE"])
    if task.get("file_limit"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (task["file_limit"],) * 2)
    request = PullRequest(task["name"], environ=task["environ"], spare_disk=0, pauses=(0.01, 0.01))

    def emit(event: object) -> None:
        if isinstance(event, Notice):
            print(event.text, file=sys.stderr, flush=True)

    try:
        asyncio.run(pull(request, emit))
    except KithError as error:
        print(error, file=sys.stderr, flush=True)
        return error.code
    return 0


def count_down(number: int, folder: str) -> None:
    left = number

    def hear(event: str, args: tuple[Any, ...]) -> None:
        nonlocal left
        writes = event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR)
        if not writes and event not in ("os.rename", "os.remove", "os.symlink"):
            return
        if any(str(arg).startswith(folder) for arg in args[:2]):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hear)


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(download(json.loads(line)))
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
