"""Find where changes and complexity meet, by how often git says that each file changed in the last year."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from kith.context.git_paths import list_paths
from kith.core.run import Run
from kith.core.workspace import ExecLimits
from kith.features.scan.facts import FileFacts, ScanCache, keep, recall
from kith.features.scan.report import History, HotSpot

_COMMITS: Final = 10_000
_LIMITS: Final = ExecLimits(seconds=30.0, output=50_000_000)
_LOG: Final = (
    *("log", f"-n{_COMMITS}", "--since=1 year ago", "--no-merges", "--no-renames", "--relative"),
    *("--format=", "--numstat", "-z"),
)
_SHOWN: Final = 200  # hot spots of a report: what is cooler is cold


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The commits of a file, and the lines that they added and removed together."""

    commits: int
    lines: int


async def find_history(run: Run, notes: ScanCache, head: str, facts: Mapping[str, FileFacts]) -> History:
    """The hot spots among these files; `head` is the commit that is checked out, "" for none.

    Of more than 10,000 commits in a year the latest count. What git told is kept until the next commit, or
    the next day.
    """
    if not head:
        return History(unknown="there is no git history")
    rests_on = f"{head} {datetime.now(UTC):%Y-%m-%d}"
    told = recall(notes, "history", rests_on)
    if told is None:
        records = await list_paths(run, _LOG, _LIMITS)
        if records is None:
            where = (
                "git did not answer in time" if run.workspace.confined else "there is no sandbox for git here"
            )
            return History(unknown=where)
        told = {path: [each.commits, each.lines] for path, each in count_changes(records).items()}
        keep(notes, "history", rests_on, told)
    changes = {path: FileChanges(*numbers) for path, numbers in told.items() if path in facts}
    if not changes:
        return History(unknown="nothing was changed in the last year")
    spots = find_hotspots(changes, {path: facts[path].complexity for path in changes})
    return History(spots[:_SHOWN])


def count_changes(records: Iterable[str]) -> dict[str, FileChanges]:
    """Read `git log --numstat`, by file; a record is `added<TAB>removed<TAB>path`, `-` for binary.

    Records of another form are left out.
    """
    found: dict[str, FileChanges] = {}
    for record in records:
        added, _, rest = record.strip("\n").partition("\t")
        removed, _, path = rest.partition("\t")
        if not path:
            continue
        known = found.get(path, FileChanges(0, 0))
        lines = sum(int(number) for number in (added, removed) if number.isdecimal())
        found[path] = FileChanges(known.commits + 1, known.lines + lines)
    return found


def find_hotspots(changes: Mapping[str, FileChanges], complexity: Mapping[str, int]) -> tuple[HotSpot, ...]:
    """The files by commits times complexity, the hottest first (after Tornhill, Your Code as a Crime Scene).

    A file without complexity (no functions, not code) or without changes is no hot spot.
    """
    products = {
        path: each.commits * complexity[path] for path, each in changes.items() if complexity.get(path, 0) > 0
    }
    most = max(products.values(), default=0) or 1
    spots = (
        HotSpot(path, changes[path].commits, complexity[path], product / most)
        for path, product in products.items()
    )
    return tuple(sorted(spots, key=lambda each: (-each.score, each.path)))
