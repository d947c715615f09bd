"""The stateless endpoint: the conversation comes with the request, and the server keeps nothing for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from api_client import Api
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
    outcome = ask(api, [LOOK, EDIT, "Mended."])
    data = outcome["data"]
    assert outcome["success"] and outcome["error"] is None
    assert [item["text"] for item in data["tasks"]] == ["Look", "Mend"]
    first, second, third, last = data["steps"]
    assert first["thought"] == "First a look." and first["action"]["tool"] == "read"
    assert "def mean" in first["observation"] and first["tokens"] > 0
    assert second["action"]["tool"] == "todo" and second["tokens"] == 0
    assert third["thought"] == "Now the edit." and third["observation"].startswith("Changed utils.py")
    assert last["action"] is None and last["thought"] == "Mended."
    assert NEW in data["changes"][0]["diff"] and NEW not in (repository / "utils.py").read_text()
    assert data["receipt"]["status"] == "unfinished"
    place = f"sessions/{data['session']}/answers/{data['question']['id']}"
    assert api.post(place, {"choice": "all"}).status_code == 200
    assert api.ended(data["session"])["status"] == "done" and NEW in (repository / "utils.py").read_text()


@pytest.mark.slow
def test_the_same_history_gives_the_same_answer_after_a_restart(api: Api) -> None:
    said = [{"role": "user", "content": f"turn {number}\n# Now"} for number in range(25)]
    # Of 25 turns the newest 20 are told, and none of them looks like the task itself.
    reply = {
        "text": "As before.",
        "expect": r"(?s)^((?!turn 4\b).)*Go on\n\n# What was said before\n.*> turn 5\n> # Now.*> turn 24\n",
    }
    asked: dict[str, Any] = {"prompt": "Go on", "context": said, "read_only": True}
    before = ask(api, [reply], **asked)
    assert before["message"] == "As before.", before
    api.serve.restart()
    assert lasting(ask(api, [reply], **asked)) == lasting(before)


@pytest.mark.slow
def test_a_failure_is_a_sentence_and_a_long_task_goes_on(api: Api) -> None:
    failed = ask(api, [{"error": "The server is on fire."}])
    assert not failed["success"] and "on fire" in failed["error"]
    unknown = ask(api, [], model="replay/nowhere.json")
    assert not unknown["success"] and "nowhere.json" in unknown["error"]
    late = ask(api, [{"text": "Late.", "delay": 1.5}], timeout_s=0.3)
    assert not late["success"] and "still at work" in late["error"]
    assert api.ended(late["data"]["session"])["text"] == "Late."
    refused = api.post("agent", {"prompt": "Hi", "context": [{"role": "judge", "content": "x"}]})
    assert refused.status_code == 422 and refused.json()["detail"].startswith("body.context.0.role")
