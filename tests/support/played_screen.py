"""A screen whose person is a list: what they would press, type and pick, in order; what is shown is kept."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kith.terminal.conversation.driver import Driver
from kith.terminal.conversation.modes import Mode
from kith.terminal.conversation.talk import Talk, open_talk
from kith.terminal.rendering.look import Look, Palette
from kith.terminal.rendering.spans import Line

if TYPE_CHECKING:
    from rich.console import RenderableType

HANG_S = 60.0


class PlayedScreen:
    """A `LiveScreen`. `answers` are keys, lines and numbers of rows, each taken by the next question."""

    def __init__(self, answers: Sequence[Any] = (), width: int = 80) -> None:
        self.answers, self.width = list(answers), width
        self.look = Look(palette=Palette(depth=0))
        self.told: list[str] = []
        self.asked: list[str] = []
        self.notices: list[str] = []
        self.offered: list[Sequence[str]] = []  # the rows of each choice
        self.line, self.signals = "", list[str]()
        self.regions: dict[str, Any] = {}
        self.rests = asyncio.Event()

    @property
    def text(self) -> str:
        return "\n".join(self.told)

    def show(self, *what: "RenderableType", style: str = "") -> None:
        from rich.console import Console

        console = Console(width=self.width, no_color=True, highlight=False, markup=False)
        for each in what:
            with console.capture() as captured:
                console.print(each)
            self.told.append(captured.get().rstrip("\n"))

    def show_lines(self, lines: Iterable[Line]) -> None:
        self.told.append(self.look.paint(lines).rstrip("\n"))

    async def press(self, words: str, keys: Sequence[str], **how: Any) -> str:
        return str(self._next(words, "n"))

    async def type_line(self, words: str, draft: str = "") -> str:
        return str(self._next(words, ""))

    async def pick(self, words: str, rows: Sequence[str], chosen: int = 0) -> int | None:
        self.offered.append(rows)
        found = self._next(words, None)
        return found if found is None else int(found)

    async def edit(self, content: bytes, name: str) -> bytes:
        return content

    async def view(self, title: str, lines: Iterable[Line]) -> None:
        self.show_lines(lines)

    def _next(self, words: str, otherwise: Any) -> Any:
        self.asked.append(words)
        return self.answers.pop(0) if self.answers else otherwise

    def gap(self) -> None:
        self.told.append("")

    def live(self, name: str, region: Any) -> None:
        self.regions[name] = region

    def live_text(self, name: str) -> str:
        """What one of the regions shows now."""
        region = self.regions.get(name) or ""
        return str(region(self.width) if callable(region) else region)

    def redraw(self) -> None: ...
    def settle_in(self, chosen: Any) -> None: ...
    def know(self, make: Any) -> None: ...
    def leave(self, code: int = 0) -> None: ...

    def prefill(self, words: str) -> None:
        self.line = words

    def signal(self, sequence: str) -> None:
        self.signals.append(sequence)

    def notify(self, words: str) -> None:
        self.notices.append(words)

    def as_typed(self, words: str) -> str:
        return words

    def echo(self, words: str) -> None:
        self.told.append(f"> {words}")

    def ready(self) -> None:
        self.rests.set()


class Stop(str):
    """Not said: once this is on the screen, the person stops what goes on."""

    __slots__ = ()


class Seen(str):
    """Not said: the person waits until this is on the screen, or in the status line."""

    __slots__ = ()


class Made(str):
    """Not said: the person makes this file, for which a reply waits."""

    __slots__ = ()


class Beside(str):
    """Said while the model works on what was said before."""

    __slots__ = ()


def converse(
    folder: Path,
    said: Sequence[str],
    replies: Sequence[Any] = (),
    answers: Sequence[Any] = (),
    *,
    mode: Mode | None = None,
    width: int = 80,
    resume: str = "",
    model: str = "",
    check: tuple[str, ...] = ("none",),
) -> tuple[PlayedScreen, Talk]:
    """A conversation in which a person says all of this, one after the other.

    The model plays these replies. Returns what was on the screen, and the conversation as it ended.
    """
    script = folder.parent / "conversation.json"
    if replies:
        script.write_text(json.dumps([{"text": each} if isinstance(each, str) else each for each in replies]))
    flags = {"model": model or f"replay/{script}", "check": check}

    async def live() -> tuple[PlayedScreen, Talk]:
        screen = PlayedScreen(answers, width)
        talk = open_talk(folder, flags, screen, mode)
        driver = Driver(talk, resume)
        working = asyncio.ensure_future(driver.live(lambda: None))
        for each in said:
            if isinstance(each, Stop):
                while each not in screen.text + screen.live_text("activity").partition("\n")[2]:
                    await asyncio.sleep(0.02)
                driver.stop()
                continue
            if isinstance(each, Seen):
                while each not in screen.text + talk.status.line(width):
                    await asyncio.sleep(0.02)
                continue
            if isinstance(each, Made):
                Path(each).touch()
                continue
            if isinstance(each, Beside):
                while not talk.at_work:
                    await asyncio.sleep(0.02)
                driver.submit(each)
                continue
            await _rest(screen, working)
            screen.rests.clear()
            driver.submit(each)
        await _rest(screen, working)
        driver.close()
        await asyncio.wait_for(working, HANG_S)
        return screen, talk

    return asyncio.run(live())


async def _rest(screen: PlayedScreen, working: "asyncio.Future[None]") -> None:
    """Until nothing is worked on any more."""
    resting = asyncio.ensure_future(screen.rests.wait())
    waited: list[asyncio.Future[Any]] = [resting, working]
    await asyncio.wait(waited, timeout=HANG_S, return_when=asyncio.FIRST_COMPLETED)
    if working.done():
        working.result()
    assert screen.rests.is_set(), f"it never rests: {screen.text}"
