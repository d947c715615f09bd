"""`kith run`: one task from the first word to the exit code, as text, JSON or a stream of events."""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from typing import Any

from kith.app.filling import Explained, explain_task
from kith.app.models import end_of
from kith.app.project import Project
from kith.app.tasks import Task, run_task
from kith.core.codec import encode
from kith.core.errors import EXIT_DONE, KithError, UnrecordedError
from kith.core.events import Applied, Event
from kith.core.loops import run_loop
from kith.core.money import dollars
from kith.core.run import new_id
from kith.faces.arguments import settings_flags
from kith.faces.evidence_text import evidence_lines, read_evidence
from kith.faces.folder import find_root
from kith.faces.lines import count, wrapped
from kith.faces.printing import printable
from kith.faces.signals import run_until_signal
from kith.faces.task_input import read_task
from kith.faces.terminal import choose_voice
from kith.faces.waiting import print_waiting
from kith.memory.past import fold
from kith.memory.receipt import describe_run

UNFINISHED = ("limit", "unavailable")  # what ended so can be gone on with
ALL = 0.995  # a share that is shown as "all"


def run_command(args: argparse.Namespace) -> int:
    """Do one task and print its result on stdout; progress goes to stderr."""
    root = find_root(args.folder)
    task = read_task(args, root)
    project = Project.open(root, settings_flags(args))
    if args.explain_prompt:
        print_costs(run_loop(explain_task(project, task)), args.output_format)
        return EXIT_DONE
    format = args.output_format
    voice, answerer, asked = choose_voice(format == "text", args.yes)
    wanted = Task(task, plan=args.plan, resume=args.resume or "")
    listeners = [voice.hear] if format != "stream-json" else [print_event]
    id = project.log.find(wanted.resume) if wanted.resume else new_id()
    try:
        result = run_until_signal(run_task(project, wanted, answerer, listeners, id))
    except (SystemExit, KeyboardInterrupt):
        report = project.report(id)
        if format == "json":
            print(json.dumps(report, indent=2))
        elif format == "text":
            print_waiting(report)
        raise
    finally:
        voice.close()
    if format == "json":
        print(json.dumps(result.report, indent=2))
    elif format == "text":
        again = f"kith run --resume {id}" if result.report["status"] in UNFINISHED else ""
        print_text(result.report, asked=asked, again=again)
    return result.code


def print_costs(explained: Explained, format: str) -> None:
    """What each part of the prompt costs, and how much of the window it takes."""
    total, window = sum(cost.tokens for cost in explained.costs), explained.window
    if format != "text":
        print(json.dumps({**encode(explained), "total": total}, indent=2))
        return
    width = max(len(cost.part) for cost in explained.costs)
    for cost in explained.costs:
        share = f"{cost.tokens / window:6.1%}" if window else ""
        print(f"{cost.part:{width}}  {cost.tokens:>7,}  {share}".rstrip())
    share = f"{total / window:6.1%} of a window of {window:,}" if window else "window unknown"
    print(f"{'together':{width}}  {total:>7,}  {share}")
    how = "counted by the server" if explained.exact else "estimated"
    print(printable(f"\nTokens, {how}, for {explained.model or 'no model'}."))


def print_failure(error: KithError, format: str) -> None:
    """An error that came before there was a session, in the shape of any other end."""
    applied = [Applied(error.change_id, error.files)] if isinstance(error, UnrecordedError) else []
    events: list[Event] = [*applied, end_of(error)]
    if format == "stream-json":
        for event in events:
            print_event(event, ())
    else:
        print(json.dumps(describe_run("", fold(events)), indent=2))


def print_event(event: Event, path: tuple[str, ...]) -> None:
    """One event as one line of JSON."""
    line = {"event": type(event).__name__, "path": list(path), **encode(event)}
    print(json.dumps(line), flush=True)


def print_text(report: dict[str, Any], asked: bool, again: str = "") -> None:
    """The answer on stdout; a diff that nobody could be asked about is printed there too.

    `again` is the command that goes on with it.
    """
    text = report["text"]
    if report["status"] == "rejected" and report["changes"] and not asked:
        print("".join(change["diff"] for change in report["changes"]), end="")
        text = "Nothing was applied, since nobody could be asked; --yes applies."
    if text and report["status"] == "done":
        print_words(text)
    elif text:
        print(wrapped(f"kith: {text}", sys.stderr), file=sys.stderr)
    print_waiting(report)
    if again and report["usage"]["calls"]:
        print(f"To go on: {again}", file=sys.stderr)
    if report["changes"] or report["usage"]["calls"]:
        print_receipt(report)


def print_words(text: str) -> None:
    """A model's words: drawn as the Markdown they are on a terminal, and as they came elsewhere."""
    from kith.faces.rendering.look import Look
    from kith.faces.rendering.markdown import READABLE, render_markdown

    look = Look.choose()
    if look.is_plain:
        print(wrapped(text, sys.stdout))
    else:
        width = min(shutil.get_terminal_size().columns, READABLE)
        print(look.paint(render_markdown(text, width, look.glyphs)), end="", flush=True)


def print_receipt(report: dict[str, Any]) -> None:
    """What the harness saw, on stderr."""
    indent = " " * len("Receipt: ")
    lines = f"\n{indent}".join(receipt_lines(report))
    print(wrapped(f"Receipt: {lines}", sys.stderr, indent), file=sys.stderr)


def receipt_lines(report: dict[str, Any]) -> list[str]:
    """What the harness saw: changes, checks, what was not checked, and what the model cost."""
    lines = [_changes_line(report), *(_check_lines(report) if report["changes"] else ())]
    if len(report["models"]) > 1:
        lines += [_share_line(share) for share in report["models"]]
    elif report["usage"]["calls"]:
        lines.append(_usage_line(report["model"], report["usage"]))
    if report["usd"]:
        lines.append(_cost_line(report))
    return lines


def _changes_line(report: dict[str, Any]) -> str:
    changes = report["changes"]
    if not changes:
        return "no file changed"
    added, removed = (sum(change[way] for change in changes) for way in ("added", "removed"))
    how = "changed" if report["applied"] else "proposed, not changed"
    return f"{count(len(changes), 'file')} {how}, +{added} -{removed}"


def _check_lines(report: dict[str, Any]) -> Iterator[str]:
    after = {
        each["gate"]: each["ok"] for each in report["receipt"]["checks"]["after"] if each["of_this_change"]
    }
    evidence = read_evidence(report)
    if evidence:
        yield from evidence_lines(evidence)
    if evidence and evidence.checks:
        return
    yield from (f"{gate}: {'passed' if ok else 'failed'}" for gate, ok in after.items())
    yield from (f"not checked: {reason}" for reason in report["receipt"]["not_checked"])


def _usage_line(model: str, usage: dict[str, Any]) -> str:
    """`ollama/qwen3:8b, window 16,384: 4 calls, 5,158 tokens read (cache hit 99%), 310 written`."""
    cache, window = usage["cache"], f", window {usage['window']:,}" if usage["window"] else ""
    known = f" ({usage['cached']:,} cached)" if usage["cached"] else ""
    if cache and cache["reused"] is not None and not cache["estimated"]:  # a time is no count
        known = f" (cache hit {1.0 if cache['reused'] >= ALL else cache['reused']:.0%})"
    calls = count(usage["calls"], "call")
    return f"{model}{window}: {calls}, {usage['input']:,} tokens read{known}, {usage['output']:,} written"


def _cost_line(report: dict[str, Any]) -> str:
    """`cost $0.0412 by the table of prices; $1.96 is left for today`."""
    left = report.get("usd_left_today")
    rest = f"; {dollars(left)} is left for today" if left is not None else ""
    return f"cost {dollars(report['usd'])} by the table of prices{rest}"


def _share_line(share: dict[str, Any]) -> str:
    """`qwen3:8b: 7 calls, 5,158 tokens read, 310 written, 41 s; gave up after 3 tries`: one of several."""
    money = f", {dollars(share['usd'])}" if share["usd"] else ""
    read = f"{share['input']:,} tokens read, {share['output']:,} written"
    why = share["gave_up"].partition(",")[0].partition(":")[0]
    end = f"; gave up {why}" if why.startswith("after") else f"; {why}" if why else ""
    return f"{share['model']}: {count(share['calls'], 'call')}, {read}, {share['seconds']:.0f} s{money}{end}"
