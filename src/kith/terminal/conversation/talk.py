"""A conversation's work, in a thread of its own: it does what the person sends, one thing at a time."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kith.core.errors import KithError, NoModelError
from kith.core.events import Event, Said
from kith.core.run import new_id
from kith.core.values import Answer, Message, Question, Text
from kith.terminal.conversation.crossing import call_in
from kith.terminal.conversation.modes import Beginning, Mode
from kith.terminal.conversation.statusline import StatusLine
from kith.terminal.conversation.voice import Voice
from kith.terminal.rendering.spans import Span
from kith.terminal.screen import LiveScreen
from kith.view.printing import printable

if TYPE_CHECKING:
    from kith.agent.project import Project, Result
    from kith.agent.tasks import Opened
    from kith.memory.past import Past

_WAITING: Final = 5  # lines of what waits that are seen
STOPPED: Final = "Stopped; what was said stays. Say how to go on, or /continue."


class Talk:
    """One open conversation in one folder.

    `submit`, `stop` and `close` are for the terminal's thread; all else happens in the loop that runs `live`.
    """

    def __init__(self, root: Path, flags: Mapping[str, Any], terminal: LiveScreen, begin: Beginning) -> None:
        self.root, self.flags, self.begin = root, flags, begin
        self.terminal, self.status, self.voice = terminal, StatusLine(), Voice(terminal)
        self.mode: Mode = "ask"
        self.id = new_id()
        self.project: Project
        self.opened: Opened | None = None
        self.notes: list[str] = []  # for the model, with the next task: what a council decided, what was run
        self.queue: deque[str] = deque()  # what waits for its turn
        self.steering: list[str] = []  # what the model at work has not heard yet
        self.working = False  # on a task, or on a command that takes time
        self.at_work = False  # on its session
        self._task: asyncio.Task[None] | None = None
        self._beside: set[asyncio.Future[None]] = set()  # what looks while something else is done
        self._loop: asyncio.AbstractEventLoop | None = None
        self._something = asyncio.Event()
        self._asking = asyncio.Lock()
        self._closing = False
        self.warming: asyncio.Future[None] | None = None  # of the model, while the first words are typed

    @property
    def past(self) -> "Past":
        return self.project.log.past(self.id)

    @property
    def allowed(self) -> "Project":
        """The project as the mode lets it be worked on: in plan mode nothing is written."""
        if self.mode != "plan":
            return self.project
        return replace(self.project, settings=replace(self.project.settings, read_only=True))

    @property
    def closing(self) -> bool:
        """Whether the person has left."""
        return self._closing

    # --- for the terminal's thread -----------------------------------------------------------

    def submit(self, words: str) -> None:
        """What the person sent: a command, a task, or words for the model at work."""
        self._call(self._take, words)

    def stop(self) -> None:
        """End what goes on now; what was said stays."""
        self._call(self._stop)

    def show_details(self) -> None:
        """What a key wishes leaves no line behind."""
        self._call(self._show_details)

    def close(self) -> None:
        """End everything; `live` returns soon."""
        self._closing = True  # before there is a loop, too
        self._call(self._close)

    def set_mode(self, mode: Mode) -> None:
        """From the next task on; questions heed it at once."""
        self.mode = self.status.mode = mode
        self.terminal.redraw()

    def take_back(self) -> str:
        """What was sent last and waits still, to be written anew; "" where nothing waits."""
        with suppress(IndexError):
            words = self.queue.pop()
            self._show_queue()
            return words
        return ""

    def _call(self, do: Any, *args: Any) -> None:
        call_in(self._loop, partial(do, *args))

    # --- the loop ----------------------------------------------------------------------------

    async def live(self, ready: "Callable[[Talk], None]") -> None:
        """Do what is sent until `close`; `ready` hears when something can be.

        Raises KithError where the folder or the settings are unfit.
        """
        from kith.terminal.conversation.opening import open_conversation

        self._loop = asyncio.get_running_loop()
        self._task = asyncio.ensure_future(open_conversation(self))
        try:
            await self._begin(self._task)
            if not self._closing:
                ready(self)
            await self._do_all()
        finally:
            await self._end()

    async def _begin(self, opening: "asyncio.Future[None]") -> None:
        """Open the conversation, unless the person leaves meanwhile."""
        if self._closing:
            opening.cancel()
        try:
            await opening
        except asyncio.CancelledError:
            self._closing = True
        finally:
            self._task = None

    async def _do_all(self) -> None:
        while not self._closing:
            try:
                words = self.queue.popleft()  # the person may take it back at any moment
            except IndexError:
                self.terminal.ready()
                self._something.clear()
                await self._something.wait()
            else:
                await self._do_one(words)

    async def _end(self) -> None:
        """Let go of what is held open, whatever ended the conversation, and say how to go on with it."""
        if self.opened:
            await self.opened.aclose()
        project: Project | None = getattr(self, "project", None)
        if project and project.servers:
            await project.servers.aclose()
        if project and self.past.started:
            self.say(f"To go on with it: kith -r {self.id[:6]}", "dim")

    async def _do_one(self, words: str) -> None:
        self._show_queue()
        self.working = True
        self._task = asyncio.ensure_future(self._answer(words))
        try:
            await self._task
        except (asyncio.CancelledError, KeyboardInterrupt):
            self.voice.rest()
            if not self._closing:
                self.say(STOPPED, "yellow")
        finally:
            self.working, self._task = False, None
            self.voice.rest()
            self._gather_unheard()

    async def _answer(self, words: str) -> None:
        """A command or a task; a person's mistake costs one sentence."""
        from kith.terminal.conversation.commands import answer

        try:
            await answer(self, words)
        except KithError as error:
            self.voice.rest()
            self.say(printable(str(error)), "red")

    def _take(self, words: str) -> None:
        from kith.terminal.conversation.commands import at_any_time

        if self.working and (now := at_any_time(words)):
            self.terminal.echo(words)
            self._look(now, words.partition(" ")[2].strip())
            return
        if self.working and self.at_work and not words.startswith(("/", "!")):
            self._steer(words)
            return
        self.queue.append(words)
        if self.working:
            self._show_queue()
        self._something.set()

    def _show_details(self) -> None:
        from kith.terminal.conversation.commands.table import slash_commands

        self._look(slash_commands()["details"].run.load(), "")

    def _look(self, now: Any, rest: str) -> None:
        """Begin what only looks, whatever is done meanwhile."""
        beside = asyncio.ensure_future(self._answer_beside(now, rest))
        self._beside.add(beside)
        beside.add_done_callback(self._end_beside)

    async def _answer_beside(self, now: Any, rest: str) -> None:
        try:
            await now(self, rest)
        except KithError as error:
            self.say(printable(str(error)), "red")

    def _end_beside(self, done: "asyncio.Future[None]") -> None:
        self._beside.discard(done)
        if not done.cancelled():
            done.result()

    def _stop(self) -> None:
        if self._task:
            self._task.cancel()

    def _close(self) -> None:
        self._closing = True
        self.queue.clear()
        self._something.set()
        self._stop()

    # --- steering ----------------------------------------------------------------------------

    def _steer(self, words: str) -> None:
        """The model hears it before it thinks again."""
        from kith.memory.inbox import Inbox, Letter

        Inbox(self.project.log, self.id).write(Letter(words, by="the terminal"))
        self.steering.append(words)
        self._show_queue()

    def _gather_unheard(self) -> None:
        """What no model heard before its work was over is the next task."""
        if not self.steering:
            return
        from kith.memory.inbox import Inbox

        unheard = [letter.words for letter in Inbox(self.project.log, self.id).letters()]
        self.steering.clear()
        if unheard:
            self.queue.appendleft("\n\n".join(unheard))
        self._show_queue()

    def _show_queue(self) -> None:
        arrow = self.terminal.look.glyphs.arrow
        lines = [f"  {arrow} {_first(words)}  (heard at the next step)" for words in tuple(self.steering)]
        lines += [f"  {arrow} {_first(words)}  (afterwards; Up takes it back)" for words in tuple(self.queue)]
        if len(lines) > _WAITING:
            lines = [f"  {arrow} {len(lines) - _WAITING + 1} more", *lines[1 - _WAITING :]]
        rows = [(Span(line, "dim"),) for line in lines]
        self.terminal.live("queue", self.terminal.look.paint(rows))

    # --- tasks -------------------------------------------------------------------------------

    def say(self, text: str, style: str = "") -> None:
        """Words of kith's own; what is foreign in them was made printable."""
        self.terminal.show(text, style=style)

    async def do(self, words: str, *, plan: bool = False) -> "Result":
        """Give a task to the model, in a trial. Cancelled when the person stops it."""
        from kith.agent.tasks import Task

        plan = plan and self.mode != "plan"
        with self.session() as session:
            try:
                await self.open_model()
            except KithError:
                self.terminal.prefill(words)  # for when there is somebody to hear them
                raise
            if self.notes:
                words, self.notes = "\n\n".join([words, *self.notes]), []
            return await self._run(self.allowed, session, Task(words, "show" if plan else "no"))

    async def _run(self, project: "Project", session: Any, task: Any) -> "Result":
        from kith.agent.tasks import run_in

        try:
            result = await run_in(project, session, task, self.answer, self.opened)
        except asyncio.CancelledError:
            self._keep_partial(session)
            raise
        self.show_result(result)
        return result

    async def go_on(self) -> "Result":
        """Go on with the last task where its process ended. Raises UsageError where there is nothing to."""
        from kith.agent.tasks import Task

        with self.session() as session:
            await self.open_model()
            return await self._run(self.project, session, Task("", resume=self.id))

    def session(self) -> Any:
        """The session, open for one piece of work whose events are shown."""
        return _Open(self)

    async def open_model(self) -> None:
        """Have the model ready, where it is not chosen for each task."""
        if self.opened is None and not self.project.settings.is_routed:
            self.voice.wait_for_model()
            with suppress(NoModelError):  # the run itself says what to do about it
                self.opened = await self.project.open_model(self.hear)

    def hear(self, event: Event, path: tuple[str, ...] = ()) -> None:
        """An event of the session, or of a model that is opened."""
        self.status.hear(event)
        if isinstance(event, Said) and event.message.author == "person":
            self._note_heard(event.message.text)
        self.voice.hear(event, path)

    def _note_heard(self, words: str) -> None:
        if words in self.steering:
            self.steering.remove(words)
            self._show_queue()
            self.terminal.echo(words)

    async def answer(self, question: Question) -> Answer:
        """Put a question to the person, one at a time; in auto mode only the last one."""
        from kith.terminal.questions import ask

        if self.mode == "auto" and question.kind == "tool" and question.effect != "exec":
            return Answer("no", "nobody is asked in auto mode", by="auto mode")
        async with self._asking:
            self.voice.rest()
            return await ask(self.terminal, question)

    def _keep_partial(self, session: Any) -> None:
        """What a model said before it was stopped belongs to the conversation."""
        from kith.agent.tasks import THREAD

        if said := self.voice.said.strip():
            author = self.opened.facts.name if self.opened else ""
            session.emit(Said(THREAD, Message("assistant", (Text(said),), author, complete=False)))

    def show_result(self, result: "Result") -> None:
        """How a task ended."""
        from kith.terminal.conversation.results import show_result

        show_result(self, result)


class _Open:
    """The conversation's session while something is done in it."""

    def __init__(self, talk: Talk) -> None:
        from kith.memory.session import Session

        self._talk, self._session = talk, Session(talk.project.log, talk.id)

    def __enter__(self) -> Any:
        session = self._session.__enter__()
        session.listeners.append(self._talk.hear)
        self._talk.voice.begin()
        self._talk.at_work = True
        return session

    def __exit__(self, *error: Any) -> None:
        self._talk.at_work = False
        self._session.__exit__(*error)


def _first(words: str) -> str:
    return printable(words.strip().split("\n")[0])[:60]
