"""Compare first messages with what tasks change: commit messages as requests, `first_messages.py FOLDER...`.

For each of a repository's newest suitable commits, the state before it is checked out and indexed. The
commit's message is the task. Of the lines that the commit changes, the share in the first message counts.
"""

import asyncio
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from kith.context.brief import Fitting, brief
from kith.context.budget import estimate_tokens, opening_room
from kith.core.run import Run
from kith.core.values import Answer, Question
from kith.features.plan.measure import Request, choose_requests
from kith.memory.index import Index, open_index, refresh
from kith.trees.history import read_commits
from kith.trees.local import open_tree

REQUESTS = 30  # of each repository
WINDOWS = (4_096, 8_192, 32_768)
Line = tuple[str, str]  # a file, and a line of it without the blanks around it
_HUNK = re.compile(r"^(?:--- a/(.+)|@@ -(\d+)(?:,(\d+))? )", re.MULTILINE)
_HEADING = re.compile(r"(.+?)(?:, lines [\d, -]+ of \d+| \(\d+ lines?\))?")
_NUMBERED = re.compile(r"\d+: ")


def main(folders: Sequence[str]) -> int:
    shares: dict[int, list[float]] = {window: [] for window in WINDOWS}
    sizes: dict[int, list[int]] = {window: [] for window in WINDOWS}
    for folder in folders:
        for window, share, size in asyncio.run(measure(Path(folder))):
            shares[window].append(share)
            sizes[window].append(size)
    for window in WINDOWS:
        told = f"{fmean(shares[window]):.3f} of the lines, at most {max(sizes[window])} tokens"
        print(f"window {window}: {told}, {len(shares[window])} requests")
    return 0


async def measure(repository: Path) -> list[tuple[int, float, int]]:
    """The share of the lines in the first message, and its tokens, for each request and window."""
    found = list[tuple[int, float, int]]()
    with tempfile.TemporaryDirectory() as scratch:
        root, cache = Path(scratch) / "tree", Path(scratch) / "cache"
        git(Path(scratch), "clone", "-q", "--shared", str(repository), str(root))
        _, commits = await read_commits(root, ())
        requests = choose_requests(commits, frozenset(p for each in commits for p in each.paths), REQUESTS)
        for request in reversed(requests):
            git(root, "checkout", "-q", "--force", f"{request.commit}^")
            wanted = changed_lines(root, request)
            if not wanted:
                continue
            tree = open_tree(root, Path(scratch) / "state", cache)
            index = open_index(cache, root)
            await refresh(index, tree)
            run, files = Run(lambda event, path: None, nobody, tree), frozenset(await tree.files())

            async def known(index: Index = index) -> Fitting:
                return index.fitting

            for window in WINDOWS:
                text = await brief(run, request.words, opening_room(window), known)
                share = len(wanted.intersection(shown_lines(text, files))) / len(wanted)
                found.append((window, share, estimate_tokens(text)))
            index.close()
    return found


def changed_lines(root: Path, request: Request) -> frozenset[Line]:
    """The lines that a commit changes or removes; where it only adds some, the line above them."""
    diff = git(root, "diff", "-U0", "--no-renames", "HEAD", request.commit, "--", *sorted(request.files))
    lines, path, texts = set[Line](), "", list[str]()
    for before, first, number in _HUNK.findall(diff):
        if before:
            path, texts = before, (root / before).read_text("utf-8", "replace").split("\n")
        elif path:
            begin, size = max(int(first), 1), max(int(number or 1), 1)
            lines |= {(path, text.strip()) for text in texts[begin - 1 : begin - 1 + size] if text.strip()}
    return frozenset(lines)


def shown_lines(text: str, files: frozenset[str]) -> Iterator[Line]:
    """The lines of files in a first message."""
    path = ""
    for line in text.split("\n"):
        heading = _HEADING.fullmatch(line)
        if heading and heading[1] in files:
            path = heading[1]
        elif path:
            yield path, line.strip()
            yield path, _NUMBERED.sub("", line, count=1).strip()


async def nobody(question: Question) -> Answer:
    raise AssertionError(question)


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
