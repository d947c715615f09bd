"""The end of a task for a person or a script: the answer, the receipt, the change that waits."""

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from kith.agent.failed_runs import end_of
from kith.core.codec import encode
from kith.core.errors import KithError, UnrecordedError
from kith.core.events import Applied, Event
from kith.core.feature import Lazy
from kith.core.numbers import dollars
from kith.core.run import short_session
from kith.memory.past import fold
from kith.memory.receipt import describe_run
from kith.terminal.rendering.glyphs import Glyphs
from kith.terminal.rendering.look import Look
from kith.terminal.rendering.spans import READABLE, Line
from kith.view.evidence import evidence_lines, read_evidence
from kith.view.lines import count, wrapped
from kith.view.wording import word_tokens

ALL: Final = 0.995  # a share that is shown as "all"
_render_markdown: Final[Lazy[Callable[[str, int, Glyphs], Iterable[Line]]]] = Lazy(
    "kith.terminal.rendering.markdown:render_markdown"
)
_SAYS_SO: Final = ("Nothing was applied", "Held back")  # ends that need not be told again


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
    """One event as one line of JSON, with the time (seconds of the epoch) at which it is told."""
    told = {"event": type(event).__name__, "at": round(time.time(), 3), "path": list(path)}
    line = {**told, **encode(event)}
    print(json.dumps(line), flush=True)


def print_text(report: dict[str, Any], asked: bool, again: str = "", as_json: bool = False) -> None:
    """The answer on stdout; a diff that nobody could be asked about is printed there too.

    `again` is the command that goes on with it. `as_json`: nothing goes to stdout but the answer's value.
    """
    text = report["text"]
    if report["status"] == "rejected" and report["changes"] and not asked:
        print("" if as_json else "".join(change["diff"] for change in report["changes"]), end="")
        text = "Nothing was applied, since nobody could be asked; --yes applies."
    if as_json and report["status"] == "done":
        print(json.dumps(report["answer"], indent=2))
    elif text and report["status"] == "done":
        print_words(text)
    elif text:
        print(wrapped(f"kith: {text}", sys.stderr), file=sys.stderr)
    print_waiting(report)
    if again and report["usage"]["calls"]:
        print(f"To go on: {again}", file=sys.stderr)
    if report["changes"] or report["usage"]["calls"]:
        print_receipt(report)


def print_waiting(report: Mapping[str, Any]) -> None:
    """Print on stderr how to see and apply a change that was not applied."""
    if report.get("waiting"):
        head = "" if report["text"].startswith(_SAYS_SO) else "Nothing applied. "
        print(f"{head}{waiting_line(report['session'])}", file=sys.stderr)


def waiting_line(session: str) -> str:
    """Print how to see and apply the change that waits in a session."""
    id = short_session(session)
    return f"The change waits: kith diff {id}, kith apply {id}"


def print_words(text: str) -> None:
    """A model's words: drawn as the Markdown they are on a terminal, and as they came elsewhere."""
    look = Look.choose()
    if look.is_plain:
        print(wrapped(text, sys.stdout))
    else:
        width = min(shutil.get_terminal_size().columns, READABLE)
        print(look.paint(_render_markdown.load()(text, width, look.glyphs)), end="", flush=True)


def print_receipt(report: dict[str, Any]) -> None:
    """Print the receipt on stderr."""
    indent = " " * len("Receipt: ")
    lines = f"\n{indent}".join(receipt_lines(report))
    print(wrapped(f"Receipt: {lines}", sys.stderr, indent), file=sys.stderr)


def receipt_lines(report: dict[str, Any]) -> list[str]:
    """The lines of a receipt: changes, checks, what was not checked, and the model's cost."""
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
    if report.get("in_place"):
        return "worked in place; kith keeps no record of changed files"
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
    tokens = word_tokens(usage["input"], usage["output"], known)
    return f"{model}{window}: {count(usage['calls'], 'call')}, {tokens}"


def _cost_line(report: dict[str, Any]) -> str:
    """`cost $0.0412 by the table of prices; $1.96 is left for today`."""
    left = report.get("usd_left_today")
    rest = f"; {dollars(left)} is left for today" if left is not None else ""
    return f"cost {dollars(report['usd'])} by the table of prices{rest}"


def _share_line(share: dict[str, Any]) -> str:
    """`qwen3:8b: 7 calls, 5,158 tokens read, 310 written, 41 s; gave up after 3 tries`: one of several."""
    money = f", {dollars(share['usd'])}" if share["usd"] else ""
    read = word_tokens(share["input"], share["output"])
    why = share["gave_up"].partition(",")[0].partition(":")[0]
    end = f"; gave up {why}" if why.startswith("after") else f"; {why}" if why else ""
    return f"{share['model']}: {count(share['calls'], 'call')}, {read}, {share['seconds']:.0f} s{money}{end}"
