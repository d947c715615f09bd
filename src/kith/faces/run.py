"""`kith run`: one task from the first word to the exit code, as text, JSON or a stream of events."""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

from kith.app import App, Explained, Task, end_of
from kith.core.codec import encode
from kith.core.errors import EXIT_DONE, KithError
from kith.core.events import Event
from kith.core.run import new_id
from kith.faces.arguments import settings_flags
from kith.faces.asked import read_task
from kith.faces.folder import find_root
from kith.faces.lines import count, printable, wrapped
from kith.faces.terminal import PlainVoice, TerminalVoice, yes_to_changes
from kith.memory.past import fold
from kith.memory.receipt import describe_run

T = TypeVar("T")


def run_command(args: argparse.Namespace) -> int:
    """Do one task and print its result on stdout; progress goes to stderr."""
    root, task = find_root(args.folder), read_task(args)
    app = App.open(root, settings_flags(args))
    if args.explain_prompt:
        print_costs(asyncio.run(app.explain(task)), args.output_format)
        return EXIT_DONE
    format = args.output_format
    interactive = sys.stdin.isatty() and sys.stderr.isatty() and format == "text"
    voice = TerminalVoice() if sys.stderr.isatty() else PlainVoice()
    answerer = voice.answer if interactive else PlainVoice().answer
    wanted = Task(task, plan=args.plan, resume=args.resume or "")
    listeners = [voice.hear] if format != "stream-json" else [print_event]
    id = app.log.find(wanted.resume) if wanted.resume else new_id()
    try:
        result = run_until_signal(
            app.run(wanted, yes_to_changes(answerer) if args.yes else answerer, listeners, id)
        )
    except (SystemExit, KeyboardInterrupt):
        if format == "json":
            past = fold(record.event for record in app.log.events(id))
            print(json.dumps(describe_run(id, past), indent=2))
        raise
    finally:
        voice.close()
    if format == "json":
        print(json.dumps(result.report, indent=2))
    elif format == "text":
        print_text(result.report, asked=interactive or args.yes)
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


def run_until_signal(work: Coroutine[Any, Any, T]) -> T:
    """asyncio.run, with SIGTERM as a cancellation too; the exit codes are the shell's, 130 and 143."""
    terminated = False

    async def guarded() -> T:
        nonlocal terminated
        task = asyncio.current_task()

        def stop() -> None:
            nonlocal terminated
            terminated = True
            if task:
                task.cancel()

        if sys.platform != "win32":
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
        return await work

    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        raise SystemExit(143 if terminated else 130) from None


def print_failure(error: KithError, format: str) -> None:
    """An error that came before there was a session, in the shape of any other end."""
    if format == "stream-json":
        print_event(end_of(error), ())
    else:
        print(json.dumps(describe_run("", fold([end_of(error)])), indent=2))


def print_event(event: Event, path: tuple[str, ...]) -> None:
    """One event as one line of JSON."""
    line = {"event": type(event).__name__, "path": list(path), **encode(event)}
    print(json.dumps(line), flush=True)


def print_text(report: dict[str, Any], asked: bool) -> None:
    """The answer on stdout; a diff that nobody could be asked about is printed there too."""
    text = report["text"]
    if report["status"] == "rejected" and report["changes"] and not asked:
        print("".join(change["diff"] for change in report["changes"]), end="")
        text = "Nothing was applied, since nobody could be asked; --yes applies."
    if text and report["status"] == "done":
        print(wrapped(text, sys.stdout))
    elif text:
        print(wrapped(f"kith: {text}", sys.stderr), file=sys.stderr)
    if report["changes"]:
        print_receipt(report)


def print_receipt(report: dict[str, Any]) -> None:
    """What the harness saw: changes, checks, and what was not checked."""
    added = sum(change["added"] for change in report["changes"])
    removed = sum(change["removed"] for change in report["changes"])
    checks = report["receipt"]["checks"]
    before = {each["gate"]: each["ok"] for each in checks["before"]}
    how = "changed" if report["applied"] else "proposed, not changed"
    lines = [f"{count(len(report['changes']), 'file')} {how}, +{added} -{removed}"]
    after = {each["gate"]: each["ok"] for each in checks["after"] if each["of_this_change"]}
    for gate, ok in after.items():
        was = f" (before: {'passed' if before[gate] else 'failed'})" if gate in before else ""
        lines.append(f"{gate}: {'passed' if ok else 'failed'}{was}")
    lines += [f"not checked: {reason}" for reason in report["receipt"]["not_checked"]]
    usage = report["usage"]
    if usage["calls"]:
        read = f"{usage['input']:,} tokens read" + (
            f" ({usage['cached']:,} cached)" if usage["cached"] else ""
        )
        lines.append(
            f"{report['model']}: {count(usage['calls'], 'call')}, {read}, {usage['output']:,} written"
        )
    indent = " " * len("Receipt: ")
    print(wrapped("Receipt: " + f"\n{indent}".join(lines), sys.stderr, indent), file=sys.stderr)
