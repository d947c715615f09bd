"""`kith client`: what the page does, from a command line, over a server's API."""

import argparse
import json
import os
import sys
from collections.abc import Coroutine
from datetime import datetime
from typing import Any
from urllib.parse import quote

from kith.core.errors import EXIT_DONE, UsageError
from kith.features.web.client.remote import Find, find_place, reach
from kith.features.web.client.watch import show_to_the_end
from kith.settings import find_folders
from kith.terminal.signals import run_until_signal
from kith.view.lines import brief
from kith.view.printing import printable


def run_command(args: argparse.Namespace) -> int:
    """Begin a session and follow it to its end."""
    find = _finder(args)
    body = {"words": " ".join(args.task), "project": args.project, "model": args.model}
    body |= {"plan": args.plan, "read_only": args.read_only, "check": args.check}

    async def run() -> int:
        async with reach(find()) as server:
            begun = await server.ask("/api/sessions", body)
        print(f"Session {begun['session']}", file=sys.stderr)
        return await show_to_the_end(find, begun["session"], args.yes)

    return run_until_signal(run())


def watch_command(args: argparse.Namespace) -> int:
    """Tell what happened and happens in a session, until its work is done."""
    return run_until_signal(show_to_the_end(_finder(args), _id(args), args.yes))


def sessions_command(args: argparse.Namespace) -> int:
    """One line a session, newest first."""
    told = _ask(args, f"/api/sessions?project={quote(args.project, safe='')}")
    for each in told["sessions"]:
        when = datetime.fromtimestamp(each["at"]).strftime("%Y-%m-%d %H:%M")
        state = "working" if each["working"] else printable(each["status"])
        head = f"{printable(each['id'])}  {when}  {state:11} "
        print(f"{head}{brief(each['task'], len(head))}")
    if not told["sessions"]:
        print("No sessions yet.", file=sys.stderr)
    return EXIT_DONE


def answer_command(args: argparse.Namespace) -> int:
    """Answer what a session waits for; `yes` and `no` will do for every question."""
    session, choice = f"/api/sessions/{_id(args)}", args.choice
    asked = _ask(args, session)["question"]
    if not asked:
        raise UsageError("That session waits for no answer.")
    if asked["kind"] == "change":
        choice = {"yes": "all", "no": "none"}.get(choice, choice)
    body = {"choice": choice, "text": " ".join(args.words)}
    _ask(args, f"{session}/answers/{quote(asked['id'], safe='')}", body)
    return EXIT_DONE


def stop_command(args: argparse.Namespace) -> int:
    """Stop whoever works on a session."""
    _ask(args, f"/api/sessions/{_id(args)}/cancel", {})
    return EXIT_DONE


def get_command(args: argparse.Namespace) -> int:
    """Whatever the API says at a path: JSON with line breaks, other text as it is."""
    path = "/" + args.path.removeprefix("/")
    path = path if path.startswith(("/api/", "/v1/")) or path == "/metrics" else f"/api{path}"
    text = _once(args, path)
    try:
        text = json.dumps(json.loads(text), indent=2)
    except ValueError:
        text = printable(text.rstrip("\n"))
    print(text)
    return EXIT_DONE


def _finder(args: argparse.Namespace) -> Find:
    """Finds the server, anew each time: one that was started again may have another token."""
    _, state, _ = find_folders()
    token = args.token or os.environ.get("KITH_SERVE_TOKEN", "")
    return lambda: find_place(state, args.url or "", token)


def _id(args: argparse.Namespace) -> str:
    return quote(args.id, safe="")


def _ask(args: argparse.Namespace, path: str, body: object = None) -> Any:
    return json.loads(_once(args, path, body))


def _once(args: argparse.Namespace, path: str, body: object = None) -> str:
    """One request, from the proof of the server to what it says."""

    async def ask() -> str:
        async with reach(_finder(args)()) as server:
            return await server.text(path, body)

    work: Coroutine[Any, Any, str] = ask()
    return run_until_signal(work)
