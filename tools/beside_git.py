"""The edit engine beside `git apply`, on diffs that were damaged a little and files that have moved on.

    python tools/beside_git.py --count 20000 [--seed 0] [--first 0]

Where both apply a diff, the results must be the same bytes. Where git refuses and the engine applies, the
old lines of each hunk must stand in the file exactly once, or at the line that the hunk names.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from kith.core.values import Change
from kith.edits import EditError, Patch, find_edits, make_changes, paths_of, unified_diff

Tree = dict[str, bytes]

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
            seen[outcome] += 1
            if outcome in ("both apply, otherwise", "kith alone, not at one place"):
                wrong += 1
                shown = "\n".join(map(repr, (content, diff, ours, theirs)))
                print(f"--seed {args.seed} --first {number}: {outcome}\n{shown}\n")
    print(f"{args.count:,} pairs: " + ", ".join(f"{name} {count:,}" for name, count in seen.most_common()))
    return 1 if wrong else 0


def _outcome(content: bytes, diff: str, ours: Tree | None, theirs: Tree | None) -> str:
    if ours is None:
        return "both refuse" if theirs is None else "git alone"
    if theirs is None:
        return "kith alone, at one place" if stands_once(content, diff) else "kith alone, not at one place"
    if ours == theirs:
        return "both apply, equal"
    bare = [{path: after.replace(b"\n", b"") for path, after in side.items()} for side in (ours, theirs)]
    if re.search(r"^ .*\n\\", diff, flags=re.M) and bare[0] == bare[1] and stands_once(content, diff):
        return "git dropped the newline of a line that stays"
    lost = is_cut_short(diff) and stands_once(content, diff)
    return "git dropped lines" if lost else "both apply, otherwise"


def is_cut_short(diff: str) -> bool:
    """Whether a hunk has more lines than its header says: git passes over those in silence."""
    whole = diff.removesuffix("\n") + "\n"
    for header, body in re.findall(r"^(@@ .*)\n((?:[-+ \\].*\n|\n)*)", whole, flags=re.M):
        old, new = (int(count or 1) for count in re.findall(r"[-+]\d+(?:,(\d+))?", header)[:2])
        lines = body.removesuffix("\n").split("\n")
        if sum(line[:1] in ("", " ", "-") for line in lines) > old:
            return True
        if sum(line[:1] in ("", " ", "+") for line in lines) > new:
            return True
    return False


def by_kith(content: bytes, diff: str) -> Tree | None:
    """What the engine makes of a tree with one file; None: it refuses."""
    tree: dict[str, bytes | None] = {NAME: content}
    try:
        edits = find_edits(diff, (NAME,), "stop")
        changes = make_changes(edits, {path: tree.get(path) for path in (NAME, *paths_of(edits))})
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
    """Whether the old lines of every hunk stand in the file once, or where the hunk says.

    Terminators do not count, nor does the same indentation more or less.
    """
    text = content.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    rows = [row.removesuffix("\r") for row in text.removesuffix("\n").split("\n")]
    edits = find_edits(diff, (NAME,), "stop")
    for hunk in [hunk for edit in edits if isinstance(edit, Patch) for hunk in edit.hunks]:
        old = [line.removesuffix("\r").removeprefix("\ufeff") for line in hunk.old]
        places = _places(rows, old) or _places(
            [row.lstrip() for row in rows], [line.lstrip() for line in old]
        )
        if len(places) != 1 and (hunk.start or 0) - 1 not in places:
            return False
    return True


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
