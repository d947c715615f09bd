"""A text in the person's own editor."""

import asyncio
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kith.core.processes import Started, Watch, happens, start

_EDITOR_S: Final = 2.0  # an editor that is asked to leave may take so long


async def open_editor(content: bytes, name: str, chosen: str = "") -> tuple[bytes, str]:
    """The content after a visit to `chosen`, $VISUAL or $EDITOR; unchanged, and why, if that went wrong."""
    editor = chosen or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder, _terminal_as_it_was():
        file = Path(folder) / Path(name).name
        file.write_bytes(content)
        try:
            process = await start(lambda: Watch(()), [*shlex.split(editor), str(file)])
            code = await _wait_or_end(process)
        except (OSError, ValueError) as error:
            return content, f"The editor {editor!r} cannot be started: {error}."
        if code:
            return content, f"The editor ended with {code}; nothing was taken over."
        return file.read_bytes(), ""


async def _wait_or_end(process: Started[Watch]) -> int | None:
    """Wait for the end of a process; end it where its answer came from elsewhere."""
    try:
        await process.watch.exited.wait()
        return process.code
    except asyncio.CancelledError:
        process.terminate()
        await happens(process.watch.exited, _EDITOR_S)
        raise
    finally:
        await process.end()


@contextmanager
def _terminal_as_it_was() -> Iterator[None]:
    """An editor that is ended may leave the terminal raw."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        yield
        return
    import termios

    before = termios.tcgetattr(sys.stdin.fileno())
    try:
        yield
    except asyncio.CancelledError:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)
        raise
