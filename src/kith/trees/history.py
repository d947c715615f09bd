"""The commits that led to a tree: what each said, and which files it changed."""

from collections.abc import Container
from pathlib import Path
from typing import Final

from kith.core.git import Commit
from kith.trees.git import run_git

_NEWEST: Final = 3_000  # commits; older ones tell little of what a task is about
_WIDE: Final = 60  # files; a commit that touches more (a reformatting, an import) tells nothing of each
_MESSAGE: Final = 4_000  # characters of a message that are kept


async def list_commits(root: Path) -> tuple[str, ...]:
    """The newest commits of the tree at `root` that are no merges, newest first; none outside a repository.

    Raises TreeError when git is missing or does not end.
    """
    ran = await run_git(root, "rev-list", "--no-merges", f"--max-count={_NEWEST}", "HEAD")
    return tuple(ran.stdout.decode("ascii", "replace").split()) if ran.ok else ()


async def read_commits(root: Path, known: Container[str]) -> tuple[tuple[str, ...], tuple[Commit, ...]]:
    """The names of the newest commits, and those of them that are not `known`. Paths start at `root`.

    Raises TreeError when git is missing or does not end.
    """
    names = await list_commits(root)
    wanted = [name for name in names if name not in known]
    if not wanted:
        return names, ()
    shown = ("--no-walk=unsorted", "--stdin", "--no-renames", "--name-only", "-z", "--relative")
    ran = await run_git(
        root, "log", *shown, "--format=%x01%H%x02%ct%x02%B%x02", input="\n".join(wanted).encode()
    )
    return names, tuple(_parse(ran.stdout.decode("utf-8", "surrogateescape"), frozenset(wanted)))


def _parse(output: str, wanted: frozenset[str]) -> list[Commit]:
    commits = list[Commit]()
    for each in output.split("\x01"):
        told, _, listed = each.rpartition("\x02")
        name, _, rest = told.partition("\x02")
        at, _, message = rest.partition("\x02")
        if name in wanted and at.isdigit():  # a message may hold these letters, too
            paths = tuple(path for path in listed.strip("\n").split("\0") if path.strip("\n"))
            paths = tuple(path.removeprefix("\n") for path in paths)
            commits.append(Commit(name, int(at), message[:_MESSAGE], paths if len(paths) <= _WIDE else ()))
    return commits
