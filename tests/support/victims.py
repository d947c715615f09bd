"""Tasks that are there to be killed: a world of their own, and `kith run` in it."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

OLD = {"one.txt": "old one\n", "src/two.txt": "old two\n", "gone.txt": "old three\n"}
NEW = {"one.txt": "new one\n", "src/two.txt": "new two\n", "added/three.txt": "new three\n"}
CHECK = "sleep 0.1; (sleep 7779 &); test -f added/three.txt"


@dataclass(frozen=True, slots=True)
class World:
    """A repository, and a home for kith, both below `base`."""

    base: Path

    @property
    def root(self) -> Path:
        return self.base / "repository"

    @property
    def state(self) -> Path:
        return self.base / "home" / ".local" / "state" / "kith"

    @property
    def script(self) -> Path:
        return self.base / "script.json"

    def environment(self) -> dict[str, str]:
        home = self.base / "home"
        places = {"CONFIG": ".config", "STATE": ".local/state", "DATA": ".local/share", "CACHE": ".cache"}
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TMPDIR": str(self.base / "tmp"),
            "KITH_DISCOVERY": "off",
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"XDG_{name}_HOME": str(home / place) for name, place in places.items()},
        }


def make_world(base: Path) -> World:
    """A fresh repository with the old files, and the script of a model that changes them."""
    world = World(base)
    for folder in (world.root, base / "home", base / "tmp"):
        folder.mkdir(parents=True)
    write_files(world.root, OLD)
    names = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "first")):
        subprocess.run(["git", *names, *words], cwd=world.root, env=world.environment(), check=True)
    commands = (
        "(setsid sleep 7777 >/dev/null 2>&1 &); sleep 0.1",
        "sleep 7778 & echo started",
        "trap '' TERM INT HUP; (trap '' TERM HUP; setsid sleep 7776 &); sleep 0.2",
    )
    run = [{"calls": [{"name": "bash", "args": {"command": command}}]} for command in commands]
    write = [
        {"calls": [{"name": "write", "args": {"path": path, "content": content}}]}
        for path, content in NEW.items()
    ]
    remove = {"calls": [{"name": "bash", "args": {"command": "rm gone.txt"}}]}
    done = {"calls": [{"name": "done", "args": {"summary": "done"}}]}
    world.script.write_text(json.dumps([*run, *write, remove, done, done, done]))
    return world


def write_files(root: Path, files: dict[str, str]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


def reset(world: World) -> None:
    for words in (("checkout", "-q", "."), ("clean", "-fdq")):
        subprocess.run(["git", *words], cwd=world.root, env=world.environment(), check=True)


def start_task(world: World, words: tuple[str, ...], *, execute: bool) -> int:
    """`kith run WORDS` in a session of its own; returns its process id."""
    arguments = ["run", "--yes", "-m", f"replay/{world.script}", "--check", CHECK, *words]
    if execute:
        with (world.base / "said").open("ab") as said:
            return subprocess.Popen(
                [sys.executable, "-m", "kith", *arguments],
                cwd=world.root,
                env=world.environment(),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            ).pid
    child = os.fork()
    if not child:
        become_kith(world, arguments)
    return child


def become_kith(
    world: World,
    arguments: list[str],
    before: Callable[[], object] = lambda: None,
    after: Callable[[], object] = lambda: None,
) -> NoReturn:
    """Let this process, a fork, be a kith in the world to its end, with something before and after."""
    code: Any = 1
    try:
        _settle_in(world, arguments)
        from kith.__main__ import main

        before()
        try:
            code = main()
        finally:
            after()
    except SystemExit as ending:
        code = ending.code
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:  # a fork never goes back into the code it came from
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _settle_in(world: World, arguments: list[str]) -> None:
    os.setsid()
    os.chdir(world.root)
    variables = world.environment()
    os.environ.clear()
    os.environ.update(variables)
    nothing = os.open(os.devnull, os.O_RDONLY)
    said = os.open(world.base / "said", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for fd, number in ((nothing, 0), (said, 1), (said, 2)):
        os.dup2(fd, number)
    tempfile.tempdir = None  # it was found out for another process
    sys.argv = ["kith", *arguments]
