"""Sessions over HTTP, from outside: begun, watched, answered, steered, stopped, taken back."""

import threading
from pathlib import Path
from typing import Any

import pytest

from api_client import Api
from kith.core.events import Asked, RunStarted
from kith.core.run import new_id
from kith.core.values import Consent, Question
from kith.memory.log import LOG_FILE, Log
from kith.memory.session import Session
from serving import Serving

OLD, NEW = "/ (len(numbers) + 1)", "/ max(len(numbers), 1)"
EDIT = {"calls": [{"name": "edit", "args": {"path": "utils.py", "old": OLD, "new": NEW}}]}
NOTE = {"calls": [{"name": "write", "args": {"path": "b.txt", "content": "b\n"}}]}


@pytest.fixture
def api(serve: Serving, tmp_path: Path, sandbox: None) -> Api:
    return Api(serve, tmp_path)


def a_task_from_its_words_to_the_applied_change(api: Api, repository: Path) -> None:
    session = api.begin([EDIT, "Mended."])
    asked = api.question(session)
    assert [file["path"] for file in asked["files"]] == ["utils.py"] and asked["files"][0]["pieces"] == 1
    assert api.get(f"sessions/{session}/diff")["state"] == "waiting"
    assert api.post(f"sessions/{session}/answers/{asked['id']}", {"choice": "all"}).json()["by"] == "the API"
    assert api.ended(session)["status"] == "done"
    assert NEW in (repository / "utils.py").read_text()
    told = api.get(f"sessions/{session}/diff")
    assert told["state"] == "applied" and told["files"][0]["added"] == 1
    assert "+    return" in api.client.get(f"/api/sessions/{session}/diff?format=text").text
    receipt = api.get(f"sessions/{session}/receipt")
    assert receipt["status"] == "done" and receipt["applied"] and receipt["usage"]["calls"] == 2
    line = api.get("sessions")["sessions"][0]
    assert line["id"] == session and not line["working"]
    undone = api.post(f"sessions/{session}/undo", {})
    assert undone.status_code == 200 and OLD in (repository / "utils.py").read_text()
    again = api.post(f"sessions/{session}/undo", {})
    assert again.status_code == 409 and "already undone" in again.json()["detail"]


def a_change_that_was_refused_waits_until_it_is_applied_or_discarded(api: Api, repository: Path) -> None:
    session = api.begin([EDIT, "Mended."])
    api.post(f"sessions/{session}/answers/{api.question(session)['id']}", {"choice": "none"})
    assert api.ended(session)["status"] == "rejected"
    api.until(lambda: api.get(f"sessions/{session}")["waiting"])
    assert api.get("sessions")["sessions"][0]["waiting"] is True
    kept = api.get(f"sessions/{session}/diff")
    assert kept["state"] == "kept" and NEW in kept["files"][0]["diff"]
    assert api.get(f"sessions/{session}/receipt")["waiting"] == f"{session}-1"
    page = api.client.get(f"/sessions/{session}").text
    assert "Apply the change" in page and "rejected, change waits" in page
    assert api.post(f"sessions/{session}/apply", {}).status_code == 202
    asked = api.question(session)
    assert asked["kind"] == "change" and api.post(f"sessions/{session}/apply", {}).status_code == 409
    api.post(f"sessions/{session}/answers/{asked['id']}", {"choice": "all"})
    api.until(lambda: NEW in (repository / "utils.py").read_text())
    api.until(lambda: not api.get(f"sessions/{session}")["working"])
    assert api.post(f"sessions/{session}/apply", {}).json()["detail"] == "No change waits in this session."
    assert api.post(f"sessions/{session}/undo", {}).status_code == 200
    other = api.begin([EDIT, "Mended."])
    api.post(f"sessions/{other}/answers/{api.question(other)['id']}", {"choice": "none"})
    gone = api.until(lambda: (said := api.post(f"sessions/{other}/discard", {})).status_code == 200 and said)
    assert gone.json()["files"][0]["path"] == "utils.py"
    assert not api.get(f"sessions/{other}")["waiting"] and OLD in (repository / "utils.py").read_text()


def the_second_answer_is_told_of_the_first(api: Api) -> None:
    session = api.begin([EDIT, "Mended."])
    place = f"sessions/{session}/answers/{api.question(session)['id']}"
    codes: list[int] = []
    tries = [
        threading.Thread(target=lambda: codes.append(api.post(place, {"choice": "none"}).status_code))
        for _ in range(2)
    ]
    for each in tries:
        each.start()
    for each in tries:
        each.join()
    assert sorted(codes) == [200, 409]
    late = api.post(place, {"choice": "all"})
    assert late.status_code == 409 and late.json()["first"] == {"choice": "none", "by": "the API"}
    assert late.headers["content-type"] == "application/problem+json"
    assert api.ended(session)["status"] == "rejected"


def only_what_fits_the_question_is_an_answer(api: Api, repository: Path) -> None:
    session = api.begin([{"calls": [*EDIT["calls"], *NOTE["calls"]]}, "Two changes."])
    asked = api.question(session)
    place = f"sessions/{session}/answers/{asked['id']}"
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"choice": "perhaps"}, "The choices are: all, none"),
        ({"choice": "some"}, "at least one piece"),
        ({"choice": "some", "kept": [{"path": "c.txt", "hunks": [0]}]}, "not part of this change"),
        ({"choice": "some", "kept": [{"path": "b.txt", "hunks": [1]}]}, "from 0 to 0, not 1"),
        ({"choice": "revise"}, "what should be different"),
        ({"choice": "edit", "text": "x"}, "revised in words"),
        ({"choice": "all", "why": "because"}, "why"),
    ]
    for body, words in wrong:
        refused = api.post(place, body)
        assert refused.status_code == 422 and words in refused.json()["detail"], body
    assert api.post(f"sessions/{session}/answers/another", {"choice": "all"}).status_code == 404
    kept = {"choice": "some", "kept": [{"path": "b.txt", "hunks": [0]}]}
    assert api.post(place, kept).status_code == 200
    assert api.ended(session)["status"] == "done"
    assert (repository / "b.txt").exists() and OLD in (repository / "utils.py").read_text()


def a_stop_ends_the_work(api: Api) -> None:
    session = api.begin([{"text": "Too late.", "delay": 30}])
    api.until(lambda: api.get(f"sessions/{session}")["task"])
    assert api.post(f"sessions/{session}/cancel", {}).status_code == 202
    assert api.ended(session)["status"] == "interrupted"
    idle = api.until(lambda: (said := api.post(f"sessions/{session}/cancel", {})).status_code == 409 and said)
    assert idle.json()["detail"] == "Nobody works on this session now."


def words_steer_and_begin_the_next_task(api: Api) -> None:
    said = api.scripts / "said"
    look = {"calls": [{"name": "read", "args": {"paths": ["utils.py"]}}], "when": str(said)}
    session = api.begin([look, "As you say."])
    api.until(lambda: "Said" in {each["kind"] for each in api.events(session)})
    assert api.post(f"sessions/{session}/messages", {"words": "use tabs"}).status_code == 202
    said.touch()
    assert api.ended(session)["text"] == "As you say."
    told = [each["event"]["message"] for each in api.events(session) if each["kind"] == "Said"]
    assert [each["role"] for each in told if "use tabs" in str(each)] == ["user"]
    more = api.post(f"sessions/{session}/messages", {"words": "And now?", "model": api.script(["Later."])})
    after = more.json()["position"]
    api.until(lambda: api.get(f"sessions/{session}")["text"] == "Later.")
    kinds = [
        each["kind"] for each in api.get(f"sessions/{session}/events?format=json&after={after}")["events"]
    ]
    assert kinds[0] == "RunStarted" and kinds[-1] == "RunEnded"


def what_is_not_there_is_said(api: Api) -> None:
    for path in ("", "/events", "/diff", "/todo", "/receipt"):
        missing = api.client.get(f"/api/sessions/nothing{path}")
        assert (
            missing.status_code == 404
            and missing.json()["detail"] == "There is no such session in these projects."
        )
    assert api.post("sessions", {"words": "  "}).status_code == 422
    assert "no project 'x'" in api.post("sessions", {"words": "Hi", "project": "x"}).json()["detail"]
    assert api.client.get("/api/v1/sessions").json() == {"sessions": []}


def a_question_about_a_model_in_the_cloud_is_answered(api: Api, home: Path, repository: Path) -> None:
    log = Log(home / ".local/state/kith" / LOG_FILE)
    asked, consent = new_id(), Consent("far/qwen3 30b", "https://api.example.org/v1", "work")
    with Session(log, "cloud") as session:
        session.emit(RunStarted("x", str(repository), "", "0"))
        session.emit(Asked(Question(asked, "trust", "Ask it?", ("yes", "no", "always"), subject=consent)))
        place = f"sessions/cloud/answers/{asked}"
        assert api.post(place, {"choice": "all"}).status_code == 422
        assert api.post(place, {"choice": "yes"}).status_code == 200
        assert session.log.is_open("cloud")
    assert api.post(place, {"choice": "always"}).json()["first"]["choice"] == "yes"


def test_sessions(api: Api, home: Path, repository: Path) -> None:
    what_is_not_there_is_said(api)
    a_question_about_a_model_in_the_cloud_is_answered(api, home, repository)
    a_task_from_its_words_to_the_applied_change(api, repository)


@pytest.mark.slow
def test_a_refused_change_waits(api: Api, repository: Path) -> None:
    a_change_that_was_refused_waits_until_it_is_applied_or_discarded(api, repository)


@pytest.mark.slow
def test_answers(api: Api, repository: Path) -> None:
    the_second_answer_is_told_of_the_first(api)
    only_what_fits_the_question_is_an_answer(api, repository)


@pytest.mark.slow
def test_work_that_is_stopped_and_steered(api: Api) -> None:
    a_stop_ends_the_work(api)
    words_steer_and_begin_the_next_task(api)
