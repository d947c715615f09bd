"""A session on another server's terminal: its events as lines, its questions put to the person here."""

import asyncio
import sys

from kith.core.errors import EXIT_FAILED, KithError
from kith.core.events import Answered, Asked, Event, Notice, Resumed, RunEnded, RunStarted
from kith.core.loops import leave
from kith.core.values import Answer, Question
from kith.features.web.client.remote import Find, follow, reach
from kith.terminal.prompts import ConsoleScreen
from kith.terminal.questions import ask
from kith.terminal.terminal import PlainVoice, TerminalVoice, needs_person, yes_to_changes
from kith.view.questions import always_words, question_text


async def show_to_the_end(find: Find, session: str, yes: bool) -> int:
    """Tell of a session until its work is done, and what came of it; returns the exit code of that."""
    voice: PlainVoice | TerminalVoice = TerminalVoice() if sys.stderr.isatty() else PlainVoice()
    asking = Asking(find, session, voice, yes)
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
        print(f"Its process has died before it was done. To go on: {again}", file=sys.stderr)
    return STATUS_CODES.get(ended.status, EXIT_FAILED) if ended else EXIT_FAILED


class Asking:
    """Questions put to the person while events go on; an answer from elsewhere takes the prompt away."""

    def __init__(self, find: Find, session: str, voice: PlainVoice | TerminalVoice, yes: bool) -> None:
        self._find, self._session, self._voice, self._yes = find, session, voice, yes
        self._prompt: asyncio.Task[None] | None = None

    async def hear(self, event: Event) -> None:
        """What ends a question ends its prompt."""
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
