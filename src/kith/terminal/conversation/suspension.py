"""Give a conversation's terminal to an editor, a viewer or the shell, and take it back."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import FormattedTextControl, HSplit, Layout, Window

_END_S: Final = 3.0  # who has the terminal may take so long to give it back
_NOTICE_S: Final = 0.05  # until the loop has heard of a signal


class Suspension:
    """Who has the terminal of an application; `draw` shows what waits. All in the terminal's thread."""

    def __init__(self, app: Application[int], draw: Callable[[], None]) -> None:
        self._app, self._draw = app, draw
        self._visits: list[asyncio.Task[object] | None] = []

    @property
    def is_suspended(self) -> bool:
        """Whether somebody else has it now."""
        return bool(self._visits)

    @asynccontextmanager
    async def suspended(self) -> AsyncIterator[None]:
        """While it is entered, nothing is drawn and no keys are read."""
        self._draw()
        visit = asyncio.current_task()
        self._visits.append(visit)
        try:
            async with in_terminal():
                yield
        finally:
            self._visits.remove(visit)
            if self._app.is_running:
                self._draw()

    async def end(self) -> None:
        """Have it back, whoever has it."""
        visits = [visit for visit in self._visits if visit]
        for visit in visits:
            visit.cancel()
        if visits:
            await asyncio.wait(visits, timeout=_END_S)

    # --- the shell ---------------------------------------------------------------------------

    async def stop_process(self) -> None:
        """Ctrl-Z: the shell has the terminal until it gives it back."""
        async with self.suspended():
            self._stop(0)
            await asyncio.sleep(_NOTICE_S)

    def heed_shell(self) -> None:
        """Leave the terminal in order when somebody stops this process, and find it again afterwards."""
        if sys.platform != "win32":
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGTSTP, self._hear_stop)
            loop.add_signal_handler(signal.SIGCONT, self._hear_continue)

    def _hear_stop(self) -> None:
        if self.is_suspended:
            self._stop(os.getpid())  # who has it looks after it
        else:
            self._app.create_background_task(self.stop_process())

    def _stop(self, processes: int) -> None:
        """Stop, as a process does that heeds no signal; returns when it goes on."""
        if sys.platform != "win32":
            loop = asyncio.get_running_loop()
            loop.remove_signal_handler(signal.SIGTSTP)
            os.kill(processes, signal.SIGTSTP)
            loop.add_signal_handler(signal.SIGTSTP, self._hear_stop)

    def _hear_continue(self) -> None:
        """After a stop that nobody could see coming, the shell left the terminal as it likes it."""
        if not self.is_suspended and self._app.is_running and _echoes():
            self._app.input.raw_mode().__enter__()  # the first one knows how it was before
            self._app.renderer.reset()
            self._draw()


def _echoes() -> bool:
    """Whether the terminal shows what is typed by itself, as no conversation wants it."""
    if sys.platform == "win32":
        return False
    import termios

    return bool(termios.tcgetattr(sys.stdin.fileno())[3] & termios.ECHO)


# Something long on a screen of its own: to be scrolled through, and left by Esc or q.


class _Page:
    """Lines, each with its own colours, and the first of them that is seen."""

    def __init__(self, text: str) -> None:
        self.lines = text.rstrip("\n").split("\n")
        self.first = 0

    def move(self, rows: int, height: int) -> None:
        self.first = max(0, min(self.first + rows, len(self.lines) - height))

    def shown(self, height: int) -> StyleAndTextTuples:
        found: StyleAndTextTuples = []
        for line in self.lines[self.first : self.first + height]:
            found += [*to_formatted_text(ANSI(line)), ("", "\n")]
        return found


async def view(title: str, text: str) -> None:
    """Show a text with colours (ANSI) until a key says that it is enough."""
    page, keys = _Page(text), KeyBindings()

    def height() -> int:
        return app.output.get_size().rows - 1

    def bind(rows: int, *names: str) -> None:
        for name in names:

            @keys.add(name)
            def _(event: KeyPressEvent) -> None:
                page.move(rows, height())

    bind(-1, "up", "k", "c-p")
    bind(1, "down", "j", "c-n", "enter")
    bind(-20, "pageup", "b", "c-b")
    bind(20, "pagedown", "space", "c-f")
    bind(-len(page.lines), "home", "g")
    bind(len(page.lines), "end", "G")

    @keys.add("q")
    @keys.add("escape", eager=True)
    @keys.add("c-c")
    @keys.add("c-d")
    @keys.add("c-o")
    def _(event: KeyPressEvent) -> None:
        event.app.exit()

    foot = f" {title}   arrows and PageDown move, q goes back"
    body = Window(FormattedTextControl(lambda: page.shown(height()), show_cursor=False), wrap_lines=False)
    bar = Window(FormattedTextControl(foot), height=1, style="reverse")
    app: Application[None] = Application(
        layout=Layout(HSplit([body, bar])), key_bindings=keys, full_screen=True
    )
    app.ttimeoutlen = 0.05
    await app.run_async()
