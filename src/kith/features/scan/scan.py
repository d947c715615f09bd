"""The scan of a codebase: what its files, its history and its own tools tell, as one report."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from kith.context.layout import show_layout
from kith.context.tokens import Tokens, tokenise
from kith.core.events import Progress
from kith.core.run import Run
from kith.features.scan.assemble import (
    count_copied,
    find_matches,
    find_ways_in,
    link_modules,
    measure_functions,
    measure_languages,
    measure_size,
)
from kith.features.scan.checks import Patience, find_commands, find_coverage, lint, read_all
from kith.features.scan.duplicates import LEAST_TOKENS, Match, refine
from kith.features.scan.history import find_history
from kith.features.scan.links import find_links
from kith.features.scan.notes import Notes
from kith.features.scan.report import Copied, Report, Survey

_LAYOUT: Final = 120  # tokens of the layout: about twelve lines


async def scan(run: Run, survey: Survey, notes: Notes, head: str, folder: str, patience: Patience) -> Report:
    """Tell what the files of a survey are; `folder` is the part it is of, `head` the commit checked out.

    Nothing is written to the tree. Linters run in a trial; git runs confined or not at all.
    """
    facts = survey.facts
    report = Report(run.workspace.root.name, folder, measure_size(survey))
    if not facts:
        return report
    run.emit(Progress("putting it together", 0))
    copied, longest = count_copied(find_matches(survey))
    report = replace(
        report,
        languages=measure_languages(facts),
        layout=show_layout(list(facts), _LAYOUT),
        entries=find_ways_in(facts),
        toolchains=await find_commands(run, survey.files),
        covered=await find_coverage(run, survey.files),
        modules=link_modules(facts, find_links(survey, notes, folder)),
        functions=measure_functions(facts),
        copied=await _look_closer(run, copied, longest),
    )
    run.emit(Progress("reading the history", 0))
    history = await find_history(run, notes, head, facts)
    return replace(report, history=history, linted=await lint(run, notes, survey, folder, patience))


async def _look_closer(run: Run, copied: Copied, matches: Sequence[Match]) -> Copied:
    """The longest duplicates, at their full length: fingerprints end a little early."""
    paths = {place.path for each in matches for place in (each.duplicate.place, each.duplicate.other)}
    tokens = {
        path: tokenise(path, _text(content)) for path, content in (await read_all(run, sorted(paths))).items()
    }
    there = [each for each in matches if _is_there(each, tokens)]
    return replace(copied, longest=refine(there, tokens, LEAST_TOKENS))


def _is_there(match: Match, tokens: Mapping[str, Tokens]) -> bool:
    """Whether both files still hold what they held when they were looked at."""
    found, length = match.duplicate, match.duplicate.tokens
    if found.place.path not in tokens or found.other.path not in tokens:
        return False
    mine, theirs = tokens[found.place.path].ids, tokens[found.other.path].ids
    run = mine[match.at : match.at + length]
    return len(run) == length and run == theirs[match.other_at : match.other_at + length]


def _text(content: bytes) -> str:
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n")
