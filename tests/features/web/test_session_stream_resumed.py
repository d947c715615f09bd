"""What has died is said, and goes on; what was said is done, and what was stopped is not."""

import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from api_client import Api
from browsing import Tabs, open_browser
from kith.features.web.tokens import CLIENT
from kith.memory.inbox import Inbox, Letter
from kith.memory.log import LOG_FILE, Log
from serving import Serving

WRITE = {"calls": [{"name": "write", "args": {"path": "new.txt", "content": "new\n"}}]}


@pytest.fixture
def api(serve: Serving, tmp_path: Path, sandbox: None) -> Api:
    return Api(serve, tmp_path)


def messages(api: Api, session: str, **body: object) -> int:
    return api.post(f"sessions/{session}/messages", body).status_code


@pytest.mark.slow
def test_a_task_whose_process_died_goes_on_from_the_page(api: Api, repository: Path) -> None:
    session = api.begin([WRITE, "Written."], "Write it")
    old = api.question(session)
    assert messages(api, session, resume=True) == 409, "it is at work"
    page = api.client.get(f"/sessions/{session}").text
    assert re.search(r'<form id="resume"[^>]* hidden', page) and 'form="cancel"' in page
    api.serve.end_workers()
    now = api.until(lambda: not (now := api.get(f"sessions/{session}"))["working"] and now)
    assert now["resumable"] and now["status"] == "unfinished" and not now["question"]
    page = api.client.get(f"/sessions/{session}").text
    assert "The process died before the task was done." in page and "Resume" in page
    assert 'form="cancel"' not in page and 'data-review="change"' not in page
    late = api.post(f"sessions/{session}/answers/{old['id']}", {"choice": "all"})
    assert late.status_code == 410 and "Nobody waits" in late.json()["detail"]
    told = api.client.get(f"/api/sessions/{session}/events?follow=no").text
    assert "event: Asked" in told, "and it ends"
    assert messages(api, session) == 422
    assert messages(api, session, resume=True) == 202
    # Until the new process has said that it goes on, the old question looks as if somebody waited for it.
    new = api.until(lambda: (asked := api.question(session))["id"] != old["id"] and asked)
    named = {"User-Agent": CLIENT}
    path = f"/api/sessions/{session}/answers/{new['id']}"
    assert api.client.post(path, json={"choice": "all"}, headers=named).json()["by"] == "kith client"
    assert api.ended(session)["status"] == "done" and (repository / "new.txt").exists()
    assert messages(api, session, resume=True) == 409, "it is over"
    kinds = [each["kind"] for each in api.events(session)]
    assert kinds.count("RunStarted") == kinds.count("Applied") == kinds.count("RunEnded") == 1


@pytest.mark.disturbed("a browser that starts or draws late")
@pytest.mark.slow
def test_a_page_is_told_that_its_process_died_and_offers_to_go_on(api: Api) -> None:
    session = api.begin([WRITE, "Written."], "Write it")
    with open_browser() as browser, ExitStack() as stack:
        tab = Tabs(browser, stack)(api.serve, f"/sessions/{session}")
        old = tab.see("#question form", "new.txt") and api.question(session)["id"]
        assert tab.count("#resume:visible") == 0
        api.serve.end_workers()
        tab.see("#resume", "The process died before the task was done.")
        assert tab.count("#question form") == tab.count("#actions.working") == 0
        tab.page.get_by_role("button", name="Resume").click()
        tab.see("#question form", "new.txt")
        tab.see("#actions.working")
        tab.page.locator("#resume").wait_for(state="hidden")
        assert api.question(session)["id"] != old
        tab.page.locator("#question button[value=all]").click()
        tab.see("#receipt", "Receipt: Done")
        tab.check()


@pytest.mark.slow
def test_a_stop_before_the_worker_began_counts(api: Api) -> None:
    session = api.begin([{"text": "Too late.", "delay": 60}])
    assert api.post(f"sessions/{session}/cancel", {}).status_code == 202
    assert api.ended(session)["status"] == "interrupted"
    assert api.until(lambda: api.get(f"sessions/{session}")["resumable"])


@pytest.mark.slow
def test_words_that_a_server_left_are_done_by_the_next_one(api: Api) -> None:
    session = api.begin(["Hello."])
    api.ended(session)
    api.serve.stop()
    model = api.script(["Hello again."])
    log = Log(api.serve.state / LOG_FILE)
    Inbox(log, session).write(Letter("And again", flags={"model": model, "check": ("none",)}))
    api.serve.start()
    api.until(lambda: [each["kind"] for each in api.events(session)].count("RunEnded") == 2)
    assert api.get(f"sessions/{session}")["text"] == "Hello again."
