"""The two threads of a conversation, joined: one owns the terminal and the keys, the other all the work."""

import asyncio
import errno
import signal
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from kith.core.loops import run_loop
from kith.terminal.conversation.modes import Beginning, badge, next_mode
from kith.terminal.rendering.look import Look

if TYPE_CHECKING:
    from kith.terminal.conversation.plain import PlainTerminal
    from kith.terminal.conversation.talk import Talk
    from kith.terminal.conversation.terminal import Terminal

_END_S: Final = 10.0  # work that is asked to end may take so long
_GONE: Final = (errno.EIO, errno.EBADF, errno.EPIPE, errno.ENXIO)  # what a closed terminal says
_HUNG_UP: Final = 129  # as a shell says it: 128 and the signal's number
_SWITCH_S: Final = 0.001  # the work lets the keys have their turn after so long


class Desk:
    """What the keys do (`Wishes`), and when the two threads begin and end.

    The first key is taken before the work's code is even loaded: until then, `talk` is None.
    """

    def __init__(
        self, root: Path, flags: Mapping[str, Any], begin: Beginning, *, plain: bool = False
    ) -> None:
        self._root, self._flags, self._begin_with = root, flags, begin
        self._mode = begin.mode  # as the person chose it; None: as it is set
        self._early: deque[str] = deque()  # what was sent before anybody could work
        self.talk: Talk | None = None
        self._opening: Talk | None = None  # the same, before it can take anything
        self._left = False
        self.terminal = self._plain() if plain else self._lively()
        self._fault: BaseException | None = None
        self._worker = Thread(target=self._work, daemon=True, name="kith-work")

    def run(self) -> int:
        """Until the person leaves; returns the exit code. Raises KithError where nothing could begin."""
        code = run_loop(self._live())
        if self._fault:
            raise self._fault
        return code

    def _lively(self) -> "Terminal":
        from kith.terminal.conversation.keys import make_keys
        from kith.terminal.conversation.terminal import Terminal

        keys = make_keys(lambda: terminal, self)
        terminal = Terminal(self._submit, self._status, keys=keys, look=Look.choose())
        return terminal

    def _plain(self) -> "PlainTerminal":
        from kith.terminal.conversation.plain import PlainTerminal

        return PlainTerminal(self._submit, self, Look.choose("none"))

    async def _live(self) -> int:
        loop = asyncio.get_running_loop()
        if sys.platform != "win32":
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self.terminal.leave, 128 + number)
            loop.add_signal_handler(signal.SIGINT, self._interrupt)
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
        if talk := self.talk or self._opening:
            talk.close()
        if self._worker.is_alive():
            await asyncio.get_running_loop().run_in_executor(None, self._worker.join, _END_S)

    def _interrupt(self) -> None:
        """Ctrl-C that came as a signal: while an editor has the terminal it is meant for that."""
        if self.terminal.is_lent:
            return
        if self.working:
            self.stop()
        else:
            self.leave()

    def _work(self) -> None:
        sys.setswitchinterval(_SWITCH_S)
        try:
            from kith.terminal.conversation.faults import shown_faults
            from kith.terminal.conversation.talk import Talk

            self._opening = Talk(self._root, self._flags, self.terminal, self._begin_with)
            if not self._left:
                with shown_faults(self.terminal):
                    run_loop(self._opening.live(self._open))
        except BaseException as error:  # whatever it is, the terminal's thread raises it
            self._fault = error
        finally:
            self.terminal.leave()

    def _open(self, talk: "Talk") -> None:
        """The work can take what was sent meanwhile."""
        self.talk = talk
        talk.set_mode(self._mode or talk.mode)
        self._pass_on()

    def _submit(self, words: str) -> None:
        self._early.append(words)
        self._pass_on()

    def _pass_on(self) -> None:
        """What was sent, as soon as somebody can work; both threads may be here."""
        while self.talk and self._early:
            with suppress(IndexError):  # the other one was faster
                self.talk.submit(self._early.popleft())

    def _status(self, width: int) -> str:
        return self.talk.status.line(width) if self.talk else badge(self._mode or "ask")

    # --- what the keys wish ------------------------------------------------------------------

    @property
    def working(self) -> bool:
        return self.talk is not None and self.talk.working

    def stop(self) -> None:
        if self.talk:
            self.talk.stop()

    def leave(self) -> None:
        self.terminal.leave()

    def go_back(self) -> None:
        self._submit("/back")

    def next_mode(self) -> None:
        self._mode = next_mode(self.talk.mode if self.talk else self._mode or "ask")
        if self.talk:
            self.talk.set_mode(self._mode)

    def toggle_todo(self) -> None:
        if self.talk:
            self.talk.voice.toggle_todo()

    def show_details(self) -> None:
        if self.talk:
            self.talk.show_details()
        else:
            self._submit("/details")

    def take_back(self) -> str:
        return self.talk.take_back() if self.talk else ""
