"""A small project, and the ways to open a trial of it, for the tests of trees."""

import os
import stat
import subprocess
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from confined import find_abilities
from kith.core.workspace import Trial
from kith.trees.copy import open_copy
from kith.trees.environment import Surroundings
from kith.trees.overlay import open_overlay
from moulds import copied

Open = Callable[[Path, Path], AbstractAsyncContextManager[Trial]]
TRIALS: dict[str, Open] = {
    "overlay": lambda root, state: open_overlay(root, state, Surroundings()),
    "copy": lambda root, state: open_copy(root, state, Surroundings(), boxed=True, confined=True),
    "plain": lambda root, state: open_copy(root, state, Surroundings(), boxed=False, confined=False),
}
ENV = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null"}


def git(root: Path, *args: str) -> str:
    names = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.quotePath=false")
    return subprocess.run(
        ["git", *names, *args], cwd=root, env=ENV, check=True, capture_output=True, text=True
    ).stdout


def make_project(root: Path) -> Path:
    root.mkdir(parents=True)
    return copied("project", _make, root)


def _make(root: Path) -> None:
    git(root, "init", "-q", "-b", "main")
    for path, text in {
        ".gitignore": "*.log\nbuild/\n",
        "readme": "hello\n",
        "run.sh": "#!/bin/sh\necho run\n",
        "src/a.py": "a = 1\n",
        "src/deep/b.py": "b = 2\n",
        "docs/c d.txt": "c\n",
        "build/out.bin": "binary\n",
        "notes.log": "ignored\n",
        "untracked": "mine\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("readme")
    git(root, "add", ".", ":!untracked")
    git(root, "commit", "-q", "-m", "first")


def snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    """Every byte, mode and time of a folder, but not the times of git's objects, which git refreshes."""
    found = dict[str, tuple[object, ...]]()
    for place, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(place, name)
            info = path.lstat()
            content: object = None
            if stat.S_ISLNK(info.st_mode):
                content = path.readlink()
            elif stat.S_ISREG(info.st_mode):
                content = path.read_bytes()
            when = 0 if "objects" in path.parts else info.st_mtime_ns
            found[str(path.relative_to(root))] = (info.st_mode, when, content)
    return found


def needs(kind: str) -> None:
    if kind in ("local", "plain"):
        return
    can = find_abilities()
    reason = can.no_overlay if kind == "overlay" else can.no_sandbox
    if reason:
        pytest.skip(reason)
