"""Check a member's claims by tools, in a throw-away copy of the tree."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal

from msgspec import Struct

from kith.core.errors import TreeError
from kith.core.run import Run
from kith.core.values import Ran
from kith.core.workspace import ExecLimits, ShellCommand
from kith.features.confer.council_rules import Proposal
from kith.features.confer.messages import Objection
from kith.features.review.evidence import find_quote

LIMITS: Final = ExecLimits(seconds=60.0, output=20_000, processes=256, file_size=16 << 20)
NO_SANDBOX: Final = "commands of models are run in a sandbox only, and there is none here"
_PLACE: Final = re.compile(r"^(.+?):(\d+)(?:[-:,].*)?$")
_WORD: Final = re.compile(r"[A-Za-z_][\w-]{2,}")
CALM: Final = {"PYTHONDONTWRITEBYTECODE": "1"}  # or a look would leave files behind, as if it had written
_NOT_RUN: Final = (124, 126, 127)  # timed out, not executable, not found
_SHORTEST: Final = 3  # characters of an output that proves anything
# How a test runner says that it failed to run any test, which is no failing test.
_NOTHING_RAN: Final = re.compile(
    r"no tests ran|collected 0 items|Ran 0 tests|Failed to import test module|errors? during collection"
    r"|file or directory not found|No module named (?:pytest|unittest)|no tests to run",
    re.I,
)
_FAILED_TESTS: Final = re.compile(r"^(?:FAIL|FAILED|ERROR|not ok)\b|--- FAIL:|tests? failed|failures=", re.M)
_FAILED_ASSERTION: Final = re.compile(f"{_FAILED_TESTS.pattern}|AssertionError", re.M)


class Checked(Struct, frozen=True):
    """The result of checking a claim, and its reason."""

    result: Literal["confirmed", "refuted", "unchecked"]
    why: str


Check = Callable[[Objection], Awaitable[Checked]]


def confirmed(why: str) -> Checked:
    return Checked("confirmed", why)


def refuted(why: str) -> Checked:
    return Checked("refuted", why)


def unchecked(why: str) -> Checked:
    return Checked("unchecked", why)


async def check_objection(run: Run, objection: Objection) -> Checked:
    """Check the evidence of a claim in the tree of `run.workspace`.

    A command runs in a trial, in the sandbox and its limits; one that writes to the project proves nothing.
    """
    try:
        if objection.command:
            return await _check_command(run, objection.command, objection.ends, objection.shows)
        if objection.place:
            return await _check_place(run, objection)
    except TreeError as error:
        return unchecked(str(error))
    return unchecked("there is no evidence")


async def check_probe(run: Run, proposal: Proposal) -> Checked:
    """Check if a proposal's own command ends as its author predicts."""
    if not proposal.probe or not proposal.ends:
        return unchecked("it says of no command how that ends")
    try:
        return await _check_command(run, proposal.probe, proposal.ends, "", any_failure=True)
    except TreeError as error:
        return unchecked(str(error))


# --- places ----------------------------------------------------------------------------------


async def _check_place(run: Run, objection: Objection) -> Checked:
    found = _PLACE.match(objection.place.strip())
    path = found[1] if found else objection.place.strip()
    line = int(found[2]) if found else 0
    try:
        text = (await run.workspace.read(path.removeprefix("./"))).decode("utf-8", "replace")
    except TreeError as error:
        return refuted(str(error))
    return check_quote(objection.quote, text.split("\n"), path, line)


def check_quote(quote: str, rows: Sequence[str], path: str, line: int) -> Checked:
    """Check a quote against a line of a file (by its `rows`)."""
    if not quote.strip():
        return unchecked("it quotes nothing")
    if line > len(rows):
        return refuted(f"{path} has {len(rows)} lines")
    place = find_quote(quote, rows, line)
    if isinstance(place, str):
        return refuted(f"it {place}")
    return confirmed(f"{path}:{place.start} says so")


# --- commands --------------------------------------------------------------------------------


async def _check_command(
    run: Run, command: str, ends: str, shows: str, *, any_failure: bool = False
) -> Checked:
    """Run a command and hold what it did against what was said. `any_failure`: why it fails is no matter."""
    if not run.workspace.confined:
        return unchecked(NO_SANDBOX)
    if not ends and not shows:
        return unchecked("it does not say how its command ends")
    if not _looks_at(command, await run.workspace.files()):
        return unchecked("its command looks at nothing of this project")
    if shows and (len(shows.strip()) < _SHORTEST or shows.strip() in command):
        return unchecked("what it wants to see stands in the command itself")
    async with run.workspace.trial() as trial:
        ran = await trial.exec(ShellCommand(command, env=CALM), LIMITS)
        written = [change.path for change in await trial.changes()]
    if written:
        return unchecked(f"its command writes to {written[0]}, which proves nothing")
    if ran.timed_out or ran.code in _NOT_RUN:
        return unchecked("its command took too long" if ran.timed_out else "its command cannot be run here")
    return _hold_against(ran, ends, shows.strip(), any_failure)


def _hold_against(ran: Ran, ends: str, shows: str, any_failure: bool) -> Checked:
    how = f"`{ran.command}` ends with exit code {ran.code}"
    if ends == "fails" and ran.code and not shows:
        if _NOTHING_RAN.search(ran.output):
            return unchecked(f"{how}, but no test ran")
        if not any_failure and not _FAILED_TESTS.search(ran.output):
            return unchecked(f"{how}, and it does not say what that shows")
    if ends and (ran.code == 0) != (ends == "passes"):
        return refuted(how)
    if shows and shows not in ran.output:
        return refuted(f"{how} and shows nothing of the kind")
    return confirmed(f"{how} and shows it" if shows else how)


def fails_as_test(ran: Ran) -> bool:
    """True if a command ran tests and one failed; not if it could not run."""
    ended = bool(ran.code) and not ran.timed_out and ran.code not in _NOT_RUN
    return ended and not _NOTHING_RAN.search(ran.output) and bool(_FAILED_ASSERTION.search(ran.output))


def _looks_at(command: str, files: Sequence[str]) -> bool:
    """True if a command names a part of the project: a file, folder or module, or runs its tests."""
    known = {"pytest", "unittest", "ctest"}
    for path in files:
        parts = path.split("/")
        known.update(parts[:-1])
        known.update((parts[-1], parts[-1].partition(".")[0]))
    words = set(_WORD.findall(command)) | set(re.split(r"[\s'\"=:;|&()]+", command))
    return bool(words & known) or bool(
        re.search(r"\b(?:cargo|go|npm|make|ninja)\s+(?:\w+\s+)?test\b", command)
    )
