"""How often each file changed in the last year, by the tree's own git."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from kith.context.git import list_paths
from kith.core.run import Run
from kith.core.workspace import ExecLimits
from kith.features.scan.facts import FileFacts
from kith.features.scan.hotspots import Changed, count_changes, find_hotspots
from kith.features.scan.notes import Notes, keep, recall
from kith.features.scan.report import History

_COMMITS: Final = 10_000
_LIMITS: Final = ExecLimits(seconds=30.0, output=50_000_000)
_LOG: Final = (
    *("log", f"-n{_COMMITS}", "--since=1 year ago", "--no-merges", "--no-renames", "--relative"),
    *("--format=", "--numstat", "-z"),
)
_SHOWN: Final = 200  # hot spots of a report: what is cooler is cold


async def find_history(run: Run, notes: Notes, head: str, facts: Mapping[str, FileFacts]) -> History:
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
    changes = {path: Changed(*numbers) for path, numbers in told.items() if path in facts}
    if not changes:
        return History(unknown="nothing was changed in the last year")
    spots = find_hotspots(changes, {path: facts[path].complexity for path in changes})
    return History(spots[:_SHOWN])
