"""A terminal that is asked one prompt at a time: `kith run` and its kin, between lines that stay."""

import asyncio
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kith.terminal.editor import open_editor
from kith.terminal.rendering.look import Look
from kith.terminal.rendering.panels import fit_keys
from kith.terminal.rendering.spans import Line
from kith.terminal.screen import LEAVE, SAY, plain_key

if TYPE_CHECKING:
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.output import Output
    from rich.console import Console, RenderableType


_WORD_S: Final = 0.3  # a letter that comes so soon after another one makes words of both


class ConsoleScreen:
    """The `Screen` of a rich console."""

    def __init__(self, console: "Console") -> None:
        self.console = console
        self._said = ""  # words that came where a key was asked for

    @property
    def width(self) -> int:
        return self.console.width

    @property
    def look(self) -> Look:
        return Look.of(self.console.file, self.console.is_terminal)

    def show(self, *what: "RenderableType", style: str = "") -> None:
        """Text is taken as it is, and broken by the terminal."""
        for each in what:
            self.console.print(each, style=style or None, markup=False, soft_wrap=isinstance(each, str))

    def show_lines(self, lines: Iterable[Line]) -> None:
        """Lines of roles, as the terminal can show them."""
        self.console.file.write(self.look.paint(lines))
        self.console.file.flush()

    async def press(self, words: str, keys: Sequence[str], *, follows: bool = False) -> str:
        """One key, or `SAY` for words, which `type_line` gives; Ctrl-C cancels, end of input means "n"."""
        asked = "\n".join(fit_keys(f"{words}: ", self.width))
        key, self._said = await press(asked, keys, follows=follows)
        return key

    async def type_line(self, words: str, draft: str = "") -> str:
        """A line of text; "" at the end of input, which Ctrl-D is."""
        said, self._said = self._said, ""
        return said or await type_line(f"{words} ", draft)

    async def pick(self, words: str, rows: Sequence[str], chosen: int = 0) -> int | None:
        """A row by its number, typed."""
        for number, row in enumerate(rows, 1):
            self.show(f"{number:3} {row}")
        said = await type_line(f"{words} (a number) ", str(chosen + 1))
        return int(said) - 1 if said.isdigit() and 0 < int(said) <= len(rows) else None

    async def edit(self, content: bytes, name: str) -> bytes:
        """A visit to the editor."""
        after, fault = await open_editor(content, name)
        if fault:
            self.show(fault, style="red")
        return after

    async def view(self, title: str, lines: Iterable[Line]) -> None:
        """In a pager, where there is one."""
        import pydoc

        os.environ.setdefault("LESS", "FRX")  # colours, as git asks for them
        pydoc.pager(self.look.paint(lines))


async def press(words: str, keys: Sequence[str], *, follows: bool = False) -> tuple[str, str]:
    """One key of `keys`, or words in place of one, which come with the key `SAY`.

    Ctrl-C cancels the run, end of input means "n". A key that was pressed before the question was seen is no
    answer to it, unless this `follows` one.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.input.typeahead import clear_typeahead

    bindings = _key_bindings(keys, may_say=SAY in keys and not follows)
    session = PromptSession[str](key_bindings=bindings, output=_stderr())
    if not follows:
        clear_typeahead(session.app.input)
        drop_type_ahead()
    with _ctrl_c_cancels():
        try:
            said = await session.prompt_async(words)
        except EOFError:
            return "n", ""
    key = said if said in keys else plain_key(said, keys)
    return (key, "") if key else (SAY, said)


def _key_bindings(keys: Sequence[str], may_say: bool) -> "KeyBindings":
    """Each key answers; where words are an answer, too (`may_say`), a second letter makes words of both."""
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()

    def bind(key: str) -> None:
        @bindings.add(key)
        def _(event: KeyPressEvent) -> None:
            _take_key(event, key, may_say)

    for key in keys:
        bind(key)

    @bindings.add("enter")
    @bindings.add("c-j")
    def _(event: KeyPressEvent) -> None:
        line = event.app.current_buffer.text
        if line.strip() and not event.app.is_done:
            event.app.exit(result=line)

    @bindings.add("<any>")
    def _(event: KeyPressEvent) -> None:
        """Any other key does nothing, or begins words."""
        if may_say and event.data.isprintable():
            event.app.current_buffer.insert_text(event.data)

    return bindings


def _take_key(event: "KeyPressEvent", key: str, may_say: bool) -> None:
    """A key answers, unless it belongs to words."""
    app, line = event.app, event.app.current_buffer
    letter = "" if key == LEAVE else key
    if line.text:
        line.insert_text("" if line.text == letter else letter)  # pressed twice, or words
        return
    line.insert_text(letter)
    if not may_say or key == LEAVE:
        app.exit(result=key)
    elif app.loop:
        app.loop.call_later(_WORD_S, _answer, event, key)


def _answer(event: "KeyPressEvent", key: str) -> None:
    """Nothing came behind the letter, so it was a key."""
    app = event.app
    if app.is_running and not app.is_done and app.current_buffer.text == key:
        app.exit(result=key)


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
