"""Mutated replies against the edit engine: no crash, and nothing changed but what a reply names.

    python tools/fuzz_edits.py --seconds 60
    python tools/fuzz_edits.py --count 100000 --seed 7 [--seeds FOLDER]

Every case is made from the seed and its number alone (`--first N --count 1` plays one again). Replies of
every form are generated, then mutated; what the engine makes of one is checked without the engine's help.
"""

import argparse
import statistics
import sys
import time
import traceback
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).parent))

from fuzz_replies import Case, make_case, read_seeds

from kith.core.values import Change
from kith.edits import (
    Create,
    Delete,
    Edit,
    EditError,
    Insert,
    Patch,
    Replace,
    ReplaceString,
    Whole,
    find_edits,
    make_changes,
    paths_of,
)

BOM = b"\xef\xbb\xbf"
SHOWN = 5  # faults that are shown in full


class BrokenError(AssertionError):
    """The engine did something to a file that the reply does not say."""


@dataclass
class Told:
    """What came of all cases: how many, how many changed something, the faults, and seconds of each."""

    count: int = 0
    accepted: int = 0
    faults: list[str] = field(default_factory=list)
    seconds: "array[float]" = field(default_factory=lambda: array("d"))

    def __str__(self) -> str:
        cuts = statistics.quantiles(self.seconds, n=1000) if self.count > 1 else [0.0] * 999
        p50, p99, p999 = (cuts[cut] * 1e3 for cut in (499, 989, 998))
        # Told with its number, counted from the first.
        worst, number = max(zip(self.seconds, range(self.count), strict=True), default=(0.0, 0))
        return (
            f"{self.count:,} mutated replies, {self.accepted:,} of them applied: {len(self.faults)} faults; "
            f"p50 {p50:.2f} ms, p99 {p99:.2f} ms, p99.9 {p999:.2f} ms, "
            f"longest {worst * 1e3:.0f} ms ({number})"
        )


def main(words: Sequence[str] | None = None) -> int:
    """Prints what was found; 1 when there was a crash, or a file that is not as it should be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, help="how long to go on")
    parser.add_argument("--count", type=int, help="how many replies to try")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seeds", type=Path, help="a folder with files of replies to mutate, too")
    args = parser.parse_args(words)
    if not args.seconds and not args.count:
        args.seconds = 60.0
    told, seeds = Told(), read_seeds(args.seeds) if args.seeds else []
    for number in _numbers(args.first, args.count, args.seconds):
        case = make_case(args.seed, number, seeds)
        try:
            _try(case, told)
        except Exception:
            told.faults.append(traceback.format_exc())
            if len(told.faults) <= SHOWN:
                print(f"--seed {args.seed} --first {number} --count 1:\n{told.faults[-1]}{case.reply!r}\n")
    print(told, flush=True)
    return 1 if told.faults else 0


def _numbers(first: int, count: int | None, seconds: float | None) -> Iterator[int]:
    """The numbers of the cases, until there were enough or the time is over."""
    end, number = time.monotonic() + (seconds or float("inf")), first
    while (count is None or number < first + count) and time.monotonic() < end:
        yield number
        number += 1


def _try(case: Case, told: Told) -> None:
    """Give one reply to the engine, and check what it made of it. Raises whatever the engine raised."""
    files, edits, changes = dict(case.files), tuple[Edit, ...](), tuple[Change, ...]()
    told.count += 1
    began = time.perf_counter()
    try:
        edits = find_edits(case.reply, case.known, case.finish_reason)
        base = {path: files.get(path) for path in paths_of(edits)}
        changes = make_changes(edits, base) if edits else ()
    except EditError as error:
        if not str(error).strip():
            raise BrokenError("a refusal says nothing") from None
    finally:
        told.seconds.append(time.perf_counter() - began)
    if files != case.files:
        raise BrokenError("the files that were given are others now")
    if changes:
        told.accepted += 1
        check(case, edits, changes)


def check(case: Case, edits: Sequence[Edit], changes: Sequence[Change]) -> None:
    """Raises BrokenError unless each change is of a file that the reply names, and only where it says so."""
    if case.finish_reason != "stop":
        raise BrokenError("a reply that was cut is applied")
    for change in changes:
        mine = [edit for edit in edits if change.path in _paths(edit)]
        if not mine or not _is_named(change.path, case):
            raise BrokenError(f"{change.path!r} is changed, which the reply does not name")
        if change.before != case.files.get(change.path):
            raise BrokenError(f"{change.path!r} was not what the change says")
        if change.after is not None and b"\0" in change.after:
            raise BrokenError(f"{change.path!r} holds a NUL byte now")
        if len(mine) == 1:
            _check_content(change, mine[0])


def _paths(edit: Edit) -> tuple[str | None, ...]:
    return (edit.path, edit.moved_to if isinstance(edit, Patch) else None)


def _is_named(path: str, case: Case) -> bool:
    only = len(case.known) == 1 and path in case.known
    return only or path.split("/")[-1] in case.reply or '"' in case.reply  # git's quotes


def _check_content(change: Change, edit: Edit) -> None:
    """Raises BrokenError unless the one edit of this file says all that became of it."""
    before, after = (_rows(side or b"") for side in (change.before, change.after))
    match edit:
        case Delete():
            fine = change.after is None
        case Create(content=content):
            fine = change.before is None and change.after == _encoded(content)
        case Whole(content=content):
            fine = _keys(after) == _keys(_rows(_encoded(content)))
        case Replace(old=old, new=new):
            fine = _explains(before, after, old.split("\n"), new.split("\n"))
        case ReplaceString():
            fine = _is_replaced(change.before or b"", change.after or b"", edit)
        case Insert(text=text):
            fine = _explains(before, after, (), text.split("\n"))
        case Patch(moved_to=moved) if moved and moved != edit.path:
            fine = change.path == moved or change.after is None
        case Patch(hunks=hunks):
            lines = [line for hunk in hunks for line in hunk.lines]
            removed, added = ([line[1:] for line in lines if line[:1] == sign] for sign in "-+")
            fine = _explains(before, after, removed, added)
    if not fine:
        raise BrokenError(f"{change.path!r} has other bytes than {edit!r} explains")


def _is_replaced(before: bytes, after: bytes, edit: ReplaceString) -> bool:
    """True when the new text stands where the old one stood, and every row before and behind is as it was."""
    old, new = (_encoded(side.replace("\r\n", "\n")) for side in (edit.old, edit.new))
    plain = before.replace(b"\r\n", b"\n")
    if not before and not old:
        return after == _encoded(edit.new)
    if not old or old not in plain:  # by whole rows, indented otherwise
        return _explains(_rows(before), _rows(after), edit.old.split("\n"), edit.new.split("\n"))
    above, below = plain[: plain.find(old)].count(b"\n"), plain[plain.rfind(old) + len(old) :].count(b"\n")
    sides = [side.split(b"\n") for side in (before, after)]
    outer = [(rows[:above], rows[len(rows) - below :]) for rows in sides]
    said = plain.replace(old, new, -1 if edit.all_matches else 1)
    return after.replace(b"\r", b"") == said.replace(b"\r", b"") and outer[0] == outer[1]


def _explains(before: list[bytes], after: list[bytes], removed: Sequence[str], added: Sequence[str]) -> bool:
    """True when the rows that went are among `removed`, those that came among `added`, and no other differs.

    The first row of either side may have got or lost a byte order mark, and the last one its terminator.
    """
    gone, come = Counter(before) - Counter(after), Counter(after) - Counter(before)
    for ends, others in ((before[:1] + before[-1:], come), (after[:1] + after[-1:], gone)):
        for row in ends:
            twin = next((other for other in others if _text(other) == _text(row)), None)
            if twin is not None and row in (gone if others is come else come):
                gone -= Counter([row, twin])
                come -= Counter([row, twin])
    del gone[BOM], come[BOM]  # it stays above what comes
    return _is_among(gone, removed) and _is_among(come, added)


def _is_among(rows: Counter[bytes], sent: Sequence[str]) -> bool:
    return not Counter(map(_key, rows.elements())) - Counter(_key(_encoded(line)) for line in sent)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _rows(content: bytes) -> list[bytes]:
    """Rows with their terminators, every byte as it is."""
    rows = [row + b"\n" for row in content.split(b"\n")]
    rows[-1] = rows[-1][:-1]
    return [row for row in rows if row]


def _keys(rows: Sequence[bytes]) -> list[bytes]:
    """What all rows say; blank ones at the end may be the reply's, or the file's missing last newline."""
    return [_key(row) for row in _rows(b"".join(rows).removeprefix(BOM).rstrip())]


def _text(row: bytes) -> bytes:
    """A row but for its terminator, and the byte order mark at the top."""
    return row.removeprefix(BOM).rstrip(b"\r\n")


def _key(row: bytes) -> bytes:
    """A row but for what the engine forgives: terminator, indentation, the byte order mark at the top."""
    return row.removeprefix(BOM).strip(b" \t\r\n\v\f")


if __name__ == "__main__":
    sys.exit(main())
