"""A real browser in front of `kith serve`: whatever it complains of fails the test."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, TimeoutError, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
WAIT_MS = 15_000  # a machine that is busy


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Debian's chromium; the test is skipped where there is none."""
    if not CHROMIUM.exists():
        pytest.skip("needs chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


class Serving(Protocol):
    """`kith serve`, as the fixture gives it."""

    url: str

    @property
    def first(self) -> str: ...


@dataclass
class Tab:
    """A tab, and what its browser complained of; `allowed` are faults that belong to the test."""

    page: Page
    serving: Serving
    faults: list[str] = field(default_factory=list)
    allowed: str = "nothing"

    def listen(self) -> None:
        self.page.set_default_timeout(WAIT_MS)
        self.page.on(
            "console", lambda said: self._note(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self._note(str(error)))
        self.page.on("request", lambda request: self._check_place(request.url))

    def _note(self, fault: str) -> None:
        self.faults.append(fault)

    def _check_place(self, url: str) -> None:
        if not url.startswith((self.serving.url, "data:", "blob:")):
            self.faults.append(f"asked for {url}")

    def check(self) -> None:
        left = [fault for fault in self.faults if not re.search(self.allowed, fault)]
        assert not left, f"the browser complained: {left}"

    def go(self, path: str) -> "Tab":
        self.page.goto(self.serving.url + path)
        return self

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def see(self, selector: str, words: str = "") -> str:
        """Wait until an element that is seen holds these words; its text."""
        place = self.page.locator(selector).filter(has_text=words).first
        try:
            place.wait_for()
        except TimeoutError as error:
            shown = self.page.locator("body").inner_text()
            raise AssertionError(f"never saw {words!r} in {selector}; the page says:\n{shown}") from error
        return place.inner_text()

    def count(self, selector: str) -> int:
        return self.page.locator(selector).count()


class Tabs:
    """Tabs of one browser; each knows the server's token as a cookie."""

    def __init__(self, browser: Browser, stack: ExitStack) -> None:
        self._browser, self._stack = browser, stack
        self.opened: list[Tab] = []
        self._contexts: dict[str, BrowserContext] = {}

    def __call__(self, serving: Serving, path: str = "/", **options: Any) -> Tab:
        """A new tab; one with other options (viewport, color_scheme ...) has other cookies."""
        key = f"{serving.url} {options}"
        if key not in self._contexts:
            self._contexts[key] = self._stack.enter_context(self._browser.new_context(**options))
            first = self._contexts[key].new_page()
            first.goto(serving.first)
            first.close()
        tab = Tab(self._contexts[key].new_page(), serving)
        tab.listen()
        self.opened.append(tab)
        return tab.go(path)

    def check(self) -> None:
        for tab in self.opened:
            tab.check()


Play = Callable[..., None]


def player(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    """Makes a script of replies the model that is asked where nobody names one; servers start after it."""

    def play(*replies: Any, check: str = "none") -> None:
        script = folder / "conversation.json"
        script.write_text(json.dumps([{"text": each} if isinstance(each, str) else each for each in replies]))
        monkeypatch.setenv("KITH_MODEL", f"replay/{script}")
        monkeypatch.setenv("KITH_CHECK", check)

    return play


def call(tool: str, **args: Any) -> dict[str, Any]:
    return {"name": tool, "args": args}


OLD, NEW = "/ (len(numbers) + 1)", "/ max(len(numbers), 1)"
EDIT = {"calls": [call("edit", path="utils.py", old=OLD, new=NEW)]}
