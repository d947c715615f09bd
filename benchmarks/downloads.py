"""Compare kith's downloader with huggingface_hub, on a hub that misbehaves.

    python benchmarks/downloads.py PYTHON_WITH_HUGGINGFACE_HUB [--case NAME ...]

Both download one file from kith's stand-in hub, each in a process of its own, and are given the same
trouble. A row says what the process ended with, how many bytes of files the hub sent, and what was
left in the cache.
"""

import argparse
import asyncio
import hashlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from hub_server import HubServer, serve_hub

REPO, FILE = "me/tiny-GGUF", "tiny-Q4_K_M.gguf"
DATA = hashlib.shake_256(b"a model").digest(4_000_003)
TOKEN = "hf_secret"
KITH = """
import asyncio, resource, sys
from kith.core.errors import KithError
from kith.features.engine.pull import PullRequest, pull
limit = int(sys.argv[2])
if limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    print(asyncio.run(pull(PullRequest(sys.argv[1], spare_disk=0, pauses=(1.0,) * 5), lambda event: None)))
except KithError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""
LIBRARY = """
import fnmatch, resource, sys
from huggingface_hub import HfApi, hf_hub_download
limit = int(sys.argv[2])
if limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    info = HfApi().model_info(sys.argv[1], files_metadata=True)
    names = [each.rfilename for each in info.siblings if fnmatch.fnmatch(each.rfilename, "*.gguf")]
    for name in names:
        print(hf_hub_download(sys.argv[1], name, revision=info.sha))
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


@dataclass(frozen=True)
class Case:
    """One kind of trouble: how the hub behaves, what the process is given, and what happens meanwhile."""

    behaviour: Mapping[str, Any] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    repo: str = REPO
    file_limit: int = 0  # bytes a file may have, as on a disk that is full
    kill_at: int = 0  # bytes after which the process is killed; a second one follows
    files: Mapping[str, bytes] = field(default_factory=lambda: {f"{REPO}/{FILE}": DATA})
    at_once: int = 1  # processes


CASES: Mapping[str, Case] = {
    "whole": Case(),
    "on another host, with a token": Case({"elsewhere": True, "secret": TOKEN}, {"HF_TOKEN": TOKEN}),
    "cut twice": Case({"drop_after": 1_500_000, "drops": 2}),
    "cut for good": Case({"drop_after": 1_500_000, "ranges": False}),
    "cut, and the hub ignores ranges": Case({"drop_after": 1_500_000, "drops": 1, "ranges": False}),
    "killed in the middle": Case({"hold_after": 2_500_000}, kill_at=2_400_000),
    "disk full": Case(file_limit=2_000_000),
    "damaged on the way": Case({"damaged": True}),
    "503 twice": Case({"failures": 2}),
    "429, wait 2 s": Case({"limited": 2.0}),
    "429, wait 600 s": Case({"limited": 600.0}),
    "gated, with a token": Case({"gated": True, "secret": TOKEN}, {"HF_TOKEN": TOKEN}),
    "gated, without": Case({"gated": True}),
    "wrong token": Case({"secret": TOKEN}, {"HF_TOKEN": "hf_wrong"}),
    "no such repository": Case(repo="me/nothing"),
    "a web page answers": Case({"html": True}),
    "sent to another scheme": Case({"away": "file:///etc/passwd"}),
    "names that lead outside": Case(files={f"{REPO}/../../../../escaped.gguf": DATA}),
    "silent in the middle": Case({"hold_after": 2_500_000}),
    "offline": Case(environ={"HF_HUB_OFFLINE": "1"}),
    "two at once": Case({"pause": 0.01}, at_once=2),
    "a proxy that is none": Case(environ={"HTTP_PROXY": "http://127.0.0.1:1"}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("python", help="the interpreter of an environment that has huggingface_hub")
    parser.add_argument("--case", nargs="*", default=list(CASES))
    parser.add_argument("--patience", type=float, default=45.0, help="seconds for one process")
    args = parser.parse_args()
    for name in args.case:
        for who, command in (("kith", (sys.executable, KITH)), ("library", (args.python, LIBRARY))):
            print(f"{name} | {who} | {asyncio.run(play(CASES[name], command, args.patience))}", flush=True)


async def play(case: Case, command: tuple[str, str], patience: float) -> str:
    """Run one case; returns the cells of its row."""
    home = Path(tempfile.mkdtemp(prefix="downloads-"))
    try:
        async with serve_hub(case.files, **case.behaviour) as hub:
            began = time.monotonic()
            if case.kill_at:
                await _kill(case, hub, home, command)
            runs = (_run(case, hub, home, command, patience) for _ in range(case.at_once))
            ended = await asyncio.gather(*runs)
            took = time.monotonic() - began
            leaked = any(TOKEN in str(each.headers) for each in hub.elsewhere)
            right = sum(path.read_bytes() == DATA for path in home.rglob("snapshots/*/*.gguf"))
            rest = sum(path.stat().st_size for path in home.rglob("*") if _is_part(path))
            asked = len(hub.requests) + len(hub.elsewhere)
            cells = (
                "; ".join(ended),
                f"{right} right",
                f"{took:.1f} s",
                f"{hub.sent:,} bytes sent, {asked} requests",
                f"{rest:,} bytes kept",
                "TOKEN LEAKED" if leaked else "",
            )
            return " | ".join(cells)
    finally:
        shutil.rmtree(home)


def _is_part(path: Path) -> bool:
    return path.is_file() and path.name.endswith((".part", ".incomplete"))


async def _start(
    case: Case, hub: HubServer, home: Path, command: tuple[str, str]
) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    environ = {**kept, "HOME": str(home), "HF_HUB_CACHE": str(home / "hub"), "HF_ENDPOINT": hub.url}
    quiet = {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    return await asyncio.create_subprocess_exec(
        *(command[0], "-c", command[1], case.repo, str(case.file_limit)),
        env={**environ, **quiet, **case.environ},
        stdout=pipe,
        stderr=pipe,
    )


async def _kill(case: Case, hub: HubServer, home: Path, command: tuple[str, str]) -> None:
    """Kill one process once so much is on the disk; the hub is well from then on."""
    process = await _start(case, hub, home, command)
    while max((path.stat().st_size for path in home.rglob("*") if _is_part(path)), default=0) < case.kill_at:
        await asyncio.sleep(0.05)
        if hub.sent >= case.kill_at:  # what a process buffers is not on the disk
            await asyncio.sleep(0.5)
            break
    process.send_signal(signal.SIGKILL)
    await process.wait()
    hub.behaviour.hold_after = None


async def _run(case: Case, hub: HubServer, home: Path, command: tuple[str, str], patience: float) -> str:
    process = await _start(case, hub, home, command)
    try:
        async with asyncio.timeout(patience):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"still waiting after {patience:.0f} s"
    words = json.dumps(re.sub(r"\s+", " ", err.decode().strip())[-330:])
    return "ok" if process.returncode == 0 and out.strip() else f"exit {process.returncode}: {words}"


if __name__ == "__main__":
    main()
