"""What the pages say to a person who comes without a token, to a wrong address, or for the first time."""

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import httpx2
import pytest

from kith.core.events import RunEnded, RunStarted
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session
from serving import Serving

PERSON = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def log(home: Path) -> Log:
    return Log(home / ".local/state/kith" / LOG_FILE)


def test_who_comes_without_the_token_is_told_how_to_come_in(serve: Serving) -> None:
    told = httpx2.get(f"{serve.url}/sessions/any", headers=PERSON)
    assert told.status_code == 401 and told.headers["content-type"].startswith("text/html")
    assert "kith serve" in told.text and 'name="token"' in told.text and "<script" not in told.text
    style = re.search(r"<style>(.*?)</style>", told.text, re.DOTALL)
    assert (
        style
        and b64encode(sha256(style[1].encode()).digest()).decode() in told.headers["content-security-policy"]
    )
    wrong = httpx2.get(f"{serve.url}/?token=guessed", headers=PERSON)
    assert wrong.status_code == 401 and "That token is not right" in wrong.text
    right = httpx2.get(f"{serve.url}/", params={"token": serve.token}, headers=PERSON)
    assert right.status_code == 303 and right.headers["location"] == "/"


@pytest.mark.parametrize("path", ["/sessions/none", "/nowhere", "/files?path=none", "/files?project=none"])
def test_a_wrong_address_is_a_page_for_people_and_a_problem_for_programs(serve: Serving, path: str) -> None:
    page = serve.client.get(path, headers=PERSON)
    assert page.headers["content-type"].startswith("text/html") and page.status_code in (404, 422)
    problem = serve.client.get(path)
    assert problem.headers["content-type"] == "application/problem+json"
    assert problem.status_code == page.status_code
    assert problem.json()["detail"].split("'")[0] in page.text
    api = serve.client.get("/api/sessions/none", headers=PERSON)
    assert api.headers["content-type"] == "application/problem+json", "the API speaks to programs"


def test_a_newcomer_is_told_how_it_goes_until_there_is_a_session(
    serve: Serving, log: Log, repository: Path
) -> None:
    assert "You see one diff" in serve.client.get("/").text
    with Session(log, "first") as session:
        session.emit(RunStarted("A task", str(repository), "llama", "1"))
        session.emit(RunEnded("done", ""))
    assert "You see one diff" not in serve.client.get("/").text


def test_the_session_at_work_is_first_however_many_are_newer(
    serve: Serving, log: Log, repository: Path
) -> None:
    with Session(log, "at-work") as old:
        old.emit(RunStarted("The one at work", str(repository), "llama", "1"))
        with log.at_once():
            for number in range(120):
                log.append(f"s{number}", RunStarted(f"Task {number}", str(repository), "llama", "1"), ())
                log.append(f"s{number}", RunEnded("done", ""), ())
        titles = re.findall(r'class="title">([^<]*)', serve.client.get("/pieces/sessions").text)
        assert titles[:2] == ["The one at work", "Task 119"] and len(titles) == 100
