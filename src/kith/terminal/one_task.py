"""One task from its words to the exit code, as text, JSON or a stream of events."""

import argparse
import json
from pathlib import Path
from typing import Any

from kith.agent.context_usage import Explained, explain_task
from kith.agent.final_answer import read_schema
from kith.agent.mentions import load_picture
from kith.agent.project import Project
from kith.agent.tasks import DoTask, Task, run_task
from kith.core.codec import encode
from kith.core.errors import EXIT_DONE, UsageError
from kith.core.event_loop import run_loop, run_until_signal
from kith.core.pictures import MOST_BYTES
from kith.core.run import new_id, short_session
from kith.core.values import Image
from kith.settings.features import all_parts
from kith.terminal.options import settings_flags
from kith.terminal.report import print_event, print_text, print_waiting
from kith.terminal.terminal import choose_voice
from kith.view.printing import printable

UNFINISHED = ("limit", "unavailable")  # what ended so can be gone on with


def do_task(args: argparse.Namespace, root: Path, task: str) -> int:
    """Do one task and print its result on stdout; progress goes to stderr."""
    project = Project.open(root, settings_flags(args))
    if args.explain_prompt:
        print_costs(run_loop(explain_task(project, task)), args.output_format)
        return EXIT_DONE
    format = args.output_format
    voice, answerer, asked = choose_voice(format == "text", args.yes)
    schema = _read_schema(args.output_schema) if args.output_schema else None
    images = _load_images(args)
    wanted = Task(task, plan=args.plan, resume=args.resume or "", images=images, schema=schema)
    ways = all_parts(lambda feature: feature.way)
    do: DoTask = next((found for way in ways if (found := way(args))), run_task)
    listeners = [voice.hear] if format != "stream-json" else [print_event]
    id = project.log.find(wanted.resume) if wanted.resume else new_id()
    try:
        result = run_until_signal(do(project, wanted, answerer, listeners, id))
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
        again = f"kith run --resume {short_session(id)}" if result.report["status"] in UNFINISHED else ""
        print_text(result.report, asked=asked, again=again, as_json=_asks_json(project, id))
    return result.code


def _load_images(args: argparse.Namespace) -> tuple[Image, ...]:
    """The pictures of `--image`. Raises UsageError."""
    found = list[Image]()
    for name in getattr(args, "image", ()):  # of `kith run` alone
        picture = load_picture(Path(name))
        if picture is None:
            raise UsageError(
                f"{name} cannot be read, or is no PNG, JPEG, GIF or WebP of at most {MOST_BYTES:,} bytes."
            )
        found.append(picture)
    return tuple(found)


def _asks_json(project: Project, session: str) -> bool:
    """True if the answer has to follow a schema: one given now, or when the task began."""
    started = project.log.past(session).started
    return started is not None and started.options.schema is not None


def _read_schema(file: str) -> dict[str, Any]:
    """Read the file of `--output-schema`. Raises UsageError."""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{file} cannot be read: {why}.") from error
    return read_schema(text, file)


def print_costs(explained: Explained, format: str) -> None:
    """Print the tokens of each part of the prompt, and its share of the window."""
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
