"""A conversation as its commands see it: the project, the session, the model, and the person."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from kith.agent.asking.routes import need_router
from kith.agent.command_output import hearing_commands
from kith.agent.models import listed_name
from kith.agent.project import Opened, Project, Result, hold_servers, tree_at
from kith.core.errors import KithError, NoModelError, UsageError
from kith.core.events import Event, Said
from kith.core.run import new_id, short_session
from kith.core.values import Answer, Question
from kith.memory.inbox import Inbox, Letter
from kith.memory.past import Past
from kith.memory.session import Session
from kith.settings import load_settings
from kith.settings.features import all_parts
from kith.terminal.conversation.item_view import Voice
from kith.terminal.conversation.live_screen import LiveScreen
from kith.terminal.conversation.modes import Mode
from kith.terminal.conversation.status_line import StatusLine
from kith.terminal.questions import ask
from kith.terminal.rendering.markdown import render_said
from kith.terminal.rendering.panels import receipt_panel
from kith.terminal.rendering.spans import Span
from kith.terminal.report import receipt_lines
from kith.view.lines import from_home, shortened
from kith.view.printing import printable

# What the person sent and nobody took up yet: for the model at work, or for its turn.

_SHOWN: Final = 5  # lines of it


class Pending:
    """`steering` is what the model at work has not heard yet, `queue` what comes after it.

    The person may take the last of the queue back at any moment, from another thread.
    """

    def __init__(self, screen: LiveScreen) -> None:
        self._screen = screen
        self.queue: deque[str] = deque()
        self.steering: list[str] = []

    def take_back(self) -> str:
        """Take back the words that were queued last, to be edited; "" where there are none."""
        with suppress(IndexError):
            words = self.queue.pop()
            self.show()
            return words
        return ""

    def steer(self, words: str) -> None:
        """These are in the session's inbox, and the model hears them before it thinks again."""
        self.steering.append(words)
        self.show()

    def was_heard(self, words: str) -> bool:
        """True if these words were waiting, and the model has now heard them."""
        if words not in self.steering:
            return False
        self.steering.remove(words)
        self.show()
        return True

    def gather_unheard(self, inbox: Inbox) -> None:
        """Make a task of words that no model heard before its work was over."""
        if not self.steering:
            return
        unheard = [letter.words for letter in inbox.letters()]
        self.steering.clear()
        if unheard:
            self.queue.appendleft("\n\n".join(unheard))
        self.show()

    def show(self) -> None:
        """All of it, above the line."""
        look = self._screen.look
        arrow = look.glyphs.arrow
        lines = [f"  {arrow} {_first(words)}  (heard at the next step)" for words in tuple(self.steering)]
        lines += [f"  {arrow} {_first(words)}  (afterwards; Up takes it back)" for words in tuple(self.queue)]
        if len(lines) > _SHOWN:
            lines = [f"  {arrow} {len(lines) - _SHOWN + 1} more", *lines[1 - _SHOWN :]]
        self._screen.live("queue", look.paint((Span(line, "dim"),) for line in lines))


def _first(words: str) -> str:
    return shortened(printable(words.strip().split("\n")[0]), 60)


_WAITS: Final = "The change waits: /diff{id}, /apply{id}, /discard{id}"
_NOTHING_APPLIED: Final = ("rejected", "held")  # ends that say so themselves


class Talk:
    """One open conversation in one folder: what a command is given. `Driver` says what is done when.

    All of it belongs to the thread that works; only `set_mode` is for the terminal's thread, too.
    """

    def __init__(self, project: Project, flags: Mapping[str, Any], terminal: LiveScreen) -> None:
        self.project, self.flags = project, flags
        self.terminal, self.status, self.voice = terminal, StatusLine(), Voice(terminal)
        self.status.listed = lambda each: listed_name(self.project.settings, each.model, each.server)
        self.status.more = self._status_words
        self.pending = Pending(terminal)
        self.id = new_id()
        self.mode: Mode = "ask"
        self.opened: Opened | None = None
        self.notes: list[str] = []  # for the model, with the next task: what a council decided, what was run
        self.working = False  # on a task, or on a command that takes time
        self.at_work: Session | None = None  # its session, while something is done in it
        self.closing = False  # the person has left
        self._asking = asyncio.Lock()

    def _status_words(self) -> Iterator[str]:
        """Words of features for the status line, while something is done."""
        if self.working:
            found: Iterator[StatusWords] = all_parts(lambda each: each.status_line)
            yield from (words for find in found if (words := find(self)))

    @property
    def root(self) -> Path:
        return self.project.root

    @property
    def past(self) -> Past:
        return self.project.log.past(self.id)

    @property
    def allowed(self) -> Project:
        """The project as the mode lets it be worked on: in plan mode nothing is written."""
        if self.mode != "plan":
            return self.project
        return replace(self.project, settings=replace(self.project.settings, read_only=True))

    def set_mode(self, mode: Mode) -> None:
        """From the next task on; questions heed it at once."""
        self.mode = self.status.mode = mode
        self.terminal.redraw()

    def enter(self, id: str) -> None:
        """From now on the session is this one; nothing of the former one is carried into it."""
        self.id = id
        self.status.begin_with(self.status.meter.model, self.status.meter.window)
        self.notes.clear()
        self.voice.details.kept.clear()
        self.voice.set_todo(())

    # --- what happens ------------------------------------------------------------------------

    @contextmanager
    def session(self) -> Iterator[Session]:
        """The session, open for one piece of work whose events are shown."""
        with Session(self.project.log, self.id) as session:
            session.listeners.append(self.hear)
            self.voice.begin()
            self.at_work = session
            try:
                with hearing_commands(self.voice.hear_output):
                    yield session
            finally:
                self.at_work = None

    def hear(self, event: Event, path: tuple[str, ...] = ()) -> None:
        """An event of the session, or of a model that is opened."""
        self.status.hear(event)
        if isinstance(event, Said) and event.message.author == "person":
            words = event.message.text
            if self.pending.was_heard(words):
                self.terminal.echo(words)
        self.voice.hear(event, path)

    @property
    def inbox(self) -> Inbox:
        return Inbox(self.project.log, self.id)

    def steer(self, words: str) -> None:
        """The model that works on the session hears it before it thinks again."""
        self.inbox.write(Letter(words, by="the terminal"))

    def submit(self, words: str) -> None:
        """Words that are done in their turn, as if the person had sent them."""
        self.pending.queue.append(words)
        if self.working:
            self.pending.show()

    # --- the person --------------------------------------------------------------------------

    def say(self, text: str, style: str = "") -> None:
        """Words of kith's own; what is foreign in them was made printable."""
        self.terminal.show(text, style=style)

    async def answer(self, question: Question) -> Answer:
        """Put a question to the person, one at a time; in auto mode only the last one."""
        if self.mode == "auto" and question.kind == "tool" and question.effect != "exec":
            return Answer("no", "nobody is asked in auto mode", by="auto mode")
        async with self._asking:
            self.voice.rest()
            self.terminal.notify(f"a question in {self.root.name}")
            return await ask(self.terminal, question)

    def show_result(self, result: Result) -> None:
        """Show the end of a task: its last words, unless they were streamed, and the receipt."""
        text, status = result.report["text"], result.report["status"]
        screen = self.terminal
        screen.notify(f"a task in {self.root.name} ended: {status}")
        if status != "done":
            self.say(printable(text), "red")
        elif text and not self.voice.has_shown(text):
            screen.show_lines(render_said(text, screen.width, screen.look.glyphs))
        if result.report["changes"]:
            lines = receipt_lines({**result.report, "model": self.status.name_of(result.report["model"])})
            screen.show_lines([(), *receipt_panel(lines, screen.width, screen.look.glyphs)])
        if result.report["waiting"]:
            session = result.report["session"]
            said = "" if status in _NOTHING_APPLIED else "Nothing applied. "
            id = "" if session == self.id else f" {short_session(session)}"
            self.say(said + _WAITS.format(id=id), "dim")


# A few words of a feature for the status line of a conversation at work; "" for none.
StatusWords = Callable[[Talk], str]


def open_talk(root: Path, flags: Mapping[str, Any], terminal: LiveScreen, mode: Mode | None = None) -> Talk:
    """Open the project, make the terminal as the person wants it, and greet. Raises KithError.

    `mode` is the one that the person chose; None: as it is set.
    """
    talk = Talk(Project.open(root, flags), flags, terminal)
    chosen = talk.project.settings
    terminal.settle_in(chosen)
    talk.set_mode(mode or chosen.mode)
    talk.say(f"kith in {printable(from_home(str(root)))}", "bold")
    talk.say("/help lists commands, Shift-Tab changes the mode, Ctrl-D leaves", "dim")
    if mended := talk.project.log.mended:
        talk.say(printable(mended), "yellow")
        talk.project.log.mended = ""
    return talk


# Which model a conversation asks: opened when it is needed, chosen anew, let go when settings change.

_CHOSEN_HERE: Final = "the conversation"  # the origin of a setting that was made in one
# Whatever says which model is asked, where and how: the next task opens it anew.
_OF_MODELS: Final = (
    *("model", "window", "stall", "connect", "retries", "retry_seconds"),
    *("sections", "model_folders", "offline", "discovery", "cloud"),
    *("endpoints", "pools", "ollama_host", "openai_base_url", "anthropic_base_url", "gemini_base_url"),
)


async def open_model(talk: Talk) -> None:
    """Have the model ready, unless one is chosen for each task; the task says where there is none."""
    if talk.opened is None and not talk.project.settings.is_routed:
        talk.voice.wait_for_model()
        with suppress(NoModelError):
            talk.opened = await _open_again(talk)


async def need_model(talk: Talk) -> Opened:
    """The model of the conversation, opened. Raises NoModelError, UsageError where kith chooses it anew."""
    if talk.project.settings.is_routed:
        raise UsageError("kith chooses the model of each task here; name one first: /model NAME")
    if talk.opened is None:
        talk.opened = await _open_again(talk)
    return talk.opened


async def _open_again(talk: Talk) -> Opened:
    """The model that the person chose, else the one that answered last here, else any that can be reached."""
    before = "" if talk.project.settings.model or not talk.past.calls else talk.past.calls[-1].model
    if before:
        try:
            return await talk.project.open_model(talk.hear, before)
        except KithError:
            talk.say(f"{printable(before)} cannot be reached. kith looks for another model.", "yellow")
    return await talk.project.open_model(talk.hear)


async def choose_model(talk: Talk, name: str) -> None:
    """Ask this one from now on; the present one stays where it cannot be opened. Raises KithError."""
    chosen, held = talk.project.settings, talk.opened
    origin = {**chosen.origin, "model": _CHOSEN_HERE}
    project = replace(talk.project, settings=replace(chosen, model=name, origin=origin))
    if project.settings.is_routed:
        need_router()
    opened = None if project.settings.is_routed else await project.open_model(talk.hear)
    talk.voice.rest()
    talk.project, talk.opened = project, opened
    talk.status.begin_with(*((opened.facts.name, opened.window) if opened else ("", 0)))
    if held:
        await held.aclose()


async def read_settings(talk: Talk) -> None:
    """Do as the settings say by now; a model that was chosen here stays. Raises UsageError."""
    before, chosen = talk.project.settings, load_settings(talk.root, talk.flags)
    if before.origin.get("model") == _CHOSEN_HERE:
        origin = {**chosen.origin, "model": _CHOSEN_HERE}
        chosen = replace(chosen, model=before.model, origin=origin)
    project = replace(talk.project, settings=chosen, tree=tree_at(talk.root, chosen))
    talk.project = await hold_servers(project)
    talk.terminal.settle_in(chosen)
    if talk.opened and any(getattr(chosen, key) != getattr(before, key) for key in _OF_MODELS):
        held, talk.opened = talk.opened, None
        await held.aclose()
