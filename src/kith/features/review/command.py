"""`kith review` and `/review`: findings for people, as JSON or as SARIF, and an exit code by severity."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from kith import __version__
from kith.agent.project import Project
from kith.core.codec import encode
from kith.core.errors import EXIT_DONE, EXIT_FAILED, UsageError
from kith.core.event_loop import run_until_signal
from kith.core.events import Event, Reviewed
from kith.core.values import Finding
from kith.edits.rows import decode, hunk_between, split_keys
from kith.features.review.changed_files import ReviewRequest, Sheets, find_in_diff, make_sheets
from kith.features.review.review import FinishedReview, run_review
from kith.terminal.options import find_root, settings_flags
from kith.terminal.report import print_waiting
from kith.terminal.streams import read_input, write_output
from kith.terminal.terminal import PlainVoice, TerminalVoice, yes_to_changes
from kith.view.lines import count, paragraph
from kith.view.printing import printable

# Findings in the form that code hosts and editors read: SARIF 2.1.0.

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def find_fingerprints(findings: Sequence[Finding], rows: Mapping[str, Sequence[str]]) -> list[str]:
    """A name for each finding that later commits leave as it is: path, rule and the text of its line.

    The words are no part of it: a model says the same in other words. A second finding of the same rule on
    such a line counts up.
    """
    seen, found = Counter[tuple[str, str, str]](), list[str]()
    for each in findings:
        there = rows.get(each.path, ())
        text = " ".join(there[each.line - 1].split()) if 0 < each.line <= len(there) else ""
        key = (each.path, each.rule, text)
        named = "\0".join((*key, str(seen[key])))
        found.append(sha256(named.encode("utf-8", "surrogateescape")).hexdigest()[:16])
        seen[key] += 1
    return found


def as_sarif(
    findings: Sequence[Finding], successful: bool, rows: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """One run of kith, with a result for each finding; paths are relative to the project's root.

    `rows` are the lines of each file's new side.
    """
    rules = [{"id": id} for id in dict.fromkeys(map(_rule, findings))]
    driver = {"name": "kith", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": successful}],
        "columnKind": "unicodeCodePoints",
        "results": [*map(_result, findings, find_fingerprints(findings, rows))],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(finding: Finding) -> str:
    return printable(f"{finding.by}/{finding.rule}")


def _result(finding: Finding, fingerprint: str) -> dict[str, Any]:
    region = {"startLine": finding.line, "endLine": max(finding.line, finding.end)}
    place = {"physicalLocation": {"artifactLocation": _file(finding), "region": region}}
    result = {
        "ruleId": _rule(finding),
        "level": finding.severity,
        "message": {"text": printable(finding.text)},
        "locations": [place],
        "partialFingerprints": {"kithFinding/v1": fingerprint},
    }
    return result | ({"fixes": [_fix(finding)]} if finding.replacement is not None else {})


def _file(finding: Finding) -> dict[str, str]:
    return {"uri": quote(finding.path, errors="surrogateescape")}


def _fix(finding: Finding) -> dict[str, Any]:
    """Whole lines: from the first column of the first to the first column of the line after the last."""
    after = max(finding.line, finding.end) + 1
    region = {"startLine": finding.line, "startColumn": 1, "endLine": after, "endColumn": 1}
    replaced = {"deletedRegion": region, "insertedContent": {"text": f"{finding.replacement}\n"}}
    return {
        "description": {"text": "Suggested replacement."},
        "artifactChanges": [{"artifactLocation": _file(finding), "replacements": [replaced]}],
    }


SEVERITIES: Final = ("error", "warning", "note")
_INDENT: Final = 18  # columns before the words of a finding
_PATCH_LIMIT: Final = 20_000_000  # bytes


def review_command(args: argparse.Namespace) -> int:
    """Review a change and print what is wrong with it on stdout; progress goes to stderr."""
    wish = _wish(args)
    project = Project.open(find_root(args.folder), settings_flags(args))
    plain = args.json or args.sarif
    voice = TerminalVoice() if sys.stderr.isatty() and not plain else PlainVoice()
    interactive = sys.stdin.isatty() and sys.stderr.isatty() and not plain and args.patch != "-"
    answerer = voice.answer if interactive else PlainVoice().answer

    def hear(event: Event, path: tuple[str, ...]) -> None:
        if not isinstance(event, Reviewed):  # that is what stdout is for
            voice.hear(event, path)

    with closing(voice):
        told = run_until_signal(
            run_review(
                project,
                wish,
                yes_to_changes(answerer) if args.yes else answerer,
                [hear],
                model=not args.no_model,
                second_look=args.second_look,
                apply=args.apply,
            )
        )
    _save(told, args)
    _print(told, args)
    return exit_code(told, args.fail_on)


def _save(told: FinishedReview, args: argparse.Namespace) -> None:
    """Write the review into the files that were asked for, beside what is printed."""
    shown = told.review.findings[: args.max]
    for path, make in ((args.save_json, _json_text), (args.save_sarif, _sarif_text)):
        if path:
            write_output(Path(path), f"{make(told, shown)}\n")


def _json_text(told: FinishedReview, shown: Sequence[Finding]) -> str:
    return json.dumps(as_json(told, shown), indent=2)


def _sarif_text(told: FinishedReview, shown: Sequence[Finding]) -> str:
    return json.dumps(as_sarif(shown, told.result.code == EXIT_DONE, _rows(told)), indent=2)


def exit_code(told: FinishedReview, fail_on: str) -> int:
    """Return a failed run's own code; else 1 for remaining findings of this severity or worse."""
    if told.result.code != EXIT_DONE:
        return told.result.code
    bad = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on in SEVERITIES else ()
    return EXIT_FAILED if any(each.severity in bad for each in told.left) else EXIT_DONE


def _wish(args: argparse.Namespace) -> ReviewRequest:
    """Read the request from the options. Raises UsageError when they contradict each other."""
    given = [args.staged, bool(args.branch), bool(args.revision), args.patch is not None]
    if sum(given) > 1:
        raise UsageError("Use only one of --staged, --branch, --patch or a commit.")
    if args.yes and not args.apply:
        raise UsageError("--yes works only with --apply.")
    if args.patch is None:
        return ReviewRequest(args.staged, args.branch or "", args.revision or "")
    name = "the diff on standard input" if args.patch == "-" else args.patch
    return ReviewRequest(patch=_read_patch(args.patch, name), patch_name=name)


def _read_patch(path: str, name: str) -> str:
    data = read_input(path, name, _PATCH_LIMIT)
    if not data.strip():
        raise UsageError(f"{name} is empty.")
    return decode(data)


def _print(told: FinishedReview, args: argparse.Namespace) -> None:
    shown = told.review.findings[: args.max]
    if args.sarif:
        print(_sarif_text(told, shown))
    elif args.json:
        print(_json_text(told, shown))
    else:
        _print_text(told, shown, args.apply)


def as_json(told: FinishedReview, shown: Sequence[Finding]) -> dict[str, Any]:
    """A review as plain data: `diff` is what a finding suggests, `place` where the diff has its line."""
    rows, report, review = _rows(told), told.result.report, told.review
    sheets = make_sheets(told.subject.changes)
    fingerprints = find_fingerprints(shown, rows)
    return {
        "status": report["status"],
        "text": report["text"],
        "waiting": report["waiting"],
        "session": report["session"],
        "reviewed": told.subject.words,
        "base": told.subject.base,
        "head": told.subject.head,
        "files": [change.path for change in told.subject.changes],
        "not_reviewed": list(told.subject.left_out),
        "findings": [
            encode(each)
            | {"diff": _diff(each, rows), "fingerprint": fingerprint, "place": _place(each, sheets)}
            for each, fingerprint in zip(shown, fingerprints, strict=True)
        ],
        "counts": {severity: _number(told, severity) for severity in SEVERITIES},
        "thrown_out": encode(review.thrown_out),
        "parts": {"all": review.parts, "unanswered": review.unanswered},
        "applied": report["applied"],
        "usage": report["usage"],
        "model": report["model"] if review.parts else "",
    }


def _place(finding: Finding, sheets: Sheets) -> dict[str, Any] | None:
    sheet = sheets.get(finding.path)
    place = find_in_diff(sheet, finding.line) if sheet else None
    return encode(place) if place else None


def _number(told: FinishedReview, severity: str) -> int:
    return sum(each.severity == severity for each in told.review.findings)


def _rows(told: FinishedReview) -> dict[str, list[str]]:
    """The lines of each file's new side."""
    return {change.path: split_keys(decode(change.after or b"")) for change in told.subject.changes}


def _diff(finding: Finding, rows: Mapping[str, Sequence[str]]) -> str:
    """The suggestion as the lines of a diff, "" where there is none."""
    if finding.replacement is None:
        return ""
    old = rows[finding.path][finding.line - 1 : max(finding.line, finding.end)]
    return "\n".join(hunk_between(old, split_keys(finding.replacement)).lines)


# --- text ------------------------------------------------------------------------------------


def _print_text(told: FinishedReview, shown: Sequence[Finding], applying: bool) -> None:
    for line in review_lines(told, shown):
        print(line)
    if told.result.code != EXIT_DONE:
        print(f"kith: {printable(told.result.report['text'])}", file=sys.stderr)
    print_waiting(told.result.report)
    if (offered := offered_in(shown)) and not applying:
        print(f"{count(offered, 'suggestion')} to apply: add --apply.", file=sys.stderr)


def offered_in(findings: Sequence[Finding]) -> int:
    """Count the findings with a suggested replacement."""
    return sum(each.replacement is not None for each in findings)


def review_lines(told: FinishedReview, shown: Sequence[Finding]) -> Iterator[str]:
    """Findings below their files, then what there is to say of them all; all of it printable."""
    rows = _rows(told)
    by_file = sorted(shown, key=lambda each: (each.path, each.line))
    for path, findings in groupby(by_file, key=lambda each: each.path):
        yield printable(path)
        for finding in findings:
            yield from _lines(finding, rows)
        yield ""
    if left := len(told.review.findings) - len(shown):
        yield f"and {count(left, 'more finding')}"
    for line in _summary(told):
        yield from paragraph(printable(line), "", "  ")


def _lines(finding: Finding, rows: Mapping[str, Sequence[str]]) -> Iterator[str]:
    head = f"{finding.line:>7}  {finding.severity:7}  "
    rule = "" if finding.rule in ("review", finding.by) else f" {finding.rule}"
    words = printable(f"{finding.text} ({finding.by}{rule})")
    yield from paragraph(words, head, " " * _INDENT)
    for line in filter(None, _diff(finding, rows).split("\n")):
        yield " " * _INDENT + printable(line.expandtabs(4))


def _summary(told: FinishedReview) -> Iterator[str]:
    """Summarise the findings, the rejected claims, and the parts that were not reviewed."""
    review, number = told.review, len(told.review.findings)
    kinds = [count(found, severity) for severity in SEVERITIES if (found := _number(told, severity))]
    files = count(len(told.subject.changes), "file")
    if number:
        yield f"{count(number, 'finding')} in {files}: {', '.join(kinds)}."
    elif told.subject.changes and told.result.code == EXIT_DONE:
        yield f"Nothing found in {told.subject.words} ({files})."
    if review.thrown_out:
        reasons = Counter(each.reason for each in review.thrown_out).most_common()
        claims = count(len(review.thrown_out), "claim")
        yield f"{claims} of the model rejected: {'; '.join(f'{n} {why}' for why, n in reasons)}."
    if 0 < review.unanswered < review.parts:
        parts = f"{review.unanswered} of {count(review.parts, 'part')}"
        yield f"The model did not review {parts}: {review.trouble}"
    if told.subject.left_out:
        yield f"Not reviewed: {', '.join(told.subject.left_out)}."
    if told.result.report["text"] and told.result.code == EXIT_DONE:
        yield told.result.report["text"]
