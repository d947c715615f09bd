"""The terminal of a conversation: what was shown stays above, what lives is below, keys are always free."""

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from prompt_toolkit.application import Application
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import vi_navigation_mode
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.key_binding import KeyBindingsBase
from prompt_toolkit.output import ColorDepth

from kith.core.event_loop import call_in, do_in
from kith.settings import Settings
from kith.terminal.conversation.background import Background, BackgroundQuestion
from kith.terminal.conversation.completion import LineContext
from kith.terminal.conversation.input_line import InputLine
from kith.terminal.conversation.key_input import FOCUS_OFF, FOCUS_ON, KeyReader, open_input
from kith.terminal.conversation.layout import STYLE, make_layout
from kith.terminal.conversation.live_screen import Region
from kith.terminal.conversation.notices import Notify, notice
from kith.terminal.conversation.prompts import PromptStack
from kith.terminal.conversation.terminal_output import Suspension, at_once, open_output, view, wipe
from kith.terminal.editor import open_editor
from kith.terminal.rendering.look import Look
from kith.terminal.rendering.spans import Line
from kith.view.printing import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

T = TypeVar("T")
FRAME_S: Final = 1 / 30  # between two pictures, at the least
_DEPTHS: Final = {  # bits of a colour
    0: ColorDepth.MONOCHROME,
    1: ColorDepth.MONOCHROME,
    4: ColorDepth.ANSI_COLORS_ONLY,
    8: ColorDepth.DEFAULT,
    24: ColorDepth.TRUE_COLOR,
}
BEAT_S: Final = 0.1  # between two pictures of what moves by itself
REGIONS: Final = ("stream", "activity", "todo", "queue", "question")  # from top to bottom
QUIET: Final = ("queue", "question")  # while a key is asked for
MOVING: Final = ("stream", "activity", "todo")  # those that may be different without a word


class Terminal:
    """The `Screen` of a conversation; `show`, `live` and the questions may be called from any thread.

    `submit` gets what the person sends, `status` makes the last line for so many columns.
    """

    def __init__(
        self,
        submit: Callable[[str], None],
        status: Callable[[int], str] = lambda width: "",
        *,
        keys: KeyBindingsBase | None = None,
        look: Look,
    ) -> None:
        self.submit, self.status = submit, status
        self._above: deque[str] = deque()
        self._gapped = False  # the last line is a blank one that stands between two things
        self._regions: dict[str, Region] = {}
        self._height = 0  # lines of the regions in the last picture
        self._console: Console | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken = asyncio.Event()
        self.look = look
        self.line = InputLine()
        self.line.changed, self.line.is_free = self._wake, self._is_free
        self.line.is_dim = lambda: not self.look.is_plain
        self.buffer = self.line.buffer
        self._asking = PromptStack(self.buffer, self._show_question)
        self._hint = ""
        self._editor = ""
        self._notify: Notify = "auto"
        self._background = BackgroundQuestion(self._suit)
        self._is_themed = False  # the person chose the colours
        self.output = open_output()
        self._reader = KeyReader()
        self.app: Application[int] = Application(
            layout=make_layout(self),
            key_bindings=keys,
            style=STYLE,
            input=open_input(self._reader, self._background.answers),
            output=self.output,
            color_depth=lambda: _DEPTHS[self.look.palette.depth],
            erase_when_done=True,
        )
        self.app.ttimeoutlen = 0.05  # Esc is a key of its own
        self.app.timeoutlen = 0.3
        self.app._on_resize = self._draw_anew  # type: ignore[method-assign]
        self.suspension = Suspension(self.app, self._flush)

    # --- life --------------------------------------------------------------------------------

    async def run(self, begin: Callable[[], None], end: Callable[[], Awaitable[None]]) -> int:
        """Until somebody calls `leave`; returns what that gave.

        `begin` is called once keys are taken, `end` before the last words are shown. Raises EOFError or
        OSError where the terminal is gone.
        """
        self._loop = asyncio.get_running_loop()
        self._loop.call_later(FRAME_S, begin)
        if self.look.palette.has_grounds:
            self._loop.call_later(FRAME_S, self.signal, self._background.ask())
        self.suspension.heed_shell()
        drawing = asyncio.ensure_future(self._draw())
        drawing.add_done_callback(self._note_fault)
        self.output.write_raw(FOCUS_ON)
        try:
            return await self.app.run_async(handle_sigint=False)
        finally:
            drawing.cancel()
            await end()
            self.output.write_raw(FOCUS_OFF)
            self._flush()
            self.line.history.close()

    def leave(self, code: int = 0) -> None:
        """End `run`; from any thread."""
        self._in_loop(lambda: asyncio.ensure_future(self._leave(code)))

    async def _leave(self, code: int) -> None:
        await self.suspension.end()
        await self._background.end()
        if self.app.is_running and not self.app.is_done:
            self.app.exit(result=code)

    def _note_fault(self, drawing: "asyncio.Future[None]") -> None:
        """A picture that cannot be drawn ends the conversation: nobody would see that it goes on."""
        if not drawing.cancelled() and (fault := drawing.exception()) and self.app.is_running:
            self.app.exit(exception=fault)

    @property
    def is_suspended(self) -> bool:
        """True while an editor or a viewer has the terminal."""
        return self.suspension.is_suspended

    # --- showing -----------------------------------------------------------------------------

    @property
    def width(self) -> int:
        return self.output.get_size().columns

    def show(self, *what: "RenderableType", style: str = "") -> None:
        """Put this below all that was shown."""
        self._put(self.paint(*what, style=style))

    def show_lines(self, lines: Iterable[Line]) -> None:
        """The same for lines of roles."""
        self._put(self.look.paint(lines))

    def prefill(self, words: str) -> None:
        """Words in the line, where it is empty."""
        self._in_loop(lambda: None if self.buffer.text else self.buffer.insert_text(words))

    def gap(self) -> None:
        """A blank line, unless one was just put there."""
        self._put("\n")
        self._gapped = True

    def signal(self, sequence: str) -> None:
        """A sequence that shows nothing."""
        self._above.append(sequence)
        self._wake()

    def notify(self, words: str) -> None:
        """A bell and a notice, as the person wants them."""
        self._put(notice(self._notify, self._reader.has_focus, words, os.environ))

    def _put(self, text: str) -> None:
        if self._gapped:
            text = text.removeprefix("\n")
        if text:
            self._gapped = False
            self._above.append(text)
            self._wake()

    def live(self, name: str, region: Region | None) -> None:
        """Set the content of one of the REGIONS."""
        if region:
            self._regions[name] = region
        else:
            self._regions.pop(name, None)
        self._wake()

    def settle_in(self, chosen: Settings) -> None:
        """Keys and colours as the person wants them."""
        self._editor, self._notify = chosen.editor, chosen.notify
        if chosen.theme != "auto":
            self._is_themed, self.look = True, Look.choose(chosen.theme)
        if chosen.keys == "vi":
            self._in_loop(lambda: setattr(self.app, "editing_mode", EditingMode.VI))

    def _suit(self, background: Background) -> None:
        """Colours for the background that the terminal says it has."""
        if not self._is_themed:
            self.look = Look.choose(background)

    def know(self, make: Callable[[Callable[[], None]], LineContext]) -> None:
        """Set what the line can suggest and remember."""
        context = make(lambda: self._in_loop(self.line.look_again))
        self._in_loop(lambda: self.line.know(context))

    def echo(self, words: str) -> None:
        """Show what was sent as it stood in the line, below a gap."""
        self.gap()
        self.show(f"> {printable(self.line.pastes.fold(words))}", style="bold")

    def ready(self) -> None:
        """The line is always there."""

    def redraw(self) -> None:
        """Something that is drawn by itself, such as the status, is different now."""
        self._wake()

    def paint(self, *what: "RenderableType", style: str = "") -> str:
        """Renderables as text with colours, as wide as the terminal."""
        from rich.console import Console

        if self._console is None:
            self._console = Console(highlight=False, markup=False)
        console = self._console
        console.width = self.width
        with console.capture() as captured:
            for each in what:
                shown = self.look.glyphs.spelled(each) if isinstance(each, str) else each
                console.print(shown, style=style or None)
        return captured.get()

    # --- asking ------------------------------------------------------------------------------

    async def press(self, words: str, keys: Sequence[str], *, follows: bool = False) -> str:
        """One key of `keys`. Words and Enter in place of one count as "s": `type_line` gives them."""
        return await self._asked(self._asking.press(words, keys, follows))

    async def type_line(self, words: str, draft: str = "") -> str:
        """A text, sent with Enter; "" after Esc."""
        said = await self._asked(self._asking.type_line(words, draft))
        if said:
            self.echo(said)
        return self.line.pastes.unfold(said)

    async def pick(self, words: str, rows: Sequence[str], chosen: int = 0) -> int | None:
        """The number of a row, chosen by arrows and Enter; None after Esc."""
        return await self._asked(self._asking.pick(words, rows, chosen))

    async def edit(self, content: bytes, name: str) -> bytes:
        """The content after a visit to the person's editor."""
        return await self._asked(self._edit(content, name))

    async def view(self, title: str, lines: Iterable[Line]) -> None:
        """Something long, on a screen of its own."""
        await self._asked(self._view(title, self.look.paint(lines)))

    async def _edit(self, content: bytes, name: str) -> bytes:
        async with self.suspension.suspended():
            after, fault = await open_editor(content, name, self._editor)
        if fault:
            self.show(fault, style="red")
        return after

    async def edit_line(self) -> None:
        """The line, with all that was pasted into it, in the editor; for the keys."""
        before = self.line.pastes.unfold(self.buffer.text)
        after = await self._edit(f"{before}\n".encode(), "message.md")
        self.line.fill(after.decode("utf-8", "replace"))

    async def _view(self, title: str, text: str) -> None:
        async with self.suspension.suspended():
            await view(title, text, self.app.input)

    # --- keys --------------------------------------------------------------------------------

    @property
    def hint(self) -> str:
        """The hint in an empty line."""
        return self._asking.hint or self._hint

    @hint.setter
    def hint(self, hint: str) -> None:
        self._hint = hint

    @property
    def asks(self) -> bool:
        """True if the next letter answers a question, so it does not belong to the line."""
        return self._asking.asks

    @property
    def picks(self) -> bool:
        return self._asking.picks

    @property
    def busy_asking(self) -> bool:
        """True while a question is open."""
        return self._asking.busy

    def _is_free(self) -> bool:
        """True if suggestions may be shown: no question is open, and keys are letters."""
        return not self.busy_asking and not vi_navigation_mode()

    def take_key(self, key: str) -> bool:
        """A letter while a question `asks`; False where it is none of the question's."""
        return self._asking.take_key(key)

    def move(self, rows: int) -> None:
        """Another row while one is picked."""
        self._asking.move(rows)

    def give_up(self) -> bool:
        """Esc: no line, no row; False where neither was asked for."""
        return self._asking.give_up()

    def send(self) -> None:
        """Enter: a row, a line, words in place of a key, or something new."""
        if not self._asking.send() and self.buffer.text.strip():
            self.submit(self.line.take())

    def _show_question(self) -> None:
        self.live("question", self._question if self._asking.busy else None)

    def _question(self, width: int) -> str:
        rows, more = self.output.get_size().rows, self.look.glyphs.more
        return self.look.paint(self._asking.lines(width, rows, more))

    # --- drawing -----------------------------------------------------------------------------

    def fragments(self) -> StyleAndTextTuples:
        """The live regions, for the layout."""
        width, room = self.width, max(3, self.output.get_size().rows - 6)
        lines: list[str] = []
        for name in QUIET if self.busy_asking else REGIONS:
            if region := self._regions.get(name):
                text = region(width) if callable(region) else region
                lines += text.rstrip("\n").split("\n") if text else []
        self._height = len(lines)
        return to_formatted_text(ANSI("\n".join(lines[-room:]))) if lines else []

    @property
    def is_lively(self) -> bool:
        """True if any region holds anything."""
        return bool(self._regions)

    async def _draw(self) -> None:
        """A picture when something is new, and while something moves; never more often than anybody sees."""
        while True:
            moving = any(callable(self._regions.get(name)) for name in MOVING)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), BEAT_S if moving else None)
            self._woken.clear()
            if not self.is_suspended:
                self._flush()
            await asyncio.sleep(FRAME_S)

    def _flush(self) -> None:
        new = "".join(self._take_above())
        if not self.app.is_running:
            self.output.write_raw(new)
            self.output.flush()
            return
        before = self._height
        resized = self.app.renderer._last_size != self.output.get_size()
        if not new and self._count() >= before and not resized:
            self.app.invalidate()
        else:
            self._draw_anew(new)

    def _draw_anew(self, new: str = "") -> None:
        """Print new text above the live part, which is erased first and drawn below it again."""
        with at_once(self.output):
            wipe(self.app.renderer)
            self.output.write_raw(new)
            self.app._redraw()

    def _count(self) -> int:
        self.fragments()
        return self._height

    def _take_above(self) -> list[str]:
        taken: list[str] = []
        while self._above:
            taken.append(self._above.popleft())
        return taken

    def _wake(self) -> None:
        self._in_loop(self._woken.set)

    def _in_loop(self, do: Callable[[], object]) -> None:
        call_in(self._loop, do)

    async def _asked(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it in the terminal's own loop, whichever loop asks for it."""
        assert self._loop is not None
        return await do_in(self._loop, work)
