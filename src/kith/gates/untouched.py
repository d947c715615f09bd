"""The gate that keeps tests as they were agreed: whoever makes them pass may not change them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final

from kith.core.errors import TreeError
from kith.core.run import Gate, Run
from kith.core.values import Change, Changes, Verdict
from kith.gates.runners import is_runner_file, runner_settings

_FOLDERS: Final = frozenset({"test", "tests", "__tests__", "unittests"})
_NAMES: Final = re.compile(
    r"conftest\.py|test_.*\.py|.*_tests?\.py|tests\.py|"  # pytest, unittest, Django
    r"(?:test_.*|.*_(?:unit)?tests?|tests?|.*[a-z]Tests?)\.(?:c|cc|cpp|cxx)|"
    r".*_test\.go|.*\.(?:test|spec)\.[cm]?[jt]sx?"
)


def is_test_file(path: str) -> bool:
    """Whether a path is a test's, by the names that the runners and their users agree on.

    All that lies in a folder of tests counts: helpers and data decide what a test says, too.
    """
    *folders, name = path.split("/")
    return not _FOLDERS.isdisjoint(folders) or bool(_NAMES.fullmatch(name))


def untouched_gate(locked: Mapping[str, str], since: Changes) -> Gate:
    """Refuses a change of tests, or of how they are run, since they were locked.

    `locked`: files and their SHA-256 in hexadecimal. `since`: the changes of the trial at that moment. Test
    files and the runners' own files are put back by the gate; what stands in a file among other things
    (`[tool.pytest]` in pyproject.toml) is left to whoever changed it.
    """

    async def judge(run: Run, changes: Changes) -> Verdict:
        way_back = tuple(_way_back(since, changes))
        whole = tuple(change for change in way_back if change.path in locked or _is_guarded(change.path))
        put_back = await _put_back(run, whole)
        open_ = [change.path for change in whole if change.path not in put_back]
        open_ += [path for path in await find_unlocked(run, locked) if path not in open_]
        settings = [change.path for change in way_back if change not in whole and _runs_otherwise(change)]
        if not (whole or open_ or settings):
            return Verdict(True, "", "untouched")
        return Verdict(False, _letter(put_back, open_, settings), "untouched")

    return judge


def _is_guarded(path: str) -> bool:
    return is_test_file(path) or is_runner_file(path)


def _way_back(since: Changes, now: Changes) -> Iterator[Change]:
    """Each file that is not as it was, from what it is to what it was."""
    then, present = ({change.path: change for change in changes} for changes in (since, now))
    for path in sorted({*then, *present}):
        old, new = then.get(path), present.get(path)
        # What `now` does not name is as in the person's tree, which every change begins from.
        is_ = new or (old.inverse if old else None)
        was = old or (new.inverse if new else None)
        if is_ and was and (is_.after, is_.mode) != (was.after, was.mode):
            yield Change(path, is_.after, was.after, was.mode, is_.mode)


def _runs_otherwise(change: Change) -> bool:
    return bool(runner_settings(change.path, change.before) != runner_settings(change.path, change.after))


async def _put_back(run: Run, way_back: Changes) -> list[str]:
    """Write what was; the paths for which that worked."""
    done = []
    for change in way_back:
        try:
            await run.workspace.apply((change,))
        except TreeError:
            continue
        done.append(change.path)
    return done


async def find_unlocked(run: Run, locked: Mapping[str, str]) -> list[str]:
    """The locked files (with their SHA-256) that are not in the run's tree as they were locked."""
    return [path for path, digest in locked.items() if not await _is_locked(run, path, digest)]


async def _is_locked(run: Run, path: str, digest: str) -> bool:
    try:
        return sha256(await run.workspace.read(path)).hexdigest() == digest
    except TreeError:
        return False


def _letter(put_back: Sequence[str], left: Sequence[str], settings: Sequence[str]) -> str:
    words = ["The tests are agreed and locked: make them pass by changing other files only."]
    if put_back:
        words.append(f"You changed {', '.join(put_back)}, which was put back as it was.")
    if left:
        words.append(f"{', '.join(left)} is not as it was locked. Put it back.")
    if settings:
        words.append(f"You changed how tests are run or counted in {', '.join(settings)}. Put that back.")
    return " ".join(words)
