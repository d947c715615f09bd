"""Carry out what the person sends: one thing after the other, and beside it what only looks."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import takewhile
from typing import Final

from kith.agent.project import Project, hold_servers
from kith.agent.tasks import warm_up
from kith.core.errors import KithError, UsageError
from kith.core.event_loop import call_in
from kith.core.events import Event
from kith.core.run import short_session
from kith.terminal.conversation.commands.help import leave
from kith.terminal.conversation.commands.sessions import go_on_with
from kith.terminal.conversation.commands.tasks import answer_words, run_typed
from kith.terminal.conversation.line_context import make_line_context
from kith.terminal.conversation.modes import Mode
from kith.terminal.conversation.slash_commands import find_command, slash_commands
from kith.terminal.conversation.talk import Talk
from kith.terminal.trust import ask_at_start
from kith.view.printing import printable

# How a conversation begins once the person is greeted: the folder's own settings, and where it goes on.


async def open_conversation(talk: Talk, resume: str) -> None:
    """Ask what has to be asked, and hold open what is used again and again. Raises KithError.

    `resume` is the id of a conversation to go on with, its beginning or its name, "last" for the newest one
    here, "pick" to be asked, "" for a new one.
    """
    talk.terminal.know(lambda changed: make_line_context(lambda: talk.project, lambda: talk.id, changed))
    if talk.project.settings.brought.standing in ("new", "changed") and await ask_at_start(
        talk.terminal, talk.root
    ):
        talk.project = Project.open(talk.root, talk.flags)
    talk.project = await hold_servers(talk.project)
    if resume:
        await go_on_with(talk, resume)


Do = Callable[[Talk, str], Awaitable[None]]
STOPPED: Final = "Stopped. Type what to do next, or /continue."


class Driver:
    """The queue of one conversation, worked off until the person leaves.

    It is the `Work` that the terminal's thread calls; all else happens in the loop that runs `live`.
    """

    def __init__(self, talk: Talk, resume: str = "") -> None:
        """`resume` is the conversation to go on with (`open_conversation`)."""
        self.talk, self._resume = talk, resume
        slash_commands()  # loaded for the keys
        self._task: asyncio.Task[None] | None = None
        self._next = ""  # what is done next, and has not begun
        self._beside: set[asyncio.Future[None]] = set()  # what looks while something else is done
        self._warming: asyncio.Future[None] | None = None  # of the model, while the first words are typed
        self._loop: asyncio.AbstractEventLoop | None = None
        self._something = asyncio.Event()

    # --- for the terminal's thread -----------------------------------------------------------

    def submit(self, words: str) -> None:
        """Take a sent line: a command, a task, or words for the model at work."""
        call_in(self._loop, lambda: self._take(words))

    def stop(self) -> None:
        """End what goes on now; what was said stays."""
        call_in(self._loop, self._stop)

    def show_details(self) -> None:
        """The same as `/details`, but a key adds nothing to what was said."""
        call_in(self._loop, lambda: self._look(slash_commands()["details"].run.load(), ""))

    def close(self) -> None:
        """End everything; `live` returns soon."""
        self.talk.closing = True  # before there is a loop, too
        call_in(self._loop, self._close)

    def take_back(self) -> str:
        """Take back the last line that still waits, to be edited; "" where nothing waits."""
        return self.talk.pending.take_back()

    @property
    def working(self) -> bool:
        return self.talk.working

    @property
    def mode(self) -> Mode:
        return self.talk.mode

    def set_mode(self, mode: Mode) -> None:
        self.talk.set_mode(mode)

    def toggle_todo(self) -> None:
        self.talk.voice.toggle_todo()

    def status(self, width: int) -> str:
        """The line below what is typed."""
        return self.talk.status.line(width)

    # --- the loop ----------------------------------------------------------------------------

    async def live(self, ready: Callable[[], None]) -> None:
        """Do what is sent until `close`; `ready` is called when something can be. Raises KithError."""
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.ensure_future(open_conversation(self.talk, self._resume))
        try:
            await self._open(self._task)
            if not self.talk.closing:
                ready()
            await self._do_all()
        finally:
            await self._end()

    async def _open(self, opening: "asyncio.Future[None]") -> None:
        """Open the conversation, unless the person leaves meanwhile."""
        if self.talk.closing:
            opening.cancel()
        try:
            await opening
            self._warming = asyncio.ensure_future(self._warm())
        except asyncio.CancelledError:
            self.talk.closing = True
        finally:
            self._task = None

    async def _warm(self) -> None:
        """Get the model ready meanwhile; what goes wrong is said when the model is asked."""

        def tell(event: Event) -> None:
            if not self.talk.working:  # else it may be another one by now
                self.talk.status.hear(event)
                self.talk.terminal.redraw()

        with suppress(KithError, OSError):
            await warm_up(self.talk.project, tell)

    async def _do_all(self) -> None:
        while not self.talk.closing:
            try:
                words = self.talk.pending.queue.popleft()  # the person may take it back at any moment
            except IndexError:
                self.talk.terminal.ready()
                self._something.clear()
                await self._something.wait()
            else:
                await self._do_one(words)

    async def _end(self) -> None:
        """Let go of what is held open, whatever ended the conversation, and say how to go on with it."""
        talk = self.talk
        if talk.opened:
            await talk.opened.aclose()
        if talk.project.servers:
            await talk.project.servers.aclose()
        if talk.past.started:
            talk.say(f"To continue: kith -r {short_session(talk.id)}", "dim")

    # --- one thing after the other -----------------------------------------------------------

    async def _do_one(self, words: str) -> None:
        talk = self.talk
        talk.pending.show()
        talk.working, self._next = True, words
        self._task = asyncio.ensure_future(self._carry_out(words))
        try:
            await self._task
        except (asyncio.CancelledError, KeyboardInterrupt):
            talk.voice.rest()
            if not talk.closing:
                talk.say(STOPPED, "yellow")
        finally:
            talk.working, self._task, self._next = False, None, ""
            talk.voice.rest()
            talk.pending.gather_unheard(talk.inbox)

    async def _carry_out(self, words: str) -> None:
        """A command or a task; a person's mistake costs one sentence."""
        talk, self._next = self.talk, ""
        talk.terminal.echo(words)
        try:
            command, rest = find_command(words)
            if words.startswith("!"):
                await run_typed(talk, words)
            elif command:
                await command.run.load()(talk, rest)
            else:
                await answer_words(talk, words)
        except KithError as error:
            talk.voice.rest()
            talk.say(printable(str(error)), "red")

    def _take(self, words: str) -> None:
        talk = self.talk
        look = _at_any_time(words)
        if look is leave and self._keep_commands():
            talk.submit(words)
            self._something.set()
        elif look and (talk.working or (talk.pending.queue and look is leave)):
            talk.terminal.echo(words)
            self._look(look, words.partition(" ")[2].strip())
        elif talk.at_work and not words.startswith(("/", "!")):
            talk.steer(words)
            talk.pending.steer(words)
        else:
            talk.submit(words)
            self._something.set()

    def _keep_commands(self) -> bool:
        """True if leaving has to wait for commands that were sent before, and that have not begun.

        It waits for no task, at work or waiting. What follows a waiting task is not done either.
        """
        if self.talk.working and not self._next:
            return False
        queue = self.talk.pending.queue
        waiting = [*filter(None, [self._next]), *queue]
        kept = list(takewhile(_is_command, waiting))
        if not kept:
            return False
        for _ in waiting[len(kept) :]:
            self.talk.pending.take_back()
        return True

    def _stop(self) -> None:
        if self._task:
            self._task.cancel()

    def _close(self) -> None:
        self.talk.pending.queue.clear()
        self._something.set()
        self._stop()

    # --- beside them -------------------------------------------------------------------------

    def _look(self, look: Do, rest: str) -> None:
        """Begin what only looks, whatever is done meanwhile."""
        beside = asyncio.ensure_future(self._answer_beside(look, rest))
        self._beside.add(beside)
        beside.add_done_callback(self._end_beside)

    async def _answer_beside(self, look: Do, rest: str) -> None:
        try:
            await look(self.talk, rest)
        except KithError as error:
            self.talk.say(printable(str(error)), "red")
        if self.talk.working:  # what is said next goes on from before
            self.talk.terminal.gap()

    def _end_beside(self, done: "asyncio.Future[None]") -> None:
        self._beside.discard(done)
        if not done.cancelled():
            done.result()


def _is_command(words: str) -> bool:
    try:
        return words.startswith("!") or find_command(words)[0] is not None
    except UsageError:
        return True


def _at_any_time(words: str) -> Do | None:
    """The action of a command that need not wait until the work is over."""
    try:
        command, _ = find_command(words)
    except UsageError:
        return None
    return command.run.load() if command and command.anytime else None
