"""`kith client`: what the page does, from a command line, over the server's API."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any

from kith.core.errors import EXIT_DONE, UsageError
from kith.faces.following import show_to_the_end
from kith.faces.lines import printable
from kith.faces.remote import Find, find_place, reach
from kith.faces.signals import run_until_signal
from kith.settings import find_folders


def client_command(args: argparse.Namespace) -> int:
    """One of the actions: its first word says which. Returns the exit code."""
    name, rest = args.words[0], args.words[1:]
    if name not in _ACTIONS:
        raise UsageError(f"kith client can: {', '.join(_ACTIONS)}; not {name!r}.")
    _, state, _ = find_folders()
    token = args.token or os.environ.get("KITH_SERVE_TOKEN", "")
    return run_until_signal(_ACTIONS[name](lambda: find_place(state, args.url or "", token), rest, args))


async def _run(find: Find, words: Sequence[str], args: argparse.Namespace) -> int:
    """Begin a session and follow it to its end."""
    if not words:
        raise UsageError('What should be done? For example: kith client run "fix the failing test".')
    body = {"words": " ".join(words), "project": args.project}
    body |= {"model": args.model} if args.model else {}
    async with reach(find()) as server:
        begun = await server.ask("/api/sessions", body)
    print(f"Session {begun['session']}", file=sys.stderr)
    return await show_to_the_end(find, begun["session"], args.yes)


async def _watch(find: Find, words: Sequence[str], args: argparse.Namespace) -> int:
    """What happened and happens in a session, until its work is done."""
    return await show_to_the_end(find, _one(words, "watch ID"), args.yes)


async def _sessions(find: Find, words: Sequence[str], args: argparse.Namespace) -> int:
    from urllib.parse import quote

    async with reach(find()) as server:
        told = await server.ask(f"/api/sessions?project={quote(args.project, safe='')}")
    for each in told["sessions"]:
        when = datetime.fromtimestamp(each["at"]).strftime("%Y-%m-%d %H:%M")
        state = "working" if each["working"] else each["status"]
        task = " ".join(printable(each["task"]).split())[:60]
        print(f"{each['id']}  {when}  {printable(state):11} {task}")
    if not told["sessions"]:
        print("No sessions yet.", file=sys.stderr)
    return EXIT_DONE


async def _answer(find: Find, words: Sequence[str], args: argparse.Namespace) -> int:
    """Answer what a session waits for; `yes` and `no` will do for every question."""
    if len(words) < 2:
        raise UsageError("Say whose question, and what: kith client answer ID yes")
    session, choice, text = words[0], words[1], " ".join(words[2:])
    async with reach(find()) as server:
        asked = (await server.ask(f"/api/sessions/{session}"))["question"]
        if not asked:
            raise UsageError("That session waits for no answer.")
        body = {"choice": _meant(choice, asked["kind"]), "text": text}
        await server.ask(f"/api/sessions/{session}/answers/{asked['id']}", body)
    return EXIT_DONE


async def _stop(find: Find, words: Sequence[str], args: argparse.Namespace) -> int:
    async with reach(find()) as server:
        await server.ask(f"/api/sessions/{_one(words, 'stop ID')}/cancel", {})
    return EXIT_DONE


async def _get(find: Find, words: Sequence[str], args: argparse.Namespace) -> int:
    """Whatever the API says at a path: JSON with line breaks, other text as it is."""
    path = "/" + _one(words, "get PATH").removeprefix("/")
    async with reach(find()) as server:
        text = await server.text(path if path.startswith(("/api/", "/metrics", "/v1/")) else f"/api{path}")
    try:
        text = json.dumps(json.loads(text), indent=2)
    except ValueError:
        text = printable(text.rstrip("\n"))
    print(text)
    return EXIT_DONE


_Action = Callable[[Find, Sequence[str], argparse.Namespace], Coroutine[Any, Any, int]]
_ACTIONS: dict[str, _Action] = {
    "run": _run,
    "sessions": _sessions,
    "watch": _watch,
    "answer": _answer,
    "stop": _stop,
    "get": _get,
}


def _one(words: Sequence[str], usage: str) -> str:
    if len(words) != 1:
        raise UsageError(f"It is: kith client {usage}")
    return words[0]


def _meant(choice: str, kind: str) -> str:
    """`yes` and `no`, as the question calls them."""
    return {"yes": "all", "no": "none"}.get(choice, choice) if kind == "change" else choice
