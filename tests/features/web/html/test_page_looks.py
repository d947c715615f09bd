"""The page: how much it holds of thousands of events, its weight, who can use it, what strangers write."""

import importlib.util
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from browsing import Tabs, open_browser
from kith.core.events import (
    Asked,
    Delta,
    Judged,
    Notice,
    Planned,
    Proposed,
    RunEnded,
    RunStarted,
    Said,
    TodoSet,
    ToolEnded,
)
from kith.core.values import (
    FileChange,
    Message,
    Plan,
    Question,
    Ran,
    Text,
    Thinking,
    TodoItem,
    say,
)
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session
from shown_sessions import turn, write_everything

pytestmark = [
    pytest.mark.disturbed("a browser that starts or draws late"),
    pytest.mark.slow,
]
MOST_ELEMENTS = 10_000  # of a session's page, however long the session is
HOSTILE = (
    '<img src=x onerror="alert(1)">',
    "</script><script>alert(1)</script>",
    "</pre></li></ol><h1>Owned</h1>",
    "\x1b[2J\u202egnp.exe\u200b",
    '"><svg onload=alert(1)>',
    "javascript:alert(1)",
    "[click](javascript:alert(1)) ![x](https://example.org/x.png) <iframe src=//example.org></iframe>",
)


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
def log(home: Path) -> Log:
    return Log(home / ".local/state/kith" / LOG_FILE)


@pytest.fixture
def long_session(log: Log, repository: Path) -> str:
    with Session(log, "long") as session:
        session.emit(RunStarted("A long task", str(repository), "llama", "1"))
        for number in range(1_000):
            turn(session, number)
        session.emit(RunEnded("done", "It is done."))
    return "long"


def test_the_page_of_a_long_session_begins_with_the_newest_and_no_more(tabs, long_session, start_serving):
    tab = tabs(start_serving())
    tab.go(f"/sessions/{long_session}")
    tab.see("#log", "999")
    assert tab.count("*") < MOST_ELEMENTS
    before = tab.count("#log > li")
    tab.page.locator("#earlier a").click()
    tab.page.wait_for_function(f"() => document.querySelectorAll('#log > li').length > {before}")


def test_a_burst_of_events_while_one_reads_loses_none_and_doubles_none(tabs, log, repository, start_serving):
    serving = start_serving()
    with Session(log, "burst") as session:
        session.emit(RunStarted("A burst", str(repository), "llama", "1"))
        tab = tabs(serving, "/sessions/burst")
        tab.see("#status")
        for number in range(500):
            turn(session, number)
        session.emit(Notice("the last one"))
        tab.page.get_by_text("the last one").first.wait_for(state="attached", timeout=90_000)
    numbers = tab.page.evaluate(
        "[...document.querySelectorAll('.step .number')].map(each => Number(each.textContent))"
    )
    assert numbers == list(range(1, 501))


@pytest.fixture
def full_session(log: Log, repository: Path) -> str:
    write_everything(log, "full", repository)
    return "full"


@pytest.mark.skipif(
    not importlib.util.find_spec("axe_playwright_python"), reason="needs axe-playwright-python"
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_serious(tabs, full_session, start_serving, scheme, width):
    from axe_playwright_python.sync_playwright import Axe

    tab = tabs(start_serving(), color_scheme=scheme, viewport={"width": width, "height": 900})
    for path in (
        "/",
        f"/sessions/{full_session}",
        "/files",
        "/files?path=utils.py",
        "/tools",
        "/models",
        "/profile",
    ):
        tab.go(path)
        tab.page.evaluate("for (const each of document.querySelectorAll('#log details')) each.open = true")
        found = [
            f"{path}: {each['id']}: {each['help']}: {[node['html'][:160] for node in each['nodes'][:3]]}"
            for each in Axe().run(tab.page).response["violations"]
            if each["impact"] in ("serious", "critical")
        ]
        assert not found, "\n".join(found)


def test_a_page_is_small(tabs, full_session, start_serving):
    tab = tabs(start_serving())
    for path in ("/", f"/sessions/{full_session}", "/profile"):
        tab.go(path)
        sizes: dict[str, int] = {}
        with tab.page.context.new_page() as fresh:
            fresh.on("response", lambda answer, sizes=sizes: sizes.update({answer.url: _size(answer)}))
            fresh.goto(f"{tab.serving.url}{path}")
            fresh.wait_for_timeout(300)
        assert sum(sizes.values()) < 300_000, sizes


def _size(answer) -> int:
    return 0 if "/patches" in answer.url else len(answer.body())


def test_what_strangers_write_stays_text(tabs, log, repository, start_serving):
    serving = start_serving()
    names = [f"hostile{number}" for number in range(len(HOSTILE))]
    for name, words in zip(names, HOSTILE, strict=True):
        with Session(log, name) as session:
            files = (
                FileChange(words, 1, 0, f"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+{words}\n"),
            )
            session.emit(RunStarted(words, str(repository), words, words))
            session.emit(Said("task", say(words)))
            session.emit(Said("task", Message("assistant", (Thinking(words), Text(words)), words)))
            session.emit(TodoSet((TodoItem(words),)))
            session.emit(Planned(Plan((words,), (words,), (words,), (words,))))
            session.emit(ToolEnded("c", words, False, 0.1, words, Ran(words, 1, words, 0.1)))
            session.emit(Judged(words, False, 1, words))
            session.emit(Proposed(files))
            session.emit(Asked(Question("q", "change", words, ("all", "none"), files=files)))
            tab = tabs(serving, f"/sessions/{name}")
            session.emit(Delta(words))
            session.emit(Notice(f"{words} the end"))
            tab.see("#log", "the end")
            shown = tab.page.evaluate("""() => ({
              strange: document.querySelectorAll("iframe, img, object, embed, body script").length,
              acts: [...document.querySelectorAll("*")].filter(each => [...each.attributes].some(
                ({name, value}) => name.startsWith("on") || /^\\\\s*javascript:/i.test(value))).length,
              owned: [...document.querySelectorAll("h1")].some(each => each.textContent === "Owned"),
              hidden: /[\\u202e\\u200b\\u001b]/.test(document.body.innerText),
              styled: document.querySelectorAll("[style]").length,
            })""")
            assert shown == {"strange": 0, "acts": 0, "owned": False, "hidden": False, "styled": 0}, (
                json.dumps(shown)
            )
            tab.page.close()
    overview = tabs(serving)
    titles = overview.page.locator("#sessions .title").all_inner_texts()
    assert any("<img src=x onerror" in title for title in titles)
