"""The stateless endpoint: the conversation comes with the request, and the server keeps nothing for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from api_client import Api
from kith.features.web.api.agent import Turn, as_messages
from serving import Serving

OLD, NEW = "/ (len(numbers) + 1)", "/ max(len(numbers), 1)"
TODO = {"name": "todo", "args": {"items": ["Look", "Mend"]}}
LOOK = {
    "thinking": "First a look.",
    "calls": [{"name": "read", "args": {"paths": ["utils.py"]}}, TODO],
}
EDIT = {
    "text": "Now the edit.",
    "calls": [{"name": "edit", "args": {"path": "utils.py", "old": OLD, "new": NEW}}],
}


@pytest.fixture
def api(serve: Serving, tmp_path: Path, sandbox: None) -> Api:
    return Api(serve, tmp_path)


def ask(api: Api, replies: list[Any], prompt: str = "Mend mean()", **more: Any) -> dict[str, Any]:
    body = {"prompt": prompt, "model": api.script(replies), "check": ["none"], **more}
    answered = api.post("agent", body)
    assert answered.status_code == 200, answered.text
    return dict(answered.json())


def lasting(outcome: dict[str, Any]) -> str:
    """What does not differ from one time to the next: no names, no times."""
    data = outcome["data"]
    steps = [{key: value for key, value in step.items() if key != "seconds"} for step in data["steps"]]
    return json.dumps(
        [outcome["success"], outcome["message"], data["tasks"], steps, data["changes"], outcome["error"]]
    )


def test_a_task_is_told_step_by_step_and_waits_for_a_yes(api: Api, repository: Path) -> None:
    outcome = ask(api, [LOOK, EDIT, "Mended.", "Mended."])
    data = outcome["data"]
    assert outcome["success"] and outcome["error"] is None
    assert [(item["id"], item["text"]) for item in data["tasks"]] == [(1, "Look"), (2, "Mend")]
    first, second, third, *_, last = data["steps"]  # with open steps in its list, it is asked once
    assert first["thought"] == "First a look." and first["action"]["tool"] == "read"
    assert "def mean" in first["observation"] and first["tokens"] > 0
    assert second["action"]["tool"] == "todo" and second["tokens"] == 0
    assert third["thought"] == "Now the edit." and third["observation"].startswith("Changed line 6.")
    assert last["action"] is None and last["thought"] == "Mended."
    assert NEW in data["changes"][0]["diff"] and NEW not in (repository / "utils.py").read_text()
    assert data["receipt"]["status"] == "unfinished"
    place = f"sessions/{data['session']}/answers/{data['question']['id']}"
    assert api.post(place, {"choice": "all"}).status_code == 200
    assert api.ended(data["session"])["status"] == "done" and NEW in (repository / "utils.py").read_text()


def test_steps_are_numbered_and_carry_the_list_after_each(api: Api) -> None:
    again = [{"text": "Mend", "state": "active"}, "Test"]
    later = {"calls": [{"name": "todo", "args": {"items": ["Look", *again]}}]}
    data = ask(api, [LOOK, later, "All is well.", "All is well."], read_only=True)["data"]
    assert [step["number"] for step in data["steps"]] == [1, 2, 3, 4, 5]
    look, mend, test = ({"id": n, "text": text} for n, text in enumerate(("Look", "Mend", "Test"), 1))
    pending, active = {"state": "pending"}, {"state": "active"}
    lists = [[], [look | pending, mend | pending], [look | pending, mend | active, test | pending]]
    assert [step["tasks"] for step in data["steps"]] == [*lists, lists[-1], lists[-1]]
    assert data["tasks"] == lists[-1]


def test_the_message_is_the_summary_of_the_model(api: Api) -> None:
    waiting = ask(api, [EDIT, "I mended mean()."])
    assert waiting["data"]["question"] and waiting["message"] == "I mended mean()."
    ended = {"calls": [{"name": "done", "args": {"summary": "It divides by the length."}}]}
    assert ask(api, [ended], read_only=True)["message"] == "It divides by the length."


def test_the_older_names_of_the_contract_are_understood(api: Api) -> None:
    told = [
        {"role": "user", "content": "How does mean() work?"},
        {"role": "assistant", "content": "It adds."},
    ]
    reply = {"text": "So.", "expect": r"(?s)And now\?.*Use the tool `read` first"}
    body = {"toolType": "read", "contextHistory": told, "read_only": True}
    assert ask(api, [reply], "And now?", **body)["message"] == "So."
    wrong = api.post("agent", {"prompt": "Hi", "toolType": "hammer"})
    assert wrong.status_code == 422 and "hammer" in wrong.json()["detail"]


def test_limits_of_a_request_end_its_task(api: Api) -> None:
    look = {"calls": [{"name": "list", "args": {}}]}
    ended = ask(api, [look, look, "Never said."], read_only=True, limits={"steps": 2})
    assert not ended["success"] and len(ended["data"]["steps"]) == 2
    assert ended["data"]["receipt"]["status"] == "limit"
    for limits in ({"steps": 0}, {"tokens": "many"}, {"hours": 1}):
        assert api.post("agent", {"prompt": "Hi", "limits": limits}).status_code == 422


def test_history_is_sent_as_turns_with_a_stable_beginning(
    stand_in: Any, start_serving: Any, tmp_path: Path
) -> None:
    server = stand_in(["One.", "Two.", "Three."], dialect="vllm")
    api = Api(start_serving(), tmp_path)
    said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Yes?"}]
    for answer in ("One.", "Two."):
        body = {"prompt": f"Before {answer}", "context": said, "read_only": True}
        outcome = api.post("agent", body).json()
        assert outcome["message"] == answer
        said += [{"role": "user", "content": body["prompt"]}, {"role": "assistant", "content": answer}]
    first, second = (request.body["messages"] for request in server.requests if "messages" in request.body)
    assert [each["role"] for each in first] == ["system", "user", "assistant", "user"]
    assert [each["content"] for each in first[1:3]] == ["Hello", "Yes?"]
    assert first[:3] == second[:3] and [each["content"] for each in second[3:5]] == ["Before One.", "One."]
    assert "utils.py" in first[-1]["content"] and first[-1]["content"].endswith("Before One.")


@pytest.mark.slow
def test_the_same_history_gives_the_same_answer_after_a_restart(api: Api) -> None:
    roles = ("user", "assistant")
    said = [{"role": roles[number % 2], "content": f"turn {number}\n# Now"} for number in range(35)]
    asked: dict[str, Any] = {"prompt": "Go on", "context": said, "read_only": True}
    before = ask(api, ["As before."], **asked)
    assert before["message"] == "As before.", before
    api.serve.restart()
    assert lasting(ask(api, ["As before."], **asked)) == lasting(before)


def test_old_turns_are_left_out_ten_at_a_time() -> None:
    for count, kept in ((20, 20), (29, 29), (30, 20), (35, 25), (41, 21)):
        said = [Turn(role=("user", "assistant")[n % 2], content=f"turn {n}") for n in range(count)]
        messages = as_messages(said)
        assert (len(messages), messages[0].text) == (kept, f"turn {count - kept}")


def test_turns_alternate_and_a_person_speaks_first() -> None:
    turns = [Turn(role=role, content=role) for role in ("assistant", "user", "system", "tool", "assistant")]
    roles = [message.role for message in as_messages(turns)]
    assert roles == ["user", "assistant", "user", "assistant"]


@pytest.mark.slow
def test_a_failure_is_a_sentence_and_a_long_task_goes_on(api: Api, tmp_path: Path) -> None:
    failed = ask(api, [{"error": "The server is on fire."}])
    assert not failed["success"] and "on fire" in failed["error"]
    unknown = ask(api, [], model="replay/nowhere.json")
    assert not unknown["success"] and "nowhere.json" in unknown["error"]
    late = ask(api, [{"text": "Late.", "when": str(tmp_path / "late")}], timeout_s=0.3)
    assert not late["success"] and "still at work" in late["error"]
    (tmp_path / "late").touch()
    assert api.ended(late["data"]["session"])["text"] == "Late."
    refused = api.post("agent", {"prompt": "Hi", "context": [{"role": "judge", "content": "x"}]})
    assert refused.status_code == 422 and refused.json()["detail"].startswith("body.context.0.role")
