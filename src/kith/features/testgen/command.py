"""`kith test`: write tests that prove something, or say what the present ones are worth."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from kith.agent.project import Project
from kith.core.errors import EXIT_DONE, UsageError
from kith.core.event_loop import run_until_signal
from kith.features.testgen.generate import TestgenOutcome, TestgenRequest, generate_tests, score_tests
from kith.features.testgen.judge import TestsWritten
from kith.features.testgen.mutants import Mutant, show_mutant
from kith.features.testgen.mutation import Mutation
from kith.features.testgen.target import CodeUnderTest
from kith.terminal.options import find_root, settings_flags
from kith.terminal.report import print_text
from kith.terminal.terminal import choose_voice
from kith.view.lines import count, wrapped
from kith.view.printing import printable

_SHOWN = 20


def testgen_command(args: argparse.Namespace) -> int:
    """Write tests, or with --score only measure; progress goes to stderr, the result to stdout."""
    root = find_root(args.folder)
    project = Project.open(root, settings_flags(args))
    voice, answerer, asked = choose_voice(not args.json, args.yes)
    do = score_tests if args.score else generate_tests
    with closing(voice):
        told = run_until_signal(do(project, _request(args, root), answerer, [voice.hear]))
    data = report(told)
    if args.json:
        print(json.dumps(data, indent=2))
    else:
        _print(data, asked)
    return told.result.code if told.result else EXIT_DONE


def _request(args: argparse.Namespace, root: Path) -> TestgenRequest:
    """Raises UsageError for what cannot be meant together."""
    if args.diff and args.target:
        raise UsageError("--diff tests what is not committed; leave the target out.")
    path, colon, name = (args.target or "").partition(":")
    target = f"{_inside(args.folder, path, root)}{colon}{name}" if path else ""
    out = _inside(args.folder, args.out, root) if args.out else ""
    bounds = TestgenRequest().bounds
    bounds = type(bounds)(args.max_mutants or bounds.mutants, args.time or bounds.seconds, args.existing)
    return TestgenRequest(target, out, bounds)


def _inside(folder: str, path: str, root: Path) -> str:
    """A path as typed, from the project's top folder. Raises UsageError for one outside."""
    full = os.path.normpath(Path(folder).resolve() / path)
    if not Path(full).is_relative_to(root):
        raise UsageError(f"{path} is outside the project in {root}.")
    return Path(full).relative_to(root).as_posix()


def _print(data: dict[str, Any], asked: bool) -> None:
    """The session as any other, after what the tests are worth."""
    lines = [line for each in data.get("tests", ()) for line in tests_lines(each)]
    if "score" in data:
        lines = [*_score_lines(data["score"])]
    stream = sys.stdout if "score" in data else sys.stderr
    print(wrapped(printable("\n".join(lines)), stream), file=stream)
    print_text(data, asked)


def tests_lines(data: dict[str, Any]) -> Iterator[str]:
    """The tests for one target: what was kept, what was not and why, and what they notice."""
    yield f"{data['target']}: {count(len(data['kept']), 'test')} kept in {data['file']}"
    yield from (f"  + {each['name'] or data['file']}" for each in data["kept"])
    for each in data["dropped"]:
        bug = ": maybe a bug of the code" if each["maybe_a_bug"] else ""
        yield f"  - {each['name'] or data['file']}: {each['reason'].rstrip(':')}{bug}"
    yield from _faults_lines(data["faults"], data["unnoticed"])
    before, after = data["coverage"]["before"], data["coverage"]["after"]
    if after is not None:
        yield f"  lines run: {'none' if before is None else f'{before:.0%}'} before, {after:.0%} now"
    if data["lines_not_run"]:
        yield f"  not run: line {', '.join(map(str, data['lines_not_run'][:_SHOWN]))}"
    yield from (f"  {note}" for note in data["notes"])


def _score_lines(data: dict[str, Any]) -> Iterator[str]:
    yield ", ".join(data["targets"])
    if data["share"] is None:
        yield "  nothing was measured: the present tests do not pass, or there is no fault to plant"
    yield from _faults_lines(data["faults"], data["unnoticed"])


def _faults_lines(faults: dict[str, int], unnoticed: Sequence[dict[str, Any]]) -> Iterator[str]:
    if faults["all"]:
        untried = f", {faults['untried']} not tried for want of time" if faults["untried"] else ""
        yield f"  planted faults noticed: {faults['noticed']} of {faults['all']}{untried}"
    for each in unnoticed[:_SHOWN]:
        yield "    " + each["diff"].replace("\n", "\n      ")
    if len(unnoticed) > _SHOWN:
        yield f"    and {len(unnoticed) - _SHOWN} more (--json has them all)"


# --- the report as data ----------------------------------------------------------------------


def report(told: TestgenOutcome) -> dict[str, Any]:
    """The session's report, with "tests" for each target or the "score" of the present ones."""
    sources = {target.path: target.source for target in told.targets}
    data = dict(told.result.report) if told.result else {}
    if told.score is not None:
        data["score"] = _score_data(told.score, told.targets, sources)
    else:
        data["tests"] = [_written_data(each, sources) for each in told.written]
    return data


def _written_data(written: TestsWritten, sources: dict[str, bytes]) -> dict[str, Any]:
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


def _score_data(
    score: Mutation, targets: Sequence[CodeUnderTest], sources: dict[str, bytes]
) -> dict[str, Any]:
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
