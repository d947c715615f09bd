"""Which files may hold a word: all of them, or what git finds in a large tree."""

from collections.abc import Sequence

from kith.context.git import list_paths
from kith.core.run import Run
from kith.core.workspace import ExecLimits

_GREP_LIMITS = ExecLimits(seconds=20.0, output=8_000_000)
_WORTH_GREP = 100  # files; fewer are read sooner than git starts


async def files_holding(run: Run, word: str, paths: Sequence[str]) -> Sequence[str]:
    """Those of the files that may hold the word."""
    if len(paths) < _WORTH_GREP or not run.workspace.confined:
        return paths
    holding = await list_paths(run, ["grep", "-lazF", "--untracked", "-e", word], _GREP_LIMITS)
    return paths if holding is None else sorted(frozenset(holding).intersection(paths))
