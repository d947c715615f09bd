"""A terminal that is asked one prompt at a time: `kith run` and its kin, between lines that stay."""

import asyncio
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kith.faces.rendering.keys import fit_keys

if TYPE_CHECKING:
    from prompt_toolkit.output import Output
    from rich.console import Console, RenderableType

    from kith.faces.rendering.look import Look
    from kith.faces.rendering.spans import Line


class ConsoleScreen:
    """The `Screen` of a rich console."""

    def __init__(self, console: "Console") -> None:
        self.console = console

    @property
    def width(self) -> int:
        return self.console.width

    @property
    def look(self) -> "Look":
        from kith.faces.rendering.look import Look

        return Look.of(self.console.file, self.console.is_terminal)

    def show(self, *what: "RenderableType", style: str = "") -> None:
        """Text is taken as it is, and broken by the terminal."""
        for each in what:
            self.console.print(each, style=style or None, markup=False, soft_wrap=isinstance(each, str))

    def show_lines(self, lines: "Iterable[Line]") -> None:
        """Lines of roles, as the terminal can show them."""
        self.console.file.write(self.look.paint(lines))
        self.console.file.flush()

    async def press(self, words: str, keys: Sequence[str], *, follows: bool = False) -> str:
        """One key; Ctrl-C cancels the run, end of input means "n"."""
        return await press("\n".join(fit_keys(f"{words}: ", self.width)), keys, follows=follows)

    async def type_line(self, words: str, draft: str = "") -> str:
        """A line of text; "" at the end of input, which Ctrl-D is."""
        return await type_line(f"{words} ", draft)

    async def pick(self, words: str, rows: Sequence[str], chosen: int = 0) -> int | None:
        """A row by its number, typed."""
        for number, row in enumerate(rows, 1):
            self.show(f"{number:3} {row}")
        said = await type_line(f"{words} (a number) ", str(chosen + 1))
        return int(said) - 1 if said.isdigit() and 0 < int(said) <= len(rows) else None

    async def edit(self, content: bytes, name: str) -> bytes:
        """A visit to the editor."""
        from kith.faces.editor import open_editor

        after, fault = await open_editor(content, name)
        if fault:
            self.show(fault, style="red")
        return after

    async def view(self, title: str, lines: "Iterable[Line]") -> None:
        """In a pager, where there is one."""
        import pydoc

        os.environ.setdefault("LESS", "FRX")  # colours, as git asks for them
        pydoc.pager(self.look.paint(lines))


async def press(words: str, keys: Sequence[str], *, follows: bool = False) -> str:
    """One key of `keys`; Ctrl-C cancels the run, end of input means "n".

    A key that was pressed before the question was seen is no answer to it, unless this `follows` one.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.input.typeahead import clear_typeahead
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()

    def bind(key: str) -> None:
        @bindings.add(key)
        def _(event: KeyPressEvent) -> None:
            event.app.current_buffer.text = "" if key == "escape" else key
            event.app.exit(result=key)

    for key in keys:
        bind(key)

    @bindings.add("enter")
    @bindings.add("c-j")
    @bindings.add("<any>")
    def _(event: KeyPressEvent) -> None:
        """Any other key does nothing."""

    session = PromptSession[str](key_bindings=bindings, output=_stderr())
    if not follows:
        clear_typeahead(session.app.input)
        drop_type_ahead()
    with _ctrl_c_cancels():
        try:
            return await session.prompt_async(words)
        except EOFError:
            return "n"


async def type_line(words: str, draft: str = "") -> str:
    """A line of text; "" at the end of input, which Ctrl-D is."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        """Enter alone may belong to the key before, and what is typed next must not be taken for keys."""
        if event.app.current_buffer.text.strip():
            event.app.current_buffer.validate_and_handle()

    session = PromptSession[str](key_bindings=bindings, output=_stderr(), placeholder="(Ctrl-D goes back)")
    with _ctrl_c_cancels():
        try:
            return (await session.prompt_async(words, default=draft)).strip()
        except EOFError:
            return ""


@contextmanager
def _ctrl_c_cancels() -> Iterator[None]:
    """At a prompt Ctrl-C is a key; it means the same there as anywhere else."""
    try:
        yield
    except KeyboardInterrupt:
        raise asyncio.CancelledError from None


def drop_type_ahead() -> None:
    """Forget what was typed and not read yet."""
    if sys.stdin.isatty() and sys.platform != "win32":
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _stderr() -> "Output":
    from prompt_toolkit.output import create_output

    return create_output(stdout=sys.stderr)
