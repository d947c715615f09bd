"""Tell two changes apart by one test that a member writes: it passes with one and fails with the other."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from kith.core.errors import KithError
from kith.core.run import Run
from kith.core.values import Changes, Ran
from kith.core.workspace import ShellCommand
from kith.edits.hunks import unified_diff
from kith.features.confer.checks import CALM, LIMITS, NO_SANDBOX, fails_as_test
from kith.features.confer.members import Council, ask
from kith.features.confer.messages import Discriminator, read_discriminator, to_discriminate

THREAD: Final = "test"


class Told(Struct, frozen=True):
    """Label of the change with which the test passes ("" where no test tells), and the reason."""

    passes: str
    why: str


async def discriminate(run: Run, council: Council, author: str, changes: Mapping[str, Changes]) -> Told:
    """Let a member write one test, and run it with each change in a trial of its own."""
    if not run.workspace.confined:
        return Told("", NO_SANDBOX)
    diffs = {label: "".join(map(unified_diff, each)) for label, each in changes.items()}
    letter, room = to_discriminate(council.facts, diffs), council.ledger.left("check")
    try:
        member, thread = council.members[author], council.thread(THREAD)
        test = await ask(run, member, thread, letter, room, read_discriminator)
        if test is None:
            return Told("", "the council's tokens are spent")
        return _compare(test, {label: await _try(run, test, each) for label, each in changes.items()})
    except KithError as error:
        return Told("", str(error).rstrip("."))


async def _try(run: Run, test: Discriminator, changes: Changes) -> Ran:
    """Run the test with one change. Raises KithError for a path that is there already."""
    async with run.workspace.trial() as trial:
        await trial.apply(changes)
        if test.path in await trial.files():
            raise KithError(f"its file {test.path} is there already")
        await trial.write(test.path, test.text.encode())
        return await trial.exec(ShellCommand(test.command, env=CALM), LIMITS)


def _compare(test: Discriminator, ran: Mapping[str, Ran]) -> Told:
    passed = [label for label, each in ran.items() if each.code == 0]
    failed = [label for label, each in ran.items() if fails_as_test(each)]
    if len(passed) == len(failed) == 1:
        return Told(passed[0], f"`{test.command}` passes with {passed[0]} and fails with {failed[0]}")
    how = ", ".join(f"exit code {each.code} with {label}" for label, each in ran.items())
    return Told("", f"`{test.command}` does not tell: {how}")
