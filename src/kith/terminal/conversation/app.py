"""`kith`: a conversation in a folder; one thread owns the terminal and the keys, the other all the work."""

import argparse
import asyncio
import errno
import logging
import os
import signal
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, Final, Protocol

from kith.core.errors import UsageError
from kith.core.event_loop import handle_signal, hangups, run_loop
from kith.core.feature import Lazy
from kith.settings import find_folders, load_settings
from kith.terminal.conversation.live_screen import LiveScreen
from kith.terminal.conversation.modes import Mode, badge, next_mode
from kith.terminal.options import find_root, settings_flags
from kith.terminal.rendering.look import Look
from kith.terminal.screen import Screen
from kith.terminal.streams import is_lively
from kith.view.printing import printable

_END_S: Final = 10.0  # work that is asked to end may take so long
_GONE: Final = (errno.EIO, errno.EBADF, errno.EPIPE, errno.ENXIO)  # what a closed terminal says
_HUNG_UP: Final = 129  # as a shell says it: 128 and the signal's number
_SWITCH_S: Final = 0.001  # the work lets the keys have their turn after so long


class OwnedTerminal(LiveScreen, Protocol):
    """A live screen, for the thread that owns the terminal."""

    @property
    def is_suspended(self) -> bool: ...
    async def run(self, begin: Callable[[], None], end: Callable[[], Awaitable[None]]) -> int: ...


class Work(Protocol):
    """The work of a conversation, for the thread that owns the terminal."""

    @property
    def working(self) -> bool: ...
    @property
    def mode(self) -> Mode: ...
    def set_mode(self, mode: Mode) -> None: ...
    def toggle_todo(self) -> None: ...
    def status(self, width: int) -> str: ...
    def submit(self, words: str) -> None: ...
    def stop(self) -> None: ...
    def show_details(self) -> None: ...
    def take_back(self) -> str: ...
    def close(self) -> None: ...
    async def live(self, ready: Callable[[], None]) -> None: ...


# Loaded when it is their turn: the keys work before the code of the work is there.
_open_terminal: Final[Lazy[Callable[..., OwnedTerminal]]] = Lazy(
    "kith.terminal.conversation.keys:open_terminal"
)
_plain_terminal: Final[Lazy[Callable[..., OwnedTerminal]]] = Lazy(
    "kith.terminal.conversation.plain:PlainTerminal"
)
_open_talk: Final[Lazy[Callable[..., object]]] = Lazy("kith.terminal.conversation.talk:open_talk")
_begin_work: Final[Lazy[Callable[[Any, str], Work]]] = Lazy("kith.terminal.conversation.driver:Driver")


class ConversationApp:
    """The actions of keys (`KeyActions`), and the start and end of the two threads.

    The first key is taken before the work's code is even loaded: until then there is no work. Of the two
    kinds of terminals only the one that is wanted is loaded.
    `mode` is the one that the person chose, `resume` the conversation to go on with, `task` what it begins
    with.
    """

    def __init__(
        self,
        root: Path,
        flags: Mapping[str, Any],
        mode: Mode | None = None,
        resume: str = "",
        *,
        task: str = "",
        plain: bool,
    ) -> None:
        self._root, self._flags = root, flags
        self._mode, self._resume = mode, resume
        self._early = deque([task] if task else [])  # what was sent before anybody could work
        self._work: Work | None = None
        self._opening: Work | None = None  # the same, before it can take anything
        self._left = False
        self.terminal = self._plain() if plain else self._lively()
        self._fault: BaseException | None = None
        self._worker = Thread(target=self._do_work, daemon=True, name="kith-work")

    def run(self) -> int:
        """Until the person leaves; returns the exit code. Raises KithError where nothing could begin."""
        code = run_loop(self._live())
        if self._fault:
            raise self._fault
        return code

    def _lively(self) -> OwnedTerminal:
        return _open_terminal.load()(self._submit, self._status, self, Look.choose())

    def _plain(self) -> OwnedTerminal:
        return _plain_terminal.load()(self._submit, self.leave, Look.choose("none"))

    async def _live(self) -> int:
        for number in (signal.SIGTERM, *hangups()):
            handle_signal(number, self.terminal.leave, 128 + number)
        handle_signal(signal.SIGINT, self._interrupt)
        try:
            return await self.terminal.run(self._worker.start, self._end_work)
        except EOFError:
            return _HUNG_UP
        except OSError as error:
            if error.errno not in _GONE:
                raise
            return _HUNG_UP

    async def _end_work(self) -> None:
        """Let what goes on come to an end."""
        self._left = True
        if work := self._work or self._opening:
            work.close()
        if self._worker.is_alive():
            await asyncio.get_running_loop().run_in_executor(None, self._worker.join, _END_S)

    def _interrupt(self) -> None:
        """Ctrl-C that came as a signal: while an editor has the terminal it is meant for that."""
        if self.terminal.is_suspended:
            return
        if self.working:
            self.stop()
        else:
            self.leave()

    def _do_work(self) -> None:
        sys.setswitchinterval(_SWITCH_S)
        try:
            with shown_faults(self.terminal):
                self._converse()
        except BaseException as error:  # whatever it is, the terminal's thread raises it
            self._fault = error
        finally:
            self.terminal.leave()

    def _converse(self) -> None:
        """Greet with what is loaded soonest, and load the rest while the person reads."""
        if self._left:
            return
        talk = _open_talk.load()(self._root, self._flags, self.terminal, self._mode)
        self._opening = _begin_work.load()(talk, self._resume)
        if not self._left:
            run_loop(self._opening.live(self._open))

    def _open(self) -> None:
        """The work can take what was sent meanwhile."""
        work = self._work = self._opening
        if work:
            work.set_mode(self._mode or work.mode)
        self._pass_on()

    def _submit(self, words: str) -> None:
        self._early.append(words)
        self._pass_on()

    def _pass_on(self) -> None:
        """Pass on sent lines as soon as a worker is free; both threads may be here."""
        while self._work and self._early:
            with suppress(IndexError):  # the other one was faster
                self._work.submit(self._early.popleft())

    def _status(self, width: int) -> str:
        return self._work.status(width) if self._work else badge(self._mode or "ask")

    # --- what the keys do --------------------------------------------------------------------

    @property
    def working(self) -> bool:
        return self._work is not None and self._work.working

    def stop(self) -> None:
        if self._work:
            self._work.stop()

    def leave(self) -> None:
        self.terminal.leave()

    def go_back(self) -> None:
        self._submit("/back")

    def next_mode(self) -> None:
        self._mode = next_mode(self._work.mode if self._work else self._mode or "ask")
        if self._work:
            self._work.set_mode(self._mode)

    def toggle_todo(self) -> None:
        if self._work:
            self._work.toggle_todo()

    def show_details(self) -> None:
        if self._work:
            self._work.show_details()
        else:
            self._submit("/details")

    def take_back(self) -> str:
        return self._work.take_back() if self._work else ""


class _ScreenHandler(logging.Handler):
    def __init__(self, screen: Screen) -> None:
        super().__init__(logging.WARNING)
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        """One record, with its traceback; asyncio logs the faults of what nobody awaits."""
        self._screen.show(printable(self.format(record)), style="red")


@contextmanager
def shown_faults(screen: Screen) -> Iterator[None]:
    """While it is entered, nothing that is logged reaches stderr: the screen shows it."""
    handler, root = _ScreenHandler(screen), logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


# `kith`: a conversation in a folder.


def talk_command(args: argparse.Namespace) -> int:
    """A conversation in a folder. Raises UsageError where there is no terminal."""
    if args.yes:
        raise UsageError('--yes belongs to kith run and kith -p "TASK"; in a conversation: kith --mode auto.')
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError('A conversation needs a terminal; for one task: kith run "TASK".')
    plain = args.plain or not is_lively(sys.stdout) or _reads_aloud()
    root = find_root(args.folder)
    app = ConversationApp(
        root, settings_flags(args), args.mode, args.resume, task=" ".join(args.task), plain=plain
    )
    return app.run()


def _reads_aloud() -> bool:
    """True if the person uses a screen reader; other settings are read after the first key."""
    if said := os.environ.get("KITH_SCREEN_READER"):
        return said.lower() in ("1", "true", "yes")
    for name in ("config.toml", "config.yaml"):
        try:
            text = (find_folders()[0] / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if "screen_reader" in text:
            return load_settings(Path.cwd(), {}).screen_reader
    return False
