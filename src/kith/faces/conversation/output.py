"""A terminal that gets each picture in one piece, so that nothing flickers."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prompt_toolkit.output import Output

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
