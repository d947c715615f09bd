"""The checks that judge a project's changes, and their results, kept between tasks in the cache."""

import asyncio
import gzip
import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from kith.agent.ecosystems import ecosystems
from kith.core.errors import BusyError, TreeError
from kith.core.evidence import Standing
from kith.core.locks import hold_when_free
from kith.core.trial_names import session_of
from kith.gates.evidence.check_runs import ChosenCheck, read_choice
from kith.gates.toolchain import Toolchain
from kith.gates.toolchains import choose_clues, find_candidates
from kith.settings import Settings
from kith.trees.bulk_read import read_files
from kith.trees.listing import list_files
from kith.trees.trial_folder import forget_trials

# Results of checks, kept between tasks in the cache; and one suite at a time on this machine.

_MOST: Final = 300  # files; the oldest go first
_PAUSE_S: Final = 0.2
_PATIENCE_S: Final = 1800.0  # for suites of others; then two run at once


class KeptResults(Struct, frozen=True):
    """Files in `cache`, which may be thrown away at any time; trials and the lock in `state`."""

    cache: Path
    state: Path

    def load(self, key: str) -> str | None:
        """The value kept under a key; None for nothing, or nothing that can be read."""
        path = self._folder / f"{key}.gz"
        try:
            text = gzip.decompress(path.read_bytes()).decode()
            os.utime(path)  # used lately
        except (OSError, EOFError, ValueError):
            return None
        return text

    def save(self, key: str, text: str) -> None:
        """Keep a text under a key; a disk that refuses costs only a run of the tests."""
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = self._folder / f".{secrets.token_hex(6)}"
            temporary.write_bytes(gzip.compress(text.encode(), 3))
            temporary.replace(self._folder / f"{key}.gz")
            files = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)
            for path in files[:-_MOST]:
                path.unlink(missing_ok=True)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Held while a suite runs; a caller that waits too long continues without it."""
        with ExitStack() as held:
            for _ in range(int(_PATIENCE_S / _PAUSE_S)):
                try:
                    held.enter_context(hold_when_free(self.state / "suite.lock", wait_s=0.0))
                    break
                except BusyError:
                    await asyncio.sleep(_PAUSE_S)
            yield

    def keep_only(self, trial: str) -> None:
        """Remove the other trials of untouched trees that were kept for the same project."""
        with suppress(OSError, BusyError, TreeError):
            forget_trials(self.state, session_of(trial), but=trial)

    @property
    def _folder(self) -> Path:
        return self.cache / "checks"


class KnownCheck(Struct, frozen=True):
    """One command and its reason; `stands` is its result on the untouched tree, None if it never ran."""

    command: str
    why: str
    stands: Standing | None = None


async def known_checks(root: Path, settings: Settings) -> tuple[KnownCheck, ...]:
    """The checks that settings name, else the one that served best so far, else those that files name."""
    if settings.check:
        origin = settings.origin.get("check", "settings")
        return tuple(KnownCheck(each, f"check, {origin}") for each in settings.check if each != "none")
    kept = KeptResults(settings.cache, settings.state)
    files = await list_files(root)
    known = ecosystems()
    groups = find_candidates(files, read_files(root, choose_clues(files, known)).get, known)
    return tuple(_known(read_choice(kept, root, group), group) for group in groups)


def _known(choice: ChosenCheck | None, group: Sequence[Toolchain]) -> KnownCheck:
    if choice is None or choice.command not in {each.test for each in group}:
        return KnownCheck(group[0].test, group[0].why)
    return KnownCheck(choice.command, choice.why, choice.stands)
