"""A terminal that gets each picture in one piece, so that nothing flickers."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.renderer import Renderer

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
    """How many rows each line of the last picture takes: a terminal that became narrower wraps its lines."""
    drawn, size = renderer.last_rendered_screen, renderer._last_size
    if not (drawn and size):
        return []
    if columns >= size.columns or not _rewraps():
        return [1] * drawn.height
    lines = (drawn.data_buffer[number] for number in range(drawn.height))
    used = (max((at for at, cell in line.items() if cell.char != " "), default=0) for line in lines)
    return [last // columns + 1 for last in used]


def _rewraps() -> bool:
    """Whether a resize wraps lines anew: all terminals do, but xterm, GNU screen and Windows' console."""
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
