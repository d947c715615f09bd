"""What came of `kith test` as plain data, for faces and for CI."""

from collections.abc import Sequence
from typing import Any

from kith.features.testgen.generate import Told
from kith.features.testgen.mutants import Mutant, show_mutant
from kith.features.testgen.mutation import Mutation
from kith.features.testgen.result import Written
from kith.features.testgen.target import Target


def report(told: Told) -> dict[str, Any]:
    """The session's report, with "tests" for each target or the "score" of the present ones."""
    sources = {target.path: target.source for target in told.targets}
    data = dict(told.result.report) if told.result else {}
    if told.score is not None:
        data["score"] = _score(told.score, told.targets, sources)
    else:
        data["tests"] = [_written(each, sources) for each in told.written]
    return data


def _written(written: Written, sources: dict[str, bytes]) -> dict[str, Any]:
    return {
        "target": written.target,
        "file": written.out,
        "kept": [{"name": name, "first_to_notice": seen} for name, seen in written.kept.items()],
        "dropped": [
            {"name": each.name, "reason": each.reason, "maybe_a_bug": each.suspect}
            for each in written.dropped
        ],
        "faults": {"noticed": len(written.killed), "all": written.mutants, "untried": written.untried},
        "unnoticed": _shown(written.alive, sources),
        "coverage": {"before": written.before, "after": written.after},
        "lines_not_run": list(written.uncovered),
        "notes": list(written.notes),
    }


def _score(score: Mutation, targets: Sequence[Target], sources: dict[str, bytes]) -> dict[str, Any]:
    noticed, unnoticed = len(score.killed), len(score.survived) + len(score.untested)
    return {
        "targets": [target.label for target in targets],
        "faults": {"noticed": noticed, "all": noticed + unnoticed, "untried": len(score.untried)},
        "share": score.share if noticed + unnoticed else None,
        "unnoticed": _shown([*score.survived, *score.untested], sources),
        "not_run": len(score.untested),
    }


def _shown(mutants: Sequence[Mutant], sources: dict[str, bytes]) -> list[dict[str, Any]]:
    return [
        {
            "path": each.path,
            "line": each.line,
            "in": each.within,
            "operator": each.operator,
            "diff": show_mutant(sources[each.path], each),
        }
        for each in mutants
    ]
