"""The page keeps up with a session: its end, its question, the person's words, and what was streamed."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browsing import EDIT, Play, Tabs, open_browser, player
from kith.core.events import Asked, Delta, RunEnded, RunStarted, Said
from kith.core.values import FileChange, Message, Question, Text, say
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session

pytestmark = [
    pytest.mark.disturbed("a browser that starts or draws late"),
    pytest.mark.slow,
]
AT_END = "innerHeight + scrollY >= document.documentElement.scrollHeight - 80"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def tabs(browser: Browser) -> Iterator[Tabs]:
    with ExitStack() as stack:
        tabs = Tabs(browser, stack)
        yield tabs
        tabs.check()


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    return player(tmp_path, monkeypatch)


@pytest.fixture
def session(home: Path, repository: Path) -> Iterator[Session]:
    """A session at work, without a worker."""
    with Session(Log(home / ".local/state/kith" / LOG_FILE), "streamed") as session:
        session.emit(RunStarted("Tell a long story", str(repository), "llama", "1"))
        session.emit(Said("task", say("Tell a long story")))
        yield session


def speak(session: Session, begin: int, end: int) -> None:
    for number in range(begin, end):
        session.emit(Delta(f"Paragraph {number}.\n\n"))


def question() -> Question:
    rows = "".join(f"+line {number}\n" for number in range(80))
    diff = f"diff --git a/u.py b/u.py\n--- a/u.py\n+++ b/u.py\n@@ -0,0 +1,80 @@\n{rows}"
    return Question(
        "q1", "change", "Apply this change?", ("all", "none"), files=(FileChange("u.py", 80, 0, diff),)
    )


def test_a_page_that_begins_short_follows_the_stream(tabs, session, start_serving) -> None:
    tab = tabs(start_serving(), "/sessions/streamed")
    speak(session, 0, 3)
    tab.see("#live", "Paragraph 2.")
    assert tab.page.evaluate("scrollY") == 0
    speak(session, 3, 60)
    tab.see("#live", "Paragraph 59.")
    tab.page.wait_for_function(f"() => scrollY > 0 && {AT_END}")


def test_a_person_who_scrolls_up_stays_there(tabs, session, start_serving) -> None:
    tab = tabs(start_serving(), "/sessions/streamed")
    speak(session, 0, 60)
    tab.see("#live", "Paragraph 59.")
    tab.page.wait_for_function(f"() => scrollY > 0 && {AT_END}")
    tab.page.mouse.move(500, 400)
    tab.page.mouse.wheel(0, -700)
    tab.page.wait_for_function(f"() => !({AT_END})")
    before = tab.page.evaluate("scrollY")
    speak(session, 60, 90)
    tab.see("#live", "Paragraph 89.")
    assert tab.page.evaluate("scrollY") == before
    tab.page.locator("#to-end").click()
    speak(session, 90, 100)
    tab.see("#live", "Paragraph 99.")
    tab.page.wait_for_function(f"() => {AT_END}")


def test_a_question_is_brought_into_view(tabs, session, start_serving) -> None:
    tab = tabs(start_serving(), "/sessions/streamed")
    speak(session, 0, 60)
    tab.see("#live", "Paragraph 59.")
    session.emit(Asked(question()))
    tab.see("#question", "Apply this change?")
    shown = (
        "() => { const { top } = document.querySelector('#asked').getBoundingClientRect();"
        " return top >= 0 && top < innerHeight / 2; }"
    )
    tab.page.wait_for_function(shown)
    tab.page.evaluate("scrollTo(0, 0)")
    button = tab.page.get_by_role("button", name="To the question")
    button.click()
    tab.page.wait_for_function(shown)


def test_sent_words_are_seen_at_once_and_once(tabs, play, start_serving, tmp_path) -> None:
    play({"text": "One.", "when": str(tmp_path / "sent")}, {"text": "Two.", "expect": "use tabs"})
    tab = tabs(start_serving())
    tab.page.locator("#task").fill("Look at utils.py")
    tab.press("Control+Enter")
    tab.page.wait_for_url("**/sessions/*")
    assert "Look at utils.py" in tab.page.locator("main").inner_text()
    assert tab.page.locator("#sessions a[aria-current=page]").count() == 1
    assert not tab.page.locator(".nothing").is_visible()
    tab.see("#log", "Look at utils.py")
    tab.page.wait_for_function("() => !document.querySelector('#sent li')")
    tab.page.locator("#progress").wait_for()  # the model reads: words come after its reply from here on
    tab.press("/")
    tab.page.keyboard.type("use tabs")
    with tab.page.expect_response("**/messages"):
        tab.press("Control+Enter")
        assert tab.page.locator("#sent").inner_text().count("use tabs") == 1
    (tmp_path / "sent").touch()
    tab.see("#log", "Two.")
    tab.page.wait_for_function("() => !document.querySelector('#sent li')")
    assert tab.page.locator("#session").inner_text().count("use tabs") == 1


def test_words_that_are_refused_are_not_shown_as_sent(tabs, play, start_serving) -> None:
    play("One.")
    serving = start_serving()
    id = serving.client.post("/api/sessions", json={"words": "Look"}).json()["session"]
    tab = tabs(serving, f"/sessions/{id}")
    tab.see("#receipt", "Done")
    tab.allowed = "ERR_|Failed to load"
    tab.page.route("**/messages", lambda route: route.abort())
    tab.page.locator("#talk textarea").fill("And then?")
    tab.page.get_by_role("button", name="Send").click()
    tab.see("#talk .compose .said", "nothing was sent")
    assert tab.count("#sent li") == 0
    assert tab.page.locator("#talk textarea").input_value() == "And then?"


def test_stopping_keeps_what_was_streamed(tabs, stand_in, start_serving, monkeypatch) -> None:
    stand_in(["\n\n".join(f"Paragraph {number}." for number in range(400))], pause=0.05)
    monkeypatch.setenv("KITH_CHECK", "none")
    serving = start_serving()
    id = serving.client.post("/api/sessions", json={"words": "Tell"}).json()["session"]
    tab = tabs(serving, f"/sessions/{id}")
    tab.see("#live", "Paragraph 5.")
    tab.press("Escape", "Escape")
    tab.see("#receipt", "Interrupted")
    assert "Paragraph 5." in tab.page.locator("#log .step").inner_text()
    tab.page.reload()
    assert tab.see("#log .step", "Paragraph 5.").count("Paragraph 5.") == 1


def test_g_s_leads_to_the_sessions_from_everywhere(tabs, session, start_serving) -> None:
    session.emit(Asked(question()))
    serving = start_serving()
    tab = tabs(serving, "/sessions/streamed")
    tab.see("#question form")
    for where in ("body", "#question button[value=all]", "#question .beside"):
        tab.page.locator(where).first.focus()
        tab.press("g", "s")
        tab.page.wait_for_url(f"{serving.url}/")
        tab.go("/sessions/streamed").see("#question form")
    tab.press("?", "g", "s")
    tab.page.wait_for_url(f"{serving.url}/")
    tab.go("/sessions/streamed").see("#question form")
    tab.press("/")
    tab.page.keyboard.type("gs")
    assert tab.page.locator("#talk textarea").input_value() == "gs"
    for path in ("/files", "/tools", "/models", "/profile"):
        tab.go(path)
        tab.press("g", "s")
        tab.page.wait_for_url(f"{serving.url}/")


def test_a_new_task_is_one_press_away(tabs, session, start_serving) -> None:
    tab = tabs(start_serving())
    for path in ("/", "/sessions/streamed", "/files", "/tools", "/models", "/profile"):
        tab.go(path).page.get_by_role("link", name="New task").click()
        tab.page.wait_for_function("() => document.activeElement.id === 'task'")
    tab.go("/files")
    tab.press("g", "n")
    tab.page.wait_for_function("() => document.activeElement?.id === 'task'")


def test_nothing_is_said_twice_on_a_page_that_is_over(tabs, play, start_serving, sandbox) -> None:
    play(EDIT, "The mean is right now.", check="python3 -m unittest -q")
    serving = start_serving()
    id = serving.client.post("/api/sessions", json={"words": "Mend mean() please"}).json()["session"]
    tab = tabs(serving, f"/sessions/{id}")
    tab.see("#question form")
    tab.page.locator("#question button[value=all]").click()
    tab.see("#receipt", "Receipt: Done")
    tab.page.reload()
    text = tab.page.locator("#session").inner_text()
    for words in ("The mean is right now.", "Apply this change?", "Unproven", "kith undo"):
        assert text.count(words) <= 1, words
    heading = tab.page.locator("h1").bounding_box()
    assert heading and heading["width"] <= 1, "the words of the task stand below it"
    assert tab.count("#log .diff") == 1


def test_the_time_is_labelled_by_what_it_was_spent_on(tabs, session, start_serving) -> None:
    session.emit(Said("task", Message("assistant", (Text("So."),), "llama")))
    session.emit(RunEnded("done", "So."))
    tab = tabs(start_serving(), "/sessions/streamed")
    assert tab.page.locator("#times dt").all_inner_texts() == [
        "reading",
        "writing",
        "tools",
        "waiting for you",
    ]
