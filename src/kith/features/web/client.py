"""`kith client`: find, prove and ask a server of kith's, and follow its sessions, from a command line."""

import argparse
import asyncio
import json
import os
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from msgspec import Struct

from kith.core.codec import KINDS, decode_event
from kith.core.errors import EXIT_DONE, EXIT_FAILED, BusyError, KithError, UsageError
from kith.core.event_loop import leave, run_until_signal
from kith.core.events import Answered, Asked, Event, Notice, Resumed, RunEnded, RunStarted
from kith.core.values import Answer, Question
from kith.features.web.tokens import CLIENT, check_token, notes, proof_for, same
from kith.settings import find_folders
from kith.terminal.console_screen import ConsoleScreen
from kith.terminal.options import SAMPLING
from kith.terminal.questions import ask
from kith.terminal.terminal import PlainVoice, TerminalVoice, needs_person, yes_to_changes
from kith.view.lines import brief
from kith.view.printing import printable
from kith.view.wording import always_words, question_text

if TYPE_CHECKING:
    import httpx2


# A server of kith's as other commands reach it: found, proved to be the one it says, and asked.

_PATIENCE_S: Final = 60.0  # for a server that is started anew while its session is followed
_AGAIN_S: Final = 0.5
_ERRORS: Final[dict[int, type[KithError]]] = {409: BusyError, 429: BusyError, 503: BusyError}


class ServerAddress(Struct, frozen=True):
    """The address of a server; `port` is what its proof must name, 0 where a tunnel may change it."""

    url: str
    token: str
    port: int = 0


Find = Callable[[], ServerAddress]


def find_place(state: Path, url: str, token: str) -> ServerAddress:
    """The server that was named, else the newest of this machine. Raises UsageError."""
    if url:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url!r} is no address of a server; one is http://127.0.0.1:5484.")
        if not token:
            raise UsageError("A server elsewhere wants its token: --token, or KITH_SERVE_TOKEN.")
        return ServerAddress(f"{parts.scheme}://{parts.netloc}", check_token(token))
    for note in notes(state):
        return ServerAddress(note.url, note.token, note.port)
    raise UsageError("No kith serve runs here; start one with `kith serve`, or name one with --url.")


class RemoteServer:
    """A server that has proved itself. Every refusal becomes the sentence that came with it."""

    def __init__(self, client: "httpx2.AsyncClient", place: ServerAddress) -> None:
        self._client, self._place = client, place

    async def ask(self, path: str, body: object = None) -> Any:
        """Send a GET, or a POST with `body`, and return the API's answer."""
        return json.loads(await self.text(path, body))

    async def text(self, path: str, body: object = None) -> str:
        """The same as it came."""
        import httpx2

        try:
            if body is None:
                answer = await self._client.get(path)
            else:
                answer = await self._client.post(path, json=body)
        except httpx2.HTTPError as error:
            raise BusyError(f"{self._place.url} does not answer: {error or type(error).__name__}.") from error
        if answer.is_error:
            raise _refusal(answer.status_code, answer.text)
        return answer.text

    async def events(self, session: str, after: str) -> AsyncIterator[tuple[str, str, str]]:
        """The session's events as (position, kind, data) until its work is done, or the line is cut."""
        path, headers = f"/api/sessions/{session}/events?follow=no", {"Last-Event-ID": after}
        async with self._client.stream("GET", path, headers=headers, timeout=None) as answer:
            if answer.is_error:
                raise _refusal(answer.status_code, (await answer.aread()).decode("utf-8", "replace"))
            fields: dict[str, str] = {}
            async for line in answer.aiter_lines():
                name, _, value = line.partition(": ")
                if line and name:
                    fields[name] = value
                elif fields:
                    yield fields.get("id", after), fields.get("event", ""), fields.get("data", "{}")
                    fields = {}


def _refusal(status: int, text: str) -> KithError:
    try:
        detail = str(json.loads(text)["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"The server answered {status}."
    return _ERRORS.get(status, UsageError if status < 500 else KithError)(detail)


@asynccontextmanager
async def reach(place: ServerAddress) -> AsyncIterator[RemoteServer]:
    """The server, once it has proved that it knows the token; nothing secret is sent before.

    Raises BusyError where nobody answers, UsageError where somebody else does.
    """
    import httpx2

    async with httpx2.AsyncClient(base_url=place.url, timeout=60, trust_env=False) as client:
        try:
            await _prove(client, place)
        except httpx2.HTTPError as error:
            raise BusyError(f"Nobody answers at {place.url}: {error or type(error).__name__}.") from error
        client.headers.update({"Authorization": f"Bearer {place.token}", "User-Agent": CLIENT})
        yield RemoteServer(client, place)


async def _prove(client: "httpx2.AsyncClient", place: ServerAddress) -> None:
    nonce = secrets.token_urlsafe(24)
    answer = await client.get("/api/hello", params={"nonce": nonce})
    try:
        said = json.loads(answer.text)
        port, proof = int(said["port"]), str(said["proof"])
    except (ValueError, KeyError, TypeError):
        port, proof = -1, ""
    if place.port not in (0, port) or not same(proof, proof_for(place.token, port, nonce)):
        raise UsageError(f"The program at {place.url} does not know the token, so nothing was sent to it.")


async def follow(find: Find, session: str, after: str = "0") -> AsyncIterator[tuple[Event, tuple[str, ...]]]:
    """A session's events until its work is done; a server that is started anew is waited for.

    Nothing is told twice. Raises KithError, BusyError once the server has been away too long.
    """
    import httpx2

    known, away = False, 0.0
    while True:
        try:
            async with reach(find()) as server:
                async for position, kind, data in server.events(session, after):
                    after, known, away, told = position, True, 0.0, json.loads(data)
                    if kind in KINDS:  # a newer server may tell of more
                        yield decode_event(kind, json.dumps(told["event"])), tuple(told["path"])
                return
        except (httpx2.HTTPError, KithError) as error:
            if not known or away >= _PATIENCE_S:
                raise _in_words(error) from error
        if not away:
            yield Notice("The server is away; waiting for it.", "warning"), ()
        away += _AGAIN_S
        await asyncio.sleep(_AGAIN_S)


def _in_words(error: Exception) -> KithError:
    return error if isinstance(error, KithError) else BusyError(f"The server went away: {error}.")


# A session on another server's terminal: its events as lines, its questions put to the person here.


async def show_to_the_end(find: Find, session: str, yes: bool) -> int:
    """Print a session until its work is done; returns the exit code of the result."""
    voice: PlainVoice | TerminalVoice = TerminalVoice() if sys.stderr.isatty() else PlainVoice()
    asking = RemoteAsker(find, session, voice, yes)
    ended: RunEnded | None = None
    try:
        async for event, path in follow(find, session):
            await asking.hear(event)
            voice.hear(event, path)
            asking.ask_if(event)
            if isinstance(event, RunStarted | Resumed | RunEnded) and not path:
                ended = event if isinstance(event, RunEnded) else None
    except asyncio.CancelledError:
        voice.close()
        print(f"\nThe session goes on: kith client watch {session}", file=sys.stderr)
        raise
    finally:
        await asking.end()
        voice.close()
    return await _show_end(find, session, ended)


async def _show_end(find: Find, session: str, ended: RunEnded | None) -> int:
    from kith.agent.project import STATUS_CODES
    from kith.terminal.report import print_text

    async with reach(find()) as server:
        print_text(await server.ask(f"/api/sessions/{session}/receipt"), asked=True)
    if ended is None:
        again = f"kith run --resume {session}"
        print(f"The process died before the task was done. To resume: {again}", file=sys.stderr)
    return STATUS_CODES.get(ended.status, EXIT_FAILED) if ended else EXIT_FAILED


class RemoteAsker:
    """Questions put to the person while events go on; an answer from elsewhere takes the prompt away."""

    def __init__(self, find: Find, session: str, voice: PlainVoice | TerminalVoice, yes: bool) -> None:
        self._find, self._session, self._voice, self._yes = find, session, voice, yes
        self._prompt: asyncio.Task[None] | None = None

    async def hear(self, event: Event) -> None:
        """End the prompt of a question with the question."""
        if isinstance(event, Answered | Resumed | RunEnded):
            await self.end()

    def ask_if(self, event: Event) -> None:
        """A question opens a prompt beside the events."""
        if isinstance(event, Asked):
            self._prompt = asyncio.ensure_future(self._ask(event.question))

    async def end(self) -> None:
        """Take an open prompt away."""
        if self._prompt:
            await leave(self._prompt)
            self._prompt = None

    async def _ask(self, question: Question) -> None:
        """Put a question that is still open, and send the answer; somebody else may be first."""
        try:
            async with reach(self._find()) as server:
                now = (await server.ask(f"/api/sessions/{self._session}"))["question"]
                if not now or now["id"] != question.id:
                    return
                if answer := await self._answer(question):
                    kept = [{"path": each.path, "hunks": list(each.hunks)} for each in answer.kept]
                    body = {"choice": answer.choice, "text": answer.text, "kept": kept}
                    await server.ask(f"/api/sessions/{self._session}/answers/{question.id}", body)
        except KithError as error:
            self._voice.hear(Notice(str(error), "warning"), ())

    async def _answer(self, question: Question) -> Answer | None:
        """The person's answer, --yes's, or none where nobody can be asked here."""
        if self._yes and not needs_person(question):
            return await yes_to_changes(self._person)(question)
        if isinstance(self._voice, TerminalVoice) and sys.stdin.isatty():
            return await self._person(question)
        choices = "yes|always|no" if "always" in question.choices else "yes|no"
        waits = f"It waits for an answer: kith client answer {self._session} {choices}"
        for line in filter(None, (*question_text(question).split("\n"), always_words(question), waits)):
            self._voice.hear(Notice(line), ())
        return None

    async def _person(self, question: Question) -> Answer:
        if not isinstance(self._voice, TerminalVoice) or not sys.stdin.isatty():
            return await PlainVoice().answer(question)
        self._voice.close()
        screen = ConsoleScreen(self._voice.console)
        return await ask(screen, question)


# `kith client`: what the page does, from a command line, over a server's API.


def run_command(args: argparse.Namespace) -> int:
    """Begin a session and follow it to its end."""
    find = _finder(args)
    body = {"words": " ".join(args.task), "project": args.project, "model": args.model}
    body |= {"plan": args.plan, "read_only": args.read_only, "check": args.check}
    body |= {"sampling": given_sampling(args)}

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
    """Stop the worker of a session."""
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
    """Find the server, each time again: one that was restarted may have another token."""
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


def given_sampling(args: argparse.Namespace) -> dict[str, int | float]:
    """The sampling options of a command line as numbers. Raises UsageError."""
    given = {name: text for name in SAMPLING if (text := getattr(args, name)) is not None}
    try:
        return {name: float(text) if "." in text else int(text) for name, text in given.items()}
    except ValueError as error:
        raise UsageError(f"An option of sampling takes a number: {error}.") from error
