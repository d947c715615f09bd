"""A conversation's terminal: drawn in one piece, and lent to an editor, a viewer or the shell."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.renderer import Renderer

from kith.terminal.conversation.key_input import FOCUS_OFF, FOCUS_ON

_END_S: Final = 3.0  # who has the terminal may take so long to give it back
_NOTICE_S: Final = 0.05  # until the loop has heard of a signal


class Suspension:
    """The owner of an application's terminal; `draw` shows what waits. All in the terminal's thread."""

    def __init__(self, app: Application[int], draw: Callable[[], None]) -> None:
        self._app, self._draw = app, draw
        self._visits: list[asyncio.Task[object] | None] = []

    @property
    def is_suspended(self) -> bool:
        """True while another program has the terminal."""
        return bool(self._visits)

    @asynccontextmanager
    async def suspended(self) -> AsyncIterator[None]:
        """While it is entered, nothing is drawn and no keys are read."""
        self._draw()
        visit = asyncio.current_task()
        self._visits.append(visit)
        try:
            async with in_terminal():
                self._app.output.write_raw(FOCUS_OFF)
                self._app.output.flush()
                yield
                self._app.output.write_raw(FOCUS_ON)
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
    """True if the terminal echoes what is typed, which a conversation must switch off."""
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


async def view(title: str, text: str, keyboard: Input) -> None:
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
        layout=Layout(HSplit([body, bar])), key_bindings=keys, input=keyboard, full_screen=True
    )
    app.ttimeoutlen = 0.05
    await app.run_async()


# A terminal that gets each picture in one piece, so that nothing flickers.

# Terminals that know it draw nothing between the two; the others ignore both (DEC private mode 2026,
# https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036).
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
_SAVE, _RESTORE = "\x1b7", "\x1b8"  # where the cursor is
_CLEAR = "\x1b[2K"


class _OnePiece(Vt100_Output):
    held = False

    def flush(self) -> None:
        if not self.held:
            super().flush()


def open_output() -> Output:
    """The terminal on stdout; where it is one of Unix's, it can be written `at_once`."""
    if sys.platform == "win32" or not sys.stdout.isatty():
        return create_output()
    output = _OnePiece.from_pty(sys.stdout)
    output.enable_cpr = False  # where the cursor is need not be known, and asking would delay the first key
    return output


def wipe(renderer: Renderer) -> None:
    """Take the last picture away, line by line, and stand where it began; also after a resize.

    prompt_toolkit clears to the end of the screen at once; from the top left corner, tmux takes that for a
    screen that is to be kept, and puts the picture into its history.
    """
    output, x, y = renderer.output, renderer._cursor_pos.x, renderer._cursor_pos.y
    columns = output.get_size().columns
    rows = _rows_now(renderer, columns)
    output.cursor_backward(x)
    output.cursor_up(sum(rows[:y]) + (x // columns if rows[y : y + 1] > [1] else 0))
    # Counting back upwards would go too far where the screen ends sooner than the picture did.
    output.write_raw(_SAVE + _CLEAR + f"\x1b[1B{_CLEAR}" * (sum(rows) - 1) + _RESTORE)
    output.reset_attributes()
    output.enable_autowrap()
    renderer.reset()


def _rows_now(renderer: Renderer, columns: int) -> list[int]:
    """The rows of each line of the last picture: a terminal that became narrower wraps its lines."""
    drawn, size = renderer.last_rendered_screen, renderer._last_size
    if not (drawn and size):
        return []
    if columns >= size.columns or not _rewraps():
        return [1] * drawn.height
    lines = (drawn.data_buffer[number] for number in range(drawn.height))
    used = (max((at for at, cell in line.items() if cell.char != " "), default=0) for line in lines)
    return [last // columns + 1 for last in used]


def _rewraps() -> bool:
    """True if a resize rewraps lines: all terminals do, except xterm, GNU screen and Windows' console."""
    return sys.platform != "win32" and not os.environ.keys() & {"XTERM_VERSION", "STY"}


@contextmanager
def at_once(output: Output) -> Iterator[None]:
    """All that is written meanwhile reaches the terminal in one write."""
    if not isinstance(output, _OnePiece) or output.held:  # it cannot, or does already
        yield
        return
    output.held = True
    output.write_raw(_BEGIN)
    try:
        yield
    finally:
        output.write_raw(_END)
        output.held = False
        output.flush()
