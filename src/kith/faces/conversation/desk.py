"""The two threads of a conversation, joined: one owns the terminal and the keys, the other all the work."""

import asyncio
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import Any, Final

from kith.core.errors import KithError
from kith.faces.conversation.keys import make_keys
from kith.faces.conversation.statusline import StatusLine
from kith.faces.conversation.talk import MODES, Beginning, Talk
from kith.faces.conversation.terminal import Terminal

_END_S: Final = 10.0  # work that is asked to end may take so long


class Desk:
    """What the keys do (`Wishes`), and when the two threads begin and end."""

    def __init__(self, root: Path, flags: Mapping[str, Any], begin: Beginning) -> None:
        self._status = StatusLine()
        self.terminal = Terminal(
            lambda words: self.talk.submit(words),
            self._status.line,
            keys=make_keys(lambda: self.terminal, self),
        )
        self.talk = Talk(root, flags, self.terminal, self._status, begin)
        self._fault: BaseException | None = None
        self._worker = Thread(target=self._work, daemon=True, name="kith-work")
        self._code = 0

    def run(self) -> int:
        """Until the person leaves; returns the exit code. Raises KithError where nothing could begin."""
        code = asyncio.run(self._live())
        if self._fault:
            raise self._fault
        return code

    async def _live(self) -> int:
        loop = asyncio.get_running_loop()
        if sys.platform != "win32":
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self.terminal.leave, 128 + number)
        self.terminal.app.after_render += self._begin
        code = await self.terminal.run()
        self.talk.close()
        if self._worker.is_alive():
            await loop.run_in_executor(None, self._worker.join, _END_S)
        return code

    def _begin(self, app: Any) -> None:
        """The work begins once the first key can be taken."""
        self.terminal.app.after_render -= self._begin
        self._worker.start()

    def _work(self) -> None:
        sys.setswitchinterval(0.001)  # a key is not kept waiting by the work
        try:
            asyncio.run(self.talk.live())
        except KithError as error:
            self._fault = error
        except BaseException as error:
            self._fault = error
            raise
        finally:
            self.terminal.leave()

    # --- what the keys wish ------------------------------------------------------------------

    @property
    def working(self) -> bool:
        return self.talk.working

    def stop(self) -> None:
        self.talk.stop()

    def leave(self) -> None:
        self.terminal.leave()

    def go_back(self) -> None:
        self.talk.submit("/back")

    def next_mode(self) -> None:
        self.talk.mode = MODES[(MODES.index(self.talk.mode) + 1) % len(MODES)]
        self._status.mode = self.talk.mode
        self.terminal.live("mode", None)

    def toggle_todo(self) -> None:
        self.talk.voice.todo_open = not self.talk.voice.todo_open
        self.talk.voice.set_todo(self.talk.voice.todo)

    def show_details(self) -> None:
        self.talk.submit("/details")

    def take_back(self) -> str:
        return self.talk.take_back()
