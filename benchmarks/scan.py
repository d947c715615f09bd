"""How long `kith scan` takes on a large repository: the first time, again, and after one change.

    python benchmarks/scan.py FOLDER [--files 20000] [--from SITE_PACKAGES ...]

FOLDER gets a git repository made of the installed packages (once; it is used again). What is not enough is
copied with other names in it, so that no two copies are the same code.
"""

import argparse
import keyword
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

ENDINGS = (".c", ".cfg", ".h", ".hpp", ".json", ".md", ".py", ".pyi", ".rst", ".toml", ".txt", ".js", ".css")
C_WORDS = (
    b"auto break case char class const continue default do double else enum extern float for goto if int long"
)
KEYWORDS = {word.encode() for word in keyword.kwlist} | set(C_WORDS.split())
WORD = re.compile(rb"\b[a-z_][a-z_0-9]{1,}\b")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--largest", type=int, default=16_000, help="bytes of a file")
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument(
        "--from", dest="sources", nargs="+", type=Path, default=[Path(sysconfig.get_path("purelib"))]
    )
    args = parser.parse_args()
    repository = args.folder / "repository"
    if not repository.exists():
        make_repository(repository, args.sources, args.files, args.largest)
    environment = dict(
        os.environ, XDG_CACHE_HOME=str(args.folder / "cache"), XDG_STATE_HOME=str(args.folder / "state")
    )
    shutil.rmtree(args.folder / "cache", ignore_errors=True)
    changed = next(repository.rglob("core.py"))
    for name in ("the first time", "again", "after one change"):
        if name == "after one change":
            changed.write_text(changed.read_text() + f"\n\ndef added_{time.time_ns()}(a):\n    return a\n")
        print(f"{name:17} {measure(repository, environment)}", flush=True)


def measure(repository: Path, environment: dict[str, str]) -> str:
    """One scan: wall and processor seconds, and the largest process."""
    began, before = time.monotonic(), os.times()
    command = [sys.executable, "-m", "kith", "scan", "--no-lint", "--json", "-C", str(repository)]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    used = sum(after[2:4]) - sum(before[2:4])
    return f"{time.monotonic() - began:6.2f} s, {used:6.2f} s of processors"


def make_repository(repository: Path, sources: list[Path], number: int, largest: int) -> None:
    """Copies of the files below `sources`, in a git repository with one commit."""
    files = [(source, path) for source in sources for path in find_files(source, largest)]
    modules = {path.stem.encode() for _, path in files} | {
        part.encode() for _, p in files for part in p.parts
    }
    made = 0
    while made < number:
        turn = made // len(files)
        for source, path in files[: number - made]:
            target = repository / f"copy{turn}" / source.parent.name / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes()
            target.write_bytes(rename(data, turn, modules) if turn else data)
            made += 1
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qm", "all"],
    ):
        subprocess.run(["git", *command], cwd=repository, check=True)


def find_files(source: Path, largest: int) -> Iterator[Path]:
    for path in sorted(source.rglob("*")):
        if path.suffix in ENDINGS and path.is_file() and path.stat().st_size <= largest:
            yield path


def rename(data: bytes, turn: int, modules: set[bytes]) -> bytes:
    """The same program with other words: names that are no keywords and no modules get an ending."""
    kept = modules | KEYWORDS
    ending = b"_%d" % turn
    return WORD.sub(lambda match: match[0] if match[0] in kept else match[0] + ending, data)


if __name__ == "__main__":
    main()
