"""Record what a released kith leaves on the disk, for the tests that later versions read it.

    python tools/record_state.py KITH OUT [--settings docs/configuration.md]

Run it with the program of each release (`KITH`), and commit `OUT` as `tests/fixtures/upgrades/VERSION`. A
played model does five tasks: one is applied, one applied and undone, one waits, one is killed, one answers.
Then come a build that is applied, one that is killed, and trust in the folder, where the program has them.
Paths become `@PROJECT@` and `@WORK@`, the tree's key `@TREE@`, and the log SQL.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

FILES: Final = {
    "utils.py": "def mean(numbers):\n    return sum(numbers) / (len(numbers) + 1)\n",
    "README.md": "# numbers\n\nA helper.\n",
    "AGENTS.md": "Keep it short.\n",
    "tests/__init__.py": "",
    "tests/test_utils.py": (
        "import unittest\n\n\nclass TestUtils(unittest.TestCase):\n"
        "    def test_nothing(self):\n        self.assertEqual(1, 1)\n"
    ),
}
_DONE: Final = {"calls": [{"name": "done", "args": {"summary": "Done."}}]}


def _write(path: str, text: str) -> dict[str, Any]:
    return {"calls": [{"name": "write", "args": {"path": path, "content": text}}]}


_FIX: Final = {
    "calls": [
        {"name": "edit", "args": {"path": "utils.py", "old": "(len(numbers) + 1)", "new": "len(numbers)"}}
    ]
}
TASKS: Final[Mapping[str, list[Any]]] = {
    "Fix mean": [_FIX, _DONE],
    "Write a changelog": [_write("CHANGES.md", "Nothing yet.\n"), _DONE],
    "Write notes": [_write("NOTES.md", "Remember the mean.\n"), _DONE],
    "Write a draft": [_write("DRAFT.md", "Half of it.\n"), {"text": "...", "delay": 120}],
    "What does mean do?": ["It returns the average."],
}


def _build(name: str, factor: int, delay: float = 0) -> list[Any]:
    """The replies of an architect, a spec author, an implementer and a refiner."""
    task = {
        "id": "1",
        "title": f"Add {name}",
        "text": f"Add {name}(n) to {name}.py.",
        "files": [f"{name}.py"],
    }
    tests = (
        f"import unittest\n\nfrom {name} import {name}\n\n\nclass Test{name.title()}(unittest.TestCase):\n"
        f"    def test_it(self):\n        self.assertEqual({name}(1), {factor})\n"
    )
    code = _write(f"{name}.py", f"def {name}(n):\n    return {factor} * n\n")
    plan = json.dumps({"tasks": [task | {"criteria": [f"{name}(1) == {factor}"]}]})
    return [plan, _write(f"tests/test_{name}.py", tests), _DONE, code | {"delay": delay}, *[_DONE] * 4]


BUILDS: Final = {"Add double": _build("double", 2), "Add triple": _build("triple", 3, delay=120)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kith", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--settings", type=Path, help="a page whose first TOML block shows every setting")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kith-record-") as made:
        work = Path(os.path.realpath(made))
        _play(args.kith.absolute(), work)
        shutil.rmtree(args.out, ignore_errors=True)
        _pack(args.kith.absolute(), work, args.out)
    if args.settings:
        found = re.search(r"```toml\n(.*?)```", args.settings.read_text(encoding="utf-8"), re.DOTALL)
        (args.out / "config.toml").write_text(found[1] if found else "", encoding="utf-8")


def _play(kith: Path, work: Path) -> None:
    project = work / "project"
    project.mkdir()
    for name, text in FILES.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    home = work / "home"
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
        environment[f"GIT_{name}"] = "person@example.org"
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "First"]):
        subprocess.run(["git", *words], cwd=project, env=environment, check=True)

    def model(task: str, replies: list[Any]) -> str:
        script = work / "scripts" / f"{task.rstrip('?').replace(' ', '-').lower()}.json"
        script.parent.mkdir(exist_ok=True)
        script.write_text(json.dumps(replies))
        return f"replay/{script}"

    def begin(*words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([kith, *words], cwd=project, env=environment, stdin=subprocess.DEVNULL)

    def has(command: str) -> bool:
        return subprocess.run([kith, command, "--help"], capture_output=True, env=environment).returncode == 0

    def kill(work: subprocess.Popen[bytes], file: str) -> None:
        """Once it has written a file into its trial."""
        until = time.monotonic() + 60
        while not list(home.rglob(file)) and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(3)
        work.send_signal(signal.SIGKILL)
        work.wait()
        time.sleep(1)

    def start(task: str, *words: str) -> subprocess.Popen[bytes]:
        return begin("run", "-m", model(task, TASKS[task]), "--check", "none", *words, "-p", task)

    applied, undone, waiting, killed, answered = TASKS
    start(applied, "--yes").wait()
    start(undone, "--yes").wait()
    subprocess.run([kith, "undo"], cwd=project, env=environment, check=True, stdin=subprocess.DEVNULL)
    start(waiting).wait()
    start(answered).wait()
    kill(start(killed, "--yes"), "DRAFT.md")
    if has("trust"):
        begin("trust", "--yes").wait()
    if has("build"):
        double, triple = BUILDS
        begin("build", double, "-m", model(double, BUILDS[double]), "--yes").wait()
        kill(begin("build", triple, "-m", model(triple, BUILDS[triple]), "--yes"), "test_triple.py")


def _pack(kith: Path, work: Path, out: Path) -> None:
    project, state = work / "project", work / "home" / ".local" / "state" / "kith"
    key = hashlib.sha256(os.fsencode(project)).hexdigest()[:10]
    names = {str(project): "@PROJECT@", str(work): "@WORK@", key: "@TREE@"}
    names |= {str(kith.parent.parent): "/usr/local", sys.base_prefix: "/usr"}

    def plain(text: str) -> str:
        for before, after in names.items():
            text = text.replace(before, after)
        return text

    out.mkdir(parents=True)
    with sqlite3.connect(state / "log.sqlite3") as log:
        (version,) = log.execute("PRAGMA user_version").fetchone()
        lines = [*log.iterdump(), f"PRAGMA user_version={version};"]
    (out / "log.sql").write_text(plain("\n".join(lines)) + "\n", encoding="utf-8")
    files: dict[str, dict[str, str]] = {"project": {}, "state": {}, "links": {}}
    for folder, kind in ((project, "project"), (state, "state")):
        for path in sorted(folder.rglob("*")):
            name = plain(str(path.relative_to(folder)))
            if path.is_symlink():
                files["links"][name] = plain(str(path.readlink()))
            elif path.is_file() and not _LEFT_OUT.search(name):
                files[kind][name] = plain(path.read_text(encoding="utf-8"))
    # In one file, so that nothing takes the tests in it for kith's own.
    (out / "files.json").write_text(json.dumps(files, indent=1) + "\n", encoding="utf-8")


# Of git, SQLite, locks, what is shown live, and of an overlay that is mounted.
_LEFT_OUT: Final = re.compile(r"^(\.git/|log\.sqlite3|locks/|live/)|\.lock$|__pycache__|^trials/[^/]+/work/")


if __name__ == "__main__":
    main()
