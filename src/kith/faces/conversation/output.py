"""A terminal that gets each picture in one piece, so that nothing flickers."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prompt_toolkit.output import Output
    from prompt_toolkit.renderer import Renderer

# Terminals that know it draw nothing between the two; the others ignore both (DEC private mode 2026,
# https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036).
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"


def open_output() -> "Output":
    """The terminal on stdout; where it is one of Unix's, it can be written `at_once`."""
    from prompt_toolkit.output import create_output
    from prompt_toolkit.output.vt100 import Vt100_Output

    if sys.platform == "win32" or not sys.stdout.isatty():
        return create_output()

    class OnePiece(Vt100_Output):
        held = False

        def flush(self) -> None:
            if not self.held:
                super().flush()

    output = OnePiece.from_pty(sys.stdout)
    output.enable_cpr = False  # where the cursor is need not be known, and asking would delay the first key
    return output


def wipe(renderer: "Renderer") -> None:
    """Take the last picture away, line by line, and stand where it began.

    prompt_toolkit clears to the end of the screen at once; from the top left corner, tmux takes that for a
    screen that is to be kept, and puts the picture into its history.
    """
    output, drawn = renderer.output, renderer.last_rendered_screen
    output.cursor_backward(renderer._cursor_pos.x)
    output.cursor_up(renderer._cursor_pos.y)
    rows = drawn.height if drawn else 0
    output.write_raw("\x1b[2K" + "\x1b[1B\x1b[2K" * (rows - 1))
    output.cursor_up(max(rows - 1, 0))
    output.reset_attributes()
    output.enable_autowrap()
    renderer.reset()


@contextmanager
def at_once(output: "Output") -> Iterator[None]:
    """All that is written meanwhile reaches the terminal in one write."""
    if getattr(output, "held", True):  # it cannot, or does already
        yield
        return
    output.held = True  # type: ignore[attr-defined]
    output.write_raw(_BEGIN)
    try:
        yield
    finally:
        output.write_raw(_END)
        output.held = False  # type: ignore[attr-defined]
        output.flush()
