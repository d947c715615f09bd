"""A session's events over HTTP: nothing lost, nothing doubled, whenever a reader comes."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from api_client import Api
from serving import Serving

TALK = {"text": "one two three four five six seven eight nine ten", "delay": 0.2}
LOOK = {"calls": [{"name": "read", "args": {"paths": ["utils.py"]}}]}


@pytest.fixture
def api(serve: Serving, tmp_path: Path, sandbox: None) -> Api:
    return Api(serve, tmp_path)


@contextmanager
def reading(api: Api, path: str, **headers: str) -> Iterator[Iterator[dict[str, Any]]]:
    with api.client.stream("GET", f"/api/{path}", headers=headers) as answered:
        assert answered.headers["content-type"].startswith("text/event-stream")
        yield frames(answered)


def frames(answered: httpx2.Response) -> Iterator[dict[str, Any]]:
    """Each event of a stream, its `id` beside the data."""
    fields: dict[str, str] = {}
    for line in answered.iter_lines():
        name, _, value = line.partition(": ")
        if line and name:
            fields[name] = value
        elif fields:
            told = json.loads(fields["data"])
            assert fields["event"] == told["kind"]
            yield {"id": fields["id"], **told}
            fields = {}


def a_stream_tells_all_from_the_first_event_to_the_end(api: Api) -> None:
    session = api.begin([LOOK, LOOK, TALK])
    with reading(api, f"sessions/{session}/events?follow=no") as told:
        seen = list(told)
    stored = [each for each in seen if each["at"]]
    assert seen[-1]["kind"] == "RunEnded" and stored[0]["kind"] == "RunStarted"
    logged = api.events(session)
    assert [(each["seq"], each["kind"]) for each in logged] == [
        (each["seq"], each["kind"]) for each in stored
    ]


def a_reader_that_comes_back_goes_on_where_it_was(api: Api) -> None:
    session = api.begin([LOOK, LOOK, LOOK, TALK])
    seen: list[str] = []
    while not seen or seen[-1].partition(" ")[2] != "RunEnded":
        last = {"Last-Event-ID": seen[-1].partition(" ")[0]} if seen else {}
        with reading(api, f"sessions/{session}/events?after=0&follow=no", **last) as told:
            for _, each in zip(range(3), told, strict=False):
                seen.append(f"{each['id']} {each['kind']}")
    assert len(set(seen)) == len(seen), "nothing comes twice"
    stored = [each for each in seen if "." not in each.partition(" ")[0]]
    assert stored == [f"{each['seq']} {each['kind']}" for each in api.events(session)], "and nothing is lost"


@pytest.mark.slow
def test_a_stream_goes_on_after_a_restart_of_the_server(api: Api, tmp_path: Path) -> None:
    session = api.begin([LOOK, {**TALK, "when": str(tmp_path / "restarted")}])
    with reading(api, f"sessions/{session}/events") as told:
        first = next(told)
    api.serve.restart()
    (tmp_path / "restarted").touch()
    with reading(api, f"sessions/{session}/events?follow=no", **{"Last-Event-ID": first["id"]}) as told:
        rest = [each for each in told if each["at"]]
    assert rest[-1]["kind"] == "RunEnded" and rest[-1]["event"]["status"] == "done"
    assert [first["seq"], *(each["seq"] for each in rest)] == [each["seq"] for each in api.events(session)]


def readers_that_do_not_read_hold_nobody_up(api: Api) -> None:
    session = api.begin([{"text": " ".join(map(str, range(15_000)))}])
    with reading(api, f"sessions/{session}/events") as slow:
        next(slow)
        assert api.ended(session)["status"] == "done"
        with reading(api, f"sessions/{session}/events?follow=no") as told:
            assert list(told)[-1]["kind"] == "RunEnded"


def what_is_no_position_is_refused(api: Api) -> None:
    session = api.begin(["Hello."])
    api.ended(session)
    for wrong in ("x", "-1", "1.x", "9" * 30, "1.2.3"):
        refused = api.client.get(f"/api/sessions/{session}/events?after={wrong}")
        assert refused.status_code == 422 and refused.json()["detail"], wrong
    beyond = api.get(f"sessions/{session}/events?format=json&after=1.7")
    assert beyond["events"], "a position inside of what is gone stands for the event before it"


def pages_follow_each_other(api: Api) -> None:
    session = api.begin([LOOK, "Done."])
    api.ended(session)
    whole, pieces, position = api.events(session), [], "0"
    while True:
        page = api.get(f"sessions/{session}/events?format=json&limit=3&after={position}")
        if not page["events"]:
            break
        pieces += page["events"]
        position = page["position"]
    assert pieces == whole


def two_readers_see_the_same(api: Api) -> None:
    session = api.begin([LOOK, TALK])
    seen: list[list[str]] = []

    def read() -> None:
        with reading(api, f"sessions/{session}/events?follow=no") as told:
            seen.append([each["id"] for each in told if each["at"]])

    readers = [threading.Thread(target=read) for _ in range(2)]
    for each in readers:
        each.start()
    for each in readers:
        each.join(60)
    assert len(seen) == 2 and seen[0] == seen[1]


@pytest.mark.slow
def test_streams(api: Api) -> None:
    a_stream_tells_all_from_the_first_event_to_the_end(api)
    a_reader_that_comes_back_goes_on_where_it_was(api)
    two_readers_see_the_same(api)
    readers_that_do_not_read_hold_nobody_up(api)


@pytest.mark.slow
def test_pages(api: Api) -> None:
    what_is_no_position_is_refused(api)
    pages_follow_each_other(api)
