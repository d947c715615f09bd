"""Record what a released kith leaves on the disk, for the tests that later versions read it.

    python tools/record_state.py KITH OUT [--settings docs/configuration.md]

Run it with the program of each release (`KITH`), and commit `OUT` as `tests/fixtures/upgrades/VERSION`. A
played model does five tasks: one is applied, one applied and undone, one waits, one is killed, one answers.
Paths are replaced by `@PROJECT@` and `@WORK@`, the tree's key by `@TREE@`; the log is kept as SQL.
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
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

FILES: Final = {
    "utils.py": "def mean(numbers):\n    return sum(numbers) / (len(numbers) + 1)\n",
    "README.md": "# numbers\n\nA helper.\n",
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
        _pack(work, args.out)
    if args.settings:
        found = re.search(r"```toml\n(.*?)```", args.settings.read_text(encoding="utf-8"), re.DOTALL)
        (args.out / "config.toml").write_text(found[1] if found else "", encoding="utf-8")


def _play(kith: Path, work: Path) -> None:
    project = work / "project"
    project.mkdir()
    for name, text in FILES.items():
        (project / name).write_text(text, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "HOME": str(work / "home")}
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL"):
        environment[f"GIT_{name}"] = "person@example.org"
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "First"]):
        subprocess.run(["git", *words], cwd=project, env=environment, check=True)

    def start(task: str, *words: str) -> subprocess.Popen[bytes]:
        script = work / "scripts" / f"{task.rstrip('?').replace(' ', '-').lower()}.json"
        script.parent.mkdir(exist_ok=True)
        script.write_text(json.dumps(TASKS[task]))
        command = [kith, "run", "-m", f"replay/{script}", "--check", "none", *words, "-p", task]
        return subprocess.Popen(command, cwd=project, env=environment, stdin=subprocess.DEVNULL)

    applied, undone, waiting, killed, answered = TASKS
    start(applied, "--yes").wait()
    start(undone, "--yes").wait()
    subprocess.run([kith, "undo"], cwd=project, env=environment, check=True, stdin=subprocess.DEVNULL)
    start(waiting).wait()
    start(answered).wait()
    at_work = start(killed, "--yes")
    until = time.monotonic() + 60
    while not list((work / "home").rglob("DRAFT.md")) and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(1)
    at_work.send_signal(signal.SIGKILL)
    at_work.wait()
    time.sleep(1)


def _pack(work: Path, out: Path) -> None:
    project, state = work / "project", work / "home" / ".local" / "state" / "kith"
    key = hashlib.sha256(os.fsencode(project)).hexdigest()[:10]

    def plain(text: str) -> str:
        return text.replace(str(project), "@PROJECT@").replace(str(work), "@WORK@").replace(key, "@TREE@")

    out.mkdir(parents=True)
    with sqlite3.connect(state / "log.sqlite3") as log:
        (version,) = log.execute("PRAGMA user_version").fetchone()
        lines = [*log.iterdump(), f"PRAGMA user_version={version};"]
    (out / "log.sql").write_text(plain("\n".join(lines)) + "\n", encoding="utf-8")
    links = {}
    for path in sorted(state.rglob("*")):
        name = plain(str(path.relative_to(state)))
        if path.is_symlink():
            links[name] = plain(str(path.readlink()))
        elif path.is_file() and not _is_left_out(name):
            kept = out / "state" / name
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(plain(path.read_text(encoding="utf-8")), encoding="utf-8")
    (out / "links.json").write_text(json.dumps(links, indent=1) + "\n", encoding="utf-8")
    shutil.copytree(project, out / "project", ignore=shutil.ignore_patterns(".git"))


def _is_left_out(name: str) -> bool:
    return name.startswith(("log.sqlite3", "locks/", "live/")) or name.endswith(".lock")


if __name__ == "__main__":
    main()
