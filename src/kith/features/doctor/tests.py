"""Which command checks this project's changes, and how the untouched tree stood with it."""

from pathlib import Path

from kith.agent.checks import KnownCheck, known_checks
from kith.features.doctor.check import Check
from kith.settings import Settings

NAME = "tests"


async def look_for_checks(root: Path, settings: Settings) -> tuple[Check, ...]:
    """One line for each check, or that there is none."""
    if settings.check == ("none",):
        return (Check(NAME, "green", "Nothing is checked here (check = none)."),)
    known = await known_checks(root, settings)
    if not known:
        text = "kith found no tests in this folder; changes will be unproven."
        return (Check(NAME, "yellow", text, "kith run --check CMD, or `check` in the configuration"),)
    return tuple(_check(each) for each in known)


def _check(known: KnownCheck) -> Check:
    stands = known.stands
    if stands is None:
        return Check(NAME, "green", f"Changes are checked with `{known.command}` ({known.why}).")
    failed = f", {stands.failed:,} fail without any change" if stands.failed else ""
    text = (
        f"Changes are checked with `{known.command}`: {stands.passed:,} pass{failed}, {stands.seconds:.0f} s."
    )
    return Check(NAME, "green", text)
