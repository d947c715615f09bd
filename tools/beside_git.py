"""The edit engine beside `git apply`, on diffs that were damaged a little and files that have moved on.

    python tools/beside_git.py --count 20000 [--seed 0] [--first 0]

Where both apply a diff, the results must be the same bytes. Where git refuses and the engine applies, the
old lines of each hunk must stand in the file exactly once, or at the line that the hunk names. Where git
applies and the engine refuses, git must have passed over lines, or chosen one of several places.

Two things git does wrong, and both are proved, not assumed. It passes over the lines that a hunk has beyond
the count in its header: with the right counts there, it must agree. And it takes the newline from a line that
stays when the diff says that it has none: but for exactly that newline, it must agree.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from kith.core.values import Change
from kith.edits import (
    EditError,
    Hunk,
    NothingToChange,
    Patch,
    find_edits,
    make_changes,
    paths_of,
    unified_diff,
)

Tree = dict[str, bytes]

WRONG = ("both apply, otherwise", "kith alone, not at one place", "git alone")

NAME = "a.txt"
WORDS = (
    "a",
    "b",
    "c",
    "}",
    "",
    "  x",
    "\tx",
    "return x",
    "-- a",
    "++ b",
    "é",
    "caf\udce9",
    "u\u2028v",
    "r\rs",
    "@@ a",
)
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", ""),
    "GIT_CEILING_DIRECTORIES": "/",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


def main(words: Sequence[str] | None = None) -> int:
    """Prints how often each outcome was seen; 1 when the two differ where they must not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args(words)
    seen, wrong = Counter[str](), 0
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        for number in range(args.first, args.first + args.count):
            content, diff = make_pair(random.Random(f"{args.seed}:{number}"))
            ours, theirs = by_kith(content, diff), by_git(Path(folder), content, diff)
            outcome = _outcome(content, diff, ours, theirs)
            if outcome in ("both apply, otherwise", "git alone") and is_cut_short(diff):
                outcome = _with_right_counts(Path(folder), content, diff, ours)
            seen[outcome] += 1
            if outcome in WRONG:
                wrong += 1
                shown = "\n".join(map(repr, (content, diff, ours, theirs)))
                print(f"--seed {args.seed} --first {number}: {outcome}\n{shown}\n")
    print(f"{args.count:,} pairs: " + ", ".join(f"{name} {count:,}" for name, count in seen.most_common()))
    return 1 if wrong else 0


def _outcome(content: bytes, diff: str, ours: Tree | None, theirs: Tree | None) -> str:
    if ours is None and theirs is None:
        return "both refuse"
    if ours is None:
        return "git alone, at one of several places" if is_ambiguous(content, diff) else "git alone"
    if theirs is None and ours == {NAME: content}:
        return "both change nothing"
    if theirs is None:
        return "kith alone, at one place" if stands_once(content, diff) else "kith alone, not at one place"
    if ours == theirs:
        return "both apply, equal"
    if theirs in _without_a_newline(ours, diff):
        return "git took a newline from a line that stays"
    return "both apply, otherwise"


def _with_right_counts(folder: Path, content: bytes, diff: str, ours: Tree | None) -> str:
    """The outcome when git, too, is told of all lines that the hunks have."""
    if ours is None:
        return "git alone, without some lines"
    outcome = _outcome(content, counted(diff), ours, by_git(folder, content, counted(diff)))
    return outcome if outcome in WRONG else "git left out lines, and agrees when they are counted"


def _without_a_newline(ours: Tree, diff: str) -> Iterator[Tree]:
    """The trees in which one line that the diff shows with no newline at its end, and keeps, has lost it."""
    text = ours.get(NAME, b"")
    for shown in re.findall(r"^ (.*)\n\\", diff, flags=re.M):
        row = shown.encode("utf-8", "surrogateescape")
        for found in re.finditer(rb"^" + re.escape(row) + rb"\n", text, flags=re.M):
            yield ours | {NAME: text[: found.end() - 1] + text[found.end() :]}


def _hunks(diff: str) -> Iterator[tuple[re.Match[str], list[int]]]:
    """Each hunk of a diff (header, body), and how many old and new lines it really has."""
    for match in re.finditer(r"^(@@ .*\n)((?:[-+ \\].*\n|\n)*)", diff, flags=re.M):
        signs = [line[:1] or " " for line in match[2].split("\n")[:-1]]
        yield match, [sum(sign in (" ", side) for sign in signs) for side in "-+"]


def is_cut_short(diff: str) -> bool:
    """Whether a hunk has more lines than its header says: git passes over those in silence."""
    for match, real in _hunks(diff.removesuffix("\n") + "\n"):
        said = [int(count or 1) for count in re.findall(r"[-+]\d+(?:,(\d+))?", match[1])[:2]]
        if any(has > says for has, says in zip(real, said, strict=True)):
            return True
    return False


def counted(diff: str) -> str:
    """The diff with headers that say how many lines each hunk has."""
    out, done = "", 0
    for match, real in _hunks(diff := diff.removesuffix("\n") + "\n"):
        header = re.sub(r"^(@@ -\d+)(?:,\d+)?( \+\d+)(?:,\d+)?", rf"\1,{real[0]}\2,{real[1]}", match[1])
        out += diff[done : match.start()] + header + match[2]
        done = match.end()
    return out + diff[done:]


def by_kith(content: bytes, diff: str) -> Tree | None:
    """What the engine makes of a tree with one file; None: it refuses."""
    tree: dict[str, bytes | None] = {NAME: content}
    try:
        edits = find_edits(diff, (NAME,), "stop")
        changes = make_changes(edits, {path: tree.get(path) for path in (NAME, *paths_of(edits))})
    except NothingToChange:
        changes = ()
    except EditError:
        return None
    tree.update((change.path, change.after) for change in changes)
    return {path: after for path, after in tree.items() if after is not None}


def by_git(folder: Path, content: bytes, diff: str) -> Tree | None:
    """What `git apply` makes of a tree with one file; None: it refuses."""
    with tempfile.TemporaryDirectory(dir=folder) as root:
        (Path(root) / NAME).write_bytes(content)
        said = subprocess.run(
            ["git", "apply", "--whitespace=nowarn", "-"],
            input=diff.encode("utf-8", "surrogateescape"),
            cwd=root,
            env=ENVIRONMENT,
            capture_output=True,
        )
        files = [path for path in Path(root).rglob("*") if path.is_file()]
        tree = {str(path.relative_to(root)): path.read_bytes() for path in files}
    return tree if said.returncode == 0 else None


def stands_once(content: bytes, diff: str) -> bool:
    """Whether the old lines of every hunk stand in the file once, or where the hunk says."""
    found = _found(_rows(content), diff)
    return all(len(places) == 1 or said in places for _, places, said, _ in found)


def is_ambiguous(content: bytes, diff: str) -> bool:
    """Whether the old lines of a hunk stand in several places, and the line that it names does not decide.

    Or the new ones stand at that line, so that it may have been applied. The line does not decide where less
    context below than above tells that the hunk closes the file, as GNU patch takes it (git does so only
    where there is none below), and the lines stand at the end as well.
    """
    rows = _rows(content)
    for hunk, places, said, last in _found(rows, diff):
        new = list(map(_bare, hunk.new))
        if said not in places and new == rows[said : said + len(new)]:
            return True
        short = hunk.context_below < hunk.context_above
        if len(places) > 1 and (said not in places or (short and said != last and last in places)):
            return True
    return False


def _found(rows: list[str], diff: str) -> Iterator[tuple[Hunk, list[int], int, int]]:
    """Each hunk, the rows (from 0) where its old lines stand, the row that it names, and the last possible.

    Terminators do not count, nor does the same indentation more or less.
    """
    edits = find_edits(diff, (NAME,), "stop")
    for hunk in [hunk for edit in edits if isinstance(edit, Patch) for hunk in edit.hunks]:
        old = list(map(_bare, hunk.old))
        places = _places(rows, old) or _places(
            [row.lstrip() for row in rows], [line.lstrip() for line in old]
        )
        yield hunk, places, (hunk.start or 0) - 1, len(rows) - len(old)


def _rows(content: bytes) -> list[str]:
    text = content.decode("utf-8", "surrogateescape")
    return list(map(_bare, text.removesuffix("\n").split("\n"))) if text else []


def _bare(row: str) -> str:
    return row.removesuffix("\r").removeprefix("\ufeff")


def _places(rows: list[str], old: list[str]) -> list[int]:
    return [row for row in range(len(rows) - len(old) + 1) if rows[row : row + len(old)] == old]


def make_pair(rng: random.Random) -> tuple[bytes, str]:
    """A file and a diff: of it, or of what it was before; as git prints it, or a little wrong."""
    rows = [rng.choice(WORDS) + rng.choice(("", f" {number}")) for number in range(rng.randrange(1, 30))]
    before, after = _text(rng, rows), _text(rng, _edited(rng, rows))
    diff = unified_diff(Change(NAME, before, after))
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        diff = _damaged(rng, diff)
    here = rng.choice((before, before, _text(rng, _edited(rng, rows)), after, before + before))
    return here, diff


def _text(rng: random.Random, rows: Sequence[str]) -> bytes:
    """Rows as a file; now and then with carriage returns, a mark, or no newline at its end."""
    returns = rng.random() < 0.1
    text = "".join(row + ("\r\n" if returns and rng.random() < 0.9 else "\n") for row in rows)
    text = text if rng.random() < 0.8 else text.removesuffix("\n")
    return (("\ufeff" if rng.random() < 0.05 else "") + text).encode("utf-8", "surrogateescape")


def _edited(rng: random.Random, rows: Sequence[str]) -> list[str]:
    new = list(rows)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(new) + 1)
        new[at : at + rng.randrange(3)] = [rng.choice(WORDS) for _ in range(rng.randrange(3))]
    return new


def _damaged(rng: random.Random, diff: str) -> str:
    """A diff with one line changed, lost or doubled, or with another number."""
    lines = diff.split("\n")
    at = rng.randrange(min(3, len(lines) - 1), len(lines))  # git's names stay as they are
    match rng.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[at])
        case 2:
            lines[at] = lines[at].rstrip()
        case 3:
            lines[at] = rng.choice("+- ") + lines[at][1:]
        case 4:
            lines[at] += rng.choice(("\r", " ", "x"))
        case _:
            lines[at] = re.sub(r"\d+", lambda match: str(int(match[0]) + rng.randrange(3)), lines[at])
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
