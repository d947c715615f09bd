"""Manage the folder of a trial: made, locked, found again after a crash, and removed whole."""

import os
import re
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from kith.core.errors import BusyError, TreeError
from kith.core.trial_names import trials_of
from kith.trees.walk import remove_tree

KEPT_S = 30 * 24 * 3600.0  # how long an interrupted task can be resumed, and a change waits
IDLE_S = 24 * 3600.0  # after so long without work a trial's /tmp is emptied: it may hold gigabytes
SCRATCH = "tmp"
NAMELESS = "~"  # begins the names of trials that nobody will ask for again
ASIDE = "trials-aside"  # beside the folder of the trials


@contextmanager
def claim_folder(state: Path, root: Path, name: str = "") -> Iterator[Path]:
    """A private folder below `state` for a trial of the tree at `root`; leaving the block removes it.

    With a `name`, an error, a cancellation or a crash leaves the folder, and the next claim finds it as it
    was. Raises BusyError when another process has it, TreeError for a bad name or another tree's trial.
    """
    if name and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise TreeError(f"{name!r} cannot name a trial: it may have letters, digits, dots and dashes")
    trials = state / "trials"
    trials.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as held:
        with _locked(trials, wait=True):  # nobody sweeps between the next two lines
            _sweep(trials)
            folder = trials / (name or NAMELESS + secrets.token_hex(8))
            folder.mkdir(mode=0o700, exist_ok=True)
            held.enter_context(_locked(folder))
        _check_owner(folder, root)
        os.utime(folder)  # its days begin anew
        try:
            yield folder
        except BaseException:
            if not name:
                remove_tree(folder)
            raise
        if not remove_tree(folder):
            _put_aside(folder)  # half of a trial must not be taken for a whole one


def _check_owner(folder: Path, root: Path) -> None:
    """Remember the tree in a link called `lower` (the overlay's lower layer), or see that it is the same."""
    link = folder / "lower"
    with suppress(FileExistsError):
        link.symlink_to(root)
    if link.readlink() != root:
        raise TreeError(f"the trial {folder.name!r} belongs to the tree {link.readlink()}")


def _sweep(trials: Path) -> None:
    """Remove the nameless trials of processes that died, and named ones that nobody came back for.

    Of those that were left for a day, only what was in their /tmp is removed. Whatever one of them holds, the
    others and who sweeps have nothing to do with it.
    """
    now = time.time()
    for folder in trials.iterdir():
        with suppress(BusyError, OSError):
            idle_s = now - folder.lstat().st_mtime
            if folder.name.startswith(NAMELESS) or idle_s > KEPT_S:
                with _locked(folder):
                    if not remove_tree(folder):
                        _put_aside(folder)
            elif idle_s > IDLE_S and (folder / SCRATCH).is_dir():
                with _locked(folder):
                    _empty_scratch(folder)


def _empty_scratch(folder: Path) -> None:
    """Remove a trial's /tmp; the trial stays as old as it is."""
    before = folder.lstat()
    remove_tree(folder / SCRATCH)
    os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))


def _put_aside(folder: Path) -> None:
    """Out of the way, where nobody looks again: what cannot be removed now could not be the next time."""
    aside = folder.parent.with_name(ASIDE)
    with suppress(OSError):
        aside.mkdir(mode=0o700, exist_ok=True)
        folder.rename(aside / secrets.token_hex(8))


def list_aside(state: Path) -> tuple[Path, ...]:
    """List the folders of trials that could not be removed."""
    with suppress(OSError):
        return tuple(sorted((state / ASIDE).iterdir()))
    return ()


def forget_trials(state: Path, session: str, but: str = "") -> None:
    """Remove the trials that wait for a session's tasks, `but` one. Raises BusyError where one is in use."""
    trials = state / "trials"
    for folder in tuple(trials.iterdir()) if trials.is_dir() else ():
        if folder.name.startswith(trials_of(session)) and folder.name != but:
            with suppress(FileNotFoundError), _locked(folder):
                remove_tree(folder)


@contextmanager
def _locked(folder: Path, wait: bool = False) -> Iterator[None]:
    """Hold a folder with a lock that ends with the process, however it ends."""
    if sys.platform == "win32":
        yield  # Windows has no lock on folders
        return
    import fcntl

    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise BusyError(f"the trial {folder.name!r} is in use by another kith") from None
    finally:
        os.close(fd)
