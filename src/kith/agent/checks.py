"""The checks that judge a project's changes, and how the untouched tree stood with them last."""

from dataclasses import dataclass
from pathlib import Path

from kith.agent.kept_results import KeptResults
from kith.core.evidence import Standing
from kith.gates.evidence.bench import read_choice
from kith.gates.toolchains import choose_clues, find_toolchains
from kith.settings import Settings
from kith.trees.bulk import read_files
from kith.trees.listing import list_files


@dataclass(frozen=True, slots=True)
class KnownCheck:
    """One command and why it was chosen; `stands` is how the untouched tree stood, None if it never ran."""

    command: str
    why: str
    stands: Standing | None = None


async def known_checks(root: Path, settings: Settings) -> tuple[KnownCheck, ...]:
    """The checks that settings name, else the one that served best so far, else those that files name."""
    if settings.check:
        origin = settings.origin.get("check", "settings")
        return tuple(KnownCheck(each, f"check, {origin}") for each in settings.check if each != "none")
    choice = read_choice(KeptResults(settings.cache, settings.state), root)
    if choice:
        return (KnownCheck(choice.command, choice.why, choice.stands),)
    files = await list_files(root)
    found = find_toolchains(files, read_files(root, choose_clues(files)).get)
    return tuple(KnownCheck(each.test, each.why) for each in found)
