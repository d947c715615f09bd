"""Put a run's branch into the repository of its batch, and open a pull request where that is wanted."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kith.core.errors import KithError
from kith.features.fleet import publications
from kith.features.fleet.checkout import mirror_of, take_bundle
from kith.features.fleet.job import Machine, own_folder
from kith.features.fleet.publications import Publication
from kith.features.fleet.pull_requests import body_of, title_of
from kith.features.forges.client import LimitedError, PullRequest, RefusedError
from kith.features.forges.remote import find_heads, push_commit

_LONGEST_PAUSE_S: Final = 600.0
_SHORTEST_PAUSE_S: Final = 5.0


class _LaterError(KithError):
    """Nothing failed, but it is not this publication's turn yet."""

    def __init__(self, pause_s: float) -> None:
        super().__init__("")
        self.pause_s = pause_s


async def publish(machine: Machine, run: int) -> None:
    """Do the next try at a publication, and write down its end. Never raises for what befalls it."""
    fleet = machine.fleet
    publication = await fleet.within(
        lambda database: publications.begin(database, run, machine.settings.limits)
    )
    if publication is None:
        return
    try:
        url = await _publish(machine, publication)
    except _LaterError as later:
        await _postpone(machine, publication, "", later.pause_s, failed=False)
    except LimitedError as error:
        await _postpone(machine, publication, str(error), error.after_s, failed=False)
    except (KithError, OSError) as error:
        why, tries = str(error).rstrip("."), publication.tries
        if tries < machine.settings.attempts and not isinstance(error, RefusedError):
            pause_s = min(_LONGEST_PAUSE_S, _SHORTEST_PAUSE_S * 4 ** (tries - 1))
            await _postpone(machine, publication, why, pause_s, failed=True)
        else:
            why += f" (tries: {tries})"
            await fleet.within(lambda database: publications.fail(database, publication, why))
    else:
        if url is not None:
            await fleet.within(lambda database: publications.finish(database, publication, url))


async def _postpone(
    machine: Machine, publication: Publication, why: str, pause_s: float, *, failed: bool
) -> None:
    await machine.fleet.within(
        lambda database: publications.postpone(database, publication, why, pause_s, failed=failed)
    )


async def _publish(machine: Machine, publication: Publication) -> str | None:
    """Push, and open the pull request: its URL, "" without one. None where the run was tried again."""
    async with own_folder(machine, publication.name) as place:
        base = await _push(machine, publication, place)
        if base is None:
            return None
        if not machine.forge or not machine.forge.project(publication.target):
            return ""
        pause_s = await machine.fleet.within(lambda database: publications.take_turn(database, publication))
        if pause_s:
            raise _LaterError(pause_s)
        report = await _receipt(machine, publication, place)
        title, body = title_of(publication), body_of(publication, report)
        request = PullRequest(title, body, publication.branch, base)
        return await machine.forge.open(publication.target, request)


async def _push(machine: Machine, publication: Publication, place: Path) -> str | None:
    """Push the branch; the branch that it is for. None where the run was tried again.

    It reads the repository's branch first, then the fence. The push expects the branch as it was read, so
    a worker that wakes up late replaces nothing that is newer.
    """
    mirrors, bundle, branch = machine.folder / "mirrors", place / "bundle", publication.branch
    target, task = publication.target, publication.task
    await asyncio.to_thread(machine.store.get, publication.bundle, bundle)
    commit = await take_bundle(mirrors, task.repository, publication.base, bundle, branch)
    secret = machine.forge.git_secret(target) if machine.forge else ("", "")
    default, heads = await find_heads(target, (branch, task.revision), secret)
    known = await machine.fleet.within(lambda database: publications.intend(database, publication, commit))
    if known is None:
        return None
    there = heads.get(branch, "")
    if there and there not in known:
        raise RefusedError(f"the branch {branch} has commits that are not kith's")
    if there != commit:
        store = mirror_of(mirrors, task.repository)
        await push_commit(store, target, commit, branch, there, secret)
    return task.revision if task.revision in heads else default


async def _receipt(machine: Machine, publication: Publication, place: Path) -> Mapping[str, Any]:
    if not publication.receipt:
        return {}
    await asyncio.to_thread(machine.store.get, publication.receipt, place / "receipt")
    report: dict[str, Any] = json.loads((place / "receipt").read_bytes())
    return report
