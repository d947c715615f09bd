"""Rank the files that a task is likely about, from their paths alone and what is already known of them."""

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from posixpath import splitext
from typing import Final, Literal

from msgspec import Struct, field

from kith.context.task_words import Words, find_words, named_paths, stems_of

Kind = Literal["source", "test", "docs", "data", "secret"]

_CODE = """
    .bash .bat .c .cc .clj .cmake .cpp .cs .css .cu .cxx .dart .el .erl .ex .exs .f90 .go .groovy .h .hh .hpp
    .hs .html .hxx .inl .ipp .java .jl .js .jsx .kt .kts .lua .m .mjs .ml .mm .nim .php .pl .pm .proto .ps1
    .py .pyi .pyx .r .rb .rs .scala .scss .sh .sql .svelte .swift .tcl .ts .tsx .v .vala .vue .zig
"""
_SOURCE: Final = frozenset(_CODE.split())
_DOCS: Final = frozenset({".adoc", ".md", ".rst", ".tex", ".txt"})
_SECRET: Final = frozenset({".env", ".jks", ".kdbx", ".key", ".keystore", ".p12", ".pem", ".pfx"})
_SECRET_NAMES: Final = frozenset(
    {".netrc", ".npmrc", ".pypirc", "credentials", "id_dsa", "id_ecdsa", "id_ed25519", "id_rsa"}
)
_TEST_FOLDERS: Final = frozenset({"test", "tests", "testing", "__tests__", "spec"})
WEIGHTS: Final[dict[Kind, float]] = {"source": 1.0, "test": 0.35, "docs": 0.32, "data": 0.3, "secret": 0.0}
_WANTED_TESTS = 1.2

_NAMED_FULLY, _NAMED_LAST, _NAMED_FOLDER = 100.0, 60.0, 8.0  # the task writes the path; its end; a folder
_IN_NAME, _IN_FOLDER, _INSIDE_WORD = 3.0, 1.0, 0.4  # times the rarity of the word
_SHORTLIST: Final = 200  # paths that get a closer look

Signal = Literal["path", "names", "said", "defines", "holds", "history", "recent", "tasks"]
Amounts = Mapping[str, float]  # of a signal: for each file, in a unit that only this signal knows

# How much each signal counts, where the file that has most of it has 1. Rounded from a
# logistic ranking of 600 commits in twelve repositories: which files each changed, by its message.
# `benchmarks/ranking.py` measures it on others. Tasks count like commits.
_SIGNALS: Final[dict[Signal, float]] = {
    "path": 8.0,
    "names": 16.0,
    "said": 8.0,
    "defines": 8.0,
    "holds": 12.0,
    "history": 10.0,
    "recent": 6.0,
    "tasks": 10.0,
}

# A single task that is hardly like this one counts little, not as much as the signal can.
_LEAST_MOST: Final[Mapping[Signal, float]] = {"tasks": 1.0}


class Signals(Struct, frozen=True):
    """Facts about files beyond their paths, each as a mapping from path to amount.

    `names` and `said`: how well the names that a file uses, and its comments and strings, match the task's
    words. `defines` and `holds`: it defines or uses the names in the task. `history`: earlier commits whose
    messages are like the task changed it. `recent`: how often and how lately it was changed. `tasks`: a
    person accepted changes of it in tasks like this one; below 0 where they refused them.
    """

    names: Amounts = field(default_factory=dict)
    said: Amounts = field(default_factory=dict)
    defines: Amounts = field(default_factory=dict)
    holds: Amounts = field(default_factory=dict)
    history: Amounts = field(default_factory=dict)
    recent: Amounts = field(default_factory=dict)
    tasks: Amounts = field(default_factory=dict)

    def items(self) -> tuple[tuple[Signal, Amounts], ...]:
        """Each signal with its amounts."""
        return (
            ("names", self.names),
            ("said", self.said),
            ("defines", self.defines),
            ("holds", self.holds),
            ("history", self.history),
            ("recent", self.recent),
            ("tasks", self.tasks),
        )


class Scored(Struct, frozen=True):
    """A file and how well it fits the task: what each signal adds, and the task's words in its path.

    `named`: the task names it, or a folder above it.
    """

    path: str
    score: float
    parts: Mapping[Signal, float] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    named: bool = False


class PathMatches(Struct, frozen=True):
    """The paths of a tree that a task's words fit.

    `rarity`: of each word among all paths (`there`); `likely` ones are worth a closer look; `named`: the task
    names them.
    """

    there: frozenset[str]
    rarity: Mapping[str, float]
    likely: Sequence[str]
    named: Mapping[str, float]


def match_paths(words: Words, files: Sequence[str]) -> PathMatches:
    """Look at all paths of a tree: the part of a ranking that takes longer the more files there are."""
    rarity, likely = _shortlist(words.stems, files)
    return PathMatches(frozenset(files), rarity, likely, _match_named(words.paths, files))


def rank(
    task: str, files: Sequence[str], signals: Signals | None = None, paths: PathMatches | None = None
) -> tuple[Scored, ...]:
    """Rank the files that are relevant to the task, best first; the rest is left out.

    A word of a path counts by its rarity among the paths (log2(files / files with it), as in inverse document
    frequency). The order depends on the arguments alone. Secrets are never listed. `paths`: the matches of
    these files, where they are known already.
    """
    words = find_words(task)
    paths = paths or match_paths(words, files)
    rarity, named = paths.rarity, paths.named
    known = [(signal, amounts) for signal, amounts in (signals or Signals()).items() if amounts]
    candidates = {*paths.likely, *named}.union(*(amounts.keys() & paths.there for _, amounts in known))
    matches = {path: _weigh(words.stems, path) for path in candidates}
    by_path = {
        path: sum(rarity[word] * part for word, part in found.items()) for path, found in matches.items()
    }
    scales: list[tuple[Signal, Amounts, float]] = [
        (signal, amounts, _SIGNALS[signal] / most)
        for signal, amounts in (("path", by_path), *known)
        if (most := max((_LEAST_MOST.get(signal, 0.0), *map(abs, amounts.values())))) > 0
    ]
    scored = []
    for path in candidates:
        weight = weigh_kind(path, words)
        parts = {
            signal: round(weight * amounts[path] * scale, 3)
            for signal, amounts, scale in scales
            if amounts.get(path)
        }
        score = sum(parts.values()) - 0.1 * weight * path.count("/") + named.get(path, 0.0)
        if weight and score > 0:
            scored.append(Scored(path, round(score, 3), parts, tuple(sorted(matches[path])), path in named))
    return tuple(sorted(scored, key=lambda each: (-each.score, each.path)))


def weigh_kind(path: str, words: Words) -> float:
    """Return the weight of a file's kind: source, test, documentation or data; secrets weigh nothing."""
    kind = kind_of(path)
    return _WANTED_TESTS if kind == "test" and words.about_tests else WEIGHTS[kind]


def kind_of(path: str) -> Kind:
    """Return the kind of a file, judged from its path."""
    folder, _, name = path.lower().rpartition("/")
    ending = splitext(name)[1]
    if ending in _SECRET or name in _SECRET_NAMES or name.startswith(".env"):
        return "secret"
    if ending not in _SOURCE:
        return "docs" if ending in _DOCS else "data"
    begins = name.startswith(("test_", "test-", "tests.", "conftest."))
    ends = name.removesuffix(ending).endswith(("_test", "-test", ".test", ".spec", "_spec", "_tests"))
    parts = folder.split("/")
    return "test" if begins or ends or not _TEST_FOLDERS.isdisjoint(parts) else "source"


def _shortlist(stems: Sequence[str], files: Sequence[str]) -> tuple[dict[str, float], list[str]]:
    """The rarity of each word among the paths, and the paths worth a closer look.

    Words are looked for as plain substrings here, each folder once, which keeps 20,000 paths cheap.
    """
    parts = [path.rpartition("/") for path in files]
    sizes = Counter([folder for folder, _, _ in parts])
    folders = tuple(sizes)
    in_folders = _find_all(stems, folders)
    in_names = _find_all(stems, [name for _, _, name in parts])
    rarity = {}
    above, here = dict[str, float](), dict[int, float]()
    for word in stems:
        spread = len(in_names[word]) + sum(sizes[folders[at]] for at in in_folders[word])
        rarity[word] = math.log2(1 + len(files) / max(spread, 1))
        for at in in_folders[word]:
            above[folders[at]] = above.get(folders[at], 0.0) + _IN_FOLDER * rarity[word]
        for at in in_names[word]:
            here[at] = here.get(at, 0.0) + _IN_NAME * rarity[word]
    likely = [at for at, part in enumerate(parts) if part[0] in above or at in here] if above else [*here]
    scores = [here.get(at, 0.0) + above.get(parts[at][0], 0.0) for at in likely]
    rough = [(score * _ending_weight(files[at]), files[at]) for score, at in zip(scores, likely, strict=True)]
    return rarity, [path for _, path in heapq.nlargest(_SHORTLIST, rough)]


def _find_all(words: Sequence[str], texts: Sequence[str]) -> dict[str, list[int]]:
    """For each word, which texts contain it, letter case aside: one search over all texts joined."""
    joined = "\0".join(texts)
    lowered = joined.lower()
    if len(lowered) != len(joined):  # a few letters (such as İ) grow in lower case
        lowered = "\0".join(text.lower()[: len(text)].ljust(len(text)) for text in texts)
    found: dict[str, list[int]] = {}
    for word in words:
        places = found[word] = []
        at, number, begun = lowered.find(word), 0, 0
        while at >= 0:
            number += lowered.count("\0", begun, at)
            places.append(number)
            begun = lowered.find("\0", at)
            at = lowered.find(word, begun) if begun >= 0 else -1
    return found


def _ending_weight(path: str) -> float:
    return 1.0 if path[path.rfind(".") :] in _SOURCE else WEIGHTS["data"]


def _weigh(stems: Sequence[str], path: str) -> dict[str, float]:
    """Weigh each word of the task for this path: a whole word of its name weighs the most."""
    folder, _, name = path.rpartition("/")
    matched: dict[str, float] = {}
    for text, weight in ((folder, _IN_FOLDER), (splitext(name)[0], _IN_NAME)):
        whole, lowered = frozenset(stems_of(text)), text.lower()
        for word in stems:
            if word in whole:
                matched[word] = weight
            elif len(word) > 3 and word in lowered:
                matched[word] = max(weight * _INSIDE_WORD, matched.get(word, 0.0))
    return matched


def _match_named(paths: Sequence[str], files: Sequence[str]) -> dict[str, float]:
    """Files that the task names outright: by their whole path, by its last parts, or by a folder above."""
    folders = tuple(path for path in paths if path.endswith("/"))
    below = (path for path in files if path.startswith(folders)) if folders else ()
    named = dict.fromkeys(below, _NAMED_FOLDER)
    for path, whole in named_paths(paths, files).items():
        named[path] = _NAMED_FULLY if whole else _NAMED_LAST
    return named
