"""Answering in a real browser: what is kept and said is what is sent, with the keyboard alone."""

import json
import shutil
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from kith.core.values import Change, Question
from kith.edits import summarise
from kith.features.web.html.questions import question_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

CHROMIUM = shutil.which("chromium")
ARGS = [
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
pytestmark = [
    pytest.mark.disturbed("a browser that starts or draws late"),
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium"),
]

ROWS = [b"%d\n" % number for number in range(40)]
CHANGES = (
    Change("caf\udce9.py", b"".join(ROWS), b"".join([b"x\n", *ROWS[1:20], b"y\n", *ROWS[21:-1], b"z\n"])),
    Change("b.py", None, b"b\n"),
)
CHANGE = Question(
    "q1", "change", "Apply it?", ("all", "none", "some", "edit", "revise"), files=summarise(CHANGES)
)
PLAN = Question("q2", "plan", "Go on?", ("yes", "no", "edit", "revise"), draft="1. One\n")


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield browser
        browser.close()


class Asked:
    """A page that asks; `sent` is what came of it, and `answer` what the server says to that."""

    def __init__(self, page: "Page", question: Question) -> None:
        self.page, self.sent = page, list[dict[str, Any]]()
        self.answer: tuple[int, dict[str, Any]] = (200, {})
        self._html = (
            '<!doctype html><html class="lively"><link rel="stylesheet" href="/review.css"><main>'
            f'{question_html("s1", question)}</main><script type="module" src="/review.js"></script>'
        )
        page.route("**/*", self._serve)
        page.goto("http://page.test/")
        page.wait_for_function("document.querySelector('form').dataset.ready !== undefined")

    def _serve(self, route: "Route") -> None:
        name = route.request.url.rsplit("/", 1)[1]
        if route.request.method == "POST":
            assert route.request.headers["content-type"] == "application/json"
            self.sent.append(json.loads(route.request.post_data or ""))
            status, body = self.answer
            route.fulfill(status=status, json=body)
        elif name.endswith((".js", ".css")):
            kind = "text/css" if name.endswith("css") else "text/javascript"
            route.fulfill(
                body=files("kith.features.web.html").joinpath("static", name).read_bytes(), content_type=kind
            )
        else:
            route.fulfill(body=self._html, content_type="text/html; charset=utf-8")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def said(self) -> str:
        """What the form says in the end."""
        self.page.wait_for_function("document.querySelector('.said').textContent")
        return self.page.locator(".said").inner_text()


Ask = Callable[[Question], Asked]


@pytest.fixture
def ask(browser: "Browser") -> Iterator[Ask]:
    context = browser.new_context()
    context.set_default_timeout(60_000)
    yield lambda question: Asked(context.new_page(), question)
    context.close()


def test_parts_are_kept_by_key(ask: Ask) -> None:
    asked = ask(CHANGE)
    asked.press("j", "y", "n", "y", "n", "Enter")
    assert asked.said() == "Answered."
    assert asked.sent == [{"choice": "some", "kept": [{"path": "caf\udce9.py", "hunks": [0, 2]}]}]
    assert asked.page.locator("button:enabled").count() == 0


def test_all_and_none_are_sent_as_such(ask: Ask) -> None:
    asked = ask(CHANGE)
    asked.press("N", "Enter")
    asked.said()
    again = ask(CHANGE)
    again.press("N", "A", "Enter")
    again.said()
    assert (asked.sent, again.sent) == ([{"choice": "none"}], [{"choice": "all"}])


def test_enter_agrees_to_nothing_before_somebody_stands_on_it(ask: Ask) -> None:
    asked = ask(CHANGE)
    asked.press("Enter")
    assert asked.page.locator("form:not([data-busy]):not([data-over])").count() == 1
    asked.press("j", "n", "Enter")
    asked.said()
    assert [body["choice"] for body in asked.sent] == ["some"]


def test_comments_become_words_for_the_model(ask: Ask) -> None:
    asked = ask(CHANGE)
    asked.press("j", "j", "c")
    asked.page.keyboard.type("no y here\nplease")  # y, n and j are words now
    asked.press("Escape", "d")
    asked.page.keyboard.type("Use tabs.")
    asked.press("Control+Enter")
    assert asked.said() == "Answered."
    wanted = "Use tabs.\n\nIn caf\udce9.py, lines 18 to 24: no y here\nplease"
    assert asked.sent == [{"choice": "revise", "text": wanted}]


def test_comments_are_not_lost_without_a_word(ask: Ask) -> None:
    asked = ask(CHANGE)
    asked.press("j", "c")
    asked.page.keyboard.type("why?")
    asked.page.get_by_role("button", name="Apply all").click()
    assert "Your words go to the model only with" in asked.said()
    assert asked.sent == []
    asked.page.get_by_role("button", name="Apply all").click()
    asked.page.wait_for_function("'over' in document.querySelector('form').dataset")
    assert asked.sent == [{"choice": "all"}]


def test_the_other_tab_is_told(ask: Ask) -> None:
    asked = ask(CHANGE)
    asked.answer = (409, {"detail": "no", "first": {"choice": "all", "by": "a terminal"}})
    asked.page.get_by_role("button", name="Apply nothing").click()
    assert asked.said() == "Answered in a terminal: all."
    asked.press("y", "Enter", "N")
    assert len(asked.sent) == 1


def test_a_refusal_is_told_and_may_be_tried_again(ask: Ask) -> None:
    asked = ask(PLAN)
    asked.answer = (422, {"detail": "That is no plan."})
    asked.press("y", "Enter")
    assert asked.said() == "That is no plan."
    asked.answer = (200, {})
    asked.press("Enter")
    asked.page.wait_for_function("'over' in document.querySelector('form').dataset")
    assert asked.sent == [{"choice": "yes"}] * 2


def test_an_edited_draft_cannot_be_lost_with_a_yes(ask: Ask) -> None:
    asked = ask(PLAN)
    asked.page.locator("[name=draft]").fill("1. Two\n")
    assert asked.page.get_by_role("button", name="Go on", exact=True).is_disabled()
    asked.press("Control+Enter")
    assert asked.said() == "Answered."
    assert asked.sent == [{"choice": "edit", "text": "1. Two\n"}]


def test_rows_stand_side_by_side_when_wanted(ask: Ask) -> None:
    asked = ask(CHANGE)
    cells = asked.page.locator(".del td:nth-child(3), .add td:nth-child(3)")
    one, other = (cells.nth(number).bounding_box() for number in (0, 1))
    asked.press("s")
    left, right = (cells.nth(number).bounding_box() for number in (0, 1))
    assert one and other and left and right
    assert one["x"] == other["x"] and one["y"] < other["y"]
    assert left["y"] == right["y"] and left["x"] < right["x"]
    asked.press("u")
    assert cells.nth(1).bounding_box() == other
