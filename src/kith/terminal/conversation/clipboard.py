"""A text on the person's clipboard: by the terminal itself, and by a program of this machine."""

import base64
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from kith.core.processes import run_program
from kith.terminal.conversation.live_screen import LiveScreen

# xterm's control sequences, "OSC 52"; terminals refuse longer ones (https://invisible-island.net/xterm/ctlseqs/).
_OSC: Final = "\x1b]52;c;{}\x07"
_LONGEST: Final = 74_994  # bytes in base 64
_PROGRAM_S: Final = 3.0


async def put_on_clipboard(text: str, screen: LiveScreen) -> str:
    """Copy it; returns in words how. A terminal does not say whether it took it."""
    encoded = base64.b64encode(text.encode()).decode()
    asked = len(encoded) <= _LONGEST
    if asked:
        screen.signal(_OSC.format(encoded))
    for program in _programs():
        if await _feed(program, text):
            return f"with {program[0]}"
    return (
        "by your terminal, if it lets programs do so" if asked else "nowhere: it is too long for the terminal"
    )


def _programs() -> Iterator[Sequence[str]]:
    """The programs that reach a clipboard from here."""
    known: list[tuple[str, ...]] = [("pbcopy",)] if sys.platform == "darwin" else []
    known += [("clip.exe",)] if sys.platform == "win32" or "WSL_DISTRO_NAME" in os.environ else []
    known += [("wl-copy",)] if os.environ.get("WAYLAND_DISPLAY") else []
    if os.environ.get("DISPLAY"):
        known += [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    known += [("tmux", "load-buffer", "-w", "-")] if os.environ.get("TMUX") else []
    yield from (program for program in known if shutil.which(program[0]))


async def _feed(program: Sequence[str], text: str) -> bool:
    """Give the text to a program; whether it took it."""
    with suppress(OSError, TimeoutError):
        # What holds a selection stays behind, so nothing of its is waited for but the first process.
        ended = await run_program(program, seconds=_PROGRAM_S, input=text.encode(), keep=False)
        return ended.code == 0
    return False
