"""Find the right files: commit messages as requests, in clones of repositories: `ranking.py FOLDER...`.

For each of a repository's newest suitable commits, the state before it is checked out and indexed, and the
message is ranked against it. The baselines are BM25 over the words in paths, and over all names in files.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from math import log
from pathlib import Path
from statistics import fmean, median

from kith.context.rank_files import Signals, rank
from kith.context.task_words import find_words, stems_of
from kith.features.plan.measure import Request, choose_requests, order_by, order_of, place_of, summarise
from kith.memory.index import open_index, refresh
from kith.trees.history import read_commits
from kith.trees.local import open_tree

REQUESTS = 50  # of each repository
WAYS = ("kith", "without history", "without an index", "names in files", "names in paths")
Places = dict[str, list[int]]


def main(folders: Sequence[str]) -> int:
    every: dict[str, list[int]] = {way: [] for way in WAYS}
    means: dict[str, list[float]] = {way: [] for way in WAYS}
    seconds = list[float]()
    for folder in folders:
        places, took = asyncio.run(measure(Path(folder)))
        seconds += took
        for way in WAYS:
            every[way] += places[way]
            means[way].append(summarise(places[way]).reciprocal)
        told = {way: [round(summarise(places[way]).top, 3), round(means[way][-1], 3)] for way in WAYS}
        print(json.dumps({"repository": folder, "requests": len(places["kith"]), **told}), flush=True)
    for way in WAYS:
        found = summarise(every[way])
        print(f"{way}: top five {found.top:.3f}, reciprocal rank {found.reciprocal:.3f}")
    took = f"median {median(seconds):.3f}, most {max(seconds):.3f}"
    print(f"{len(seconds)} requests; seconds of one ranking: {took}")
    return 0


async def measure(repository: Path) -> tuple[Places, list[float]]:
    """The place of the first right file by each way, for each request; and what a ranking took."""
    places: Places = {way: [] for way in WAYS}
    took = list[float]()
    with tempfile.TemporaryDirectory() as scratch:
        root, cache = Path(scratch) / "tree", Path(scratch) / "cache"
        git(Path(scratch), "clone", "-q", "--shared", str(repository), str(root))
        _, commits = await read_commits(root, ())
        requests = choose_requests(commits, frozenset(p for each in commits for p in each.paths), REQUESTS)
        for request in reversed(requests):
            git(root, "checkout", "-q", "--force", f"{request.commit}^")
            tree = open_tree(root, Path(scratch) / "state", cache)
            index = open_index(cache, root)
            await refresh(index, tree)
            files = await tree.files()
            if request.files.intersection(files):
                began = time.perf_counter()
                signals = index.fitting(find_words(request.words))
                ranked = rank(request.words, files, signals)
                took.append(time.perf_counter() - began)
                _note(places, request, files, signals, order_of(ranked))
            index.close()
    return places, took


def _note(
    places: Places, request: Request, files: Sequence[str], signals: Signals, order: Sequence[str]
) -> None:
    bare = Signals(signals.names, signals.said, signals.defines, signals.holds)
    orders = {
        "kith": order,
        "without history": order_of(rank(request.words, files, bare)),
        "without an index": order_of(rank(request.words, files, Signals(recent=signals.recent))),
        "names in files": order_by(signals.names),
        "names in paths": order_by(bm25(find_words(request.words).stems, files)),
    }
    for way, paths in orders.items():
        places[way].append(place_of(paths, request.files))


def bm25(query: Sequence[str], files: Sequence[str]) -> dict[str, float]:
    """BM25 (k1 = 1.2, b = 0.75) of the words in each path."""
    words = {path: Counter(stems_of(path)) for path in files}
    length = fmean(sum(each.values()) for each in words.values())
    holding = Counter(word for each in words.values() for word in each)
    scores = {}
    for path, counts in words.items():
        norm = 1.2 * (0.25 + 0.75 * sum(counts.values()) / length)
        score = sum(
            log(1 + (len(files) - holding[word] + 0.5) / (holding[word] + 0.5))
            * counts[word]
            * 2.2
            / (counts[word] + norm)
            for word in query
            if counts[word]
        )
        if score:
            scores[path] = score
    return scores


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
