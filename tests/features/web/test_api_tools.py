"""Files, settings and tools without a model, over HTTP."""

import os
from pathlib import Path

import pytest

from api_client import Api
from serving import Serving

OLD, NEW = "/ (len(numbers) + 1)", "/ max(len(numbers), 1)"
KEY = "sk-proj-9aXk2LqP7vTz4RbN8mWc5YdF1hJ6sG3e"


@pytest.fixture
def api(
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    sandbox: None,
    request: pytest.FixtureRequest,
) -> Api:
    """A project with secrets, ignored files and links."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://someone:hidden-word@localhost:9/v1")
    (tmp_path / "outside.txt").write_text("outside\n")
    (repository / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    (repository / "kept.txt").write_text(f"one {KEY}\ntwo\nthree\n")
    (repository / "__pycache__").mkdir()
    (repository / "__pycache__" / "ignored.txt").write_text("ignored\n")
    (repository / "link.txt").symlink_to(tmp_path / "outside.txt")
    (repository / "also.txt").symlink_to(".env")
    (repository / "picture.png").write_bytes(b"\x89PNG\0\0")
    serve: Serving = request.getfixturevalue("serve")
    return Api(serve, tmp_path)


def files_are_those_of_the_project_and_nothing_else(api: Api, repository: Path) -> None:
    (Path(os.fsdecode(os.fsencode(repository) + b"/caf\xe9.txt"))).write_text("odd\n")
    listed = api.get("files")
    assert "utils.py" in listed["files"] and "__pycache__/ignored.txt" not in listed["files"]
    assert api.get("files?path=tests")["files"] == ["tests/__init__.py", "tests/test_utils.py"]
    assert api.get("files?limit=1")["left_out"] == len(listed["files"]) - 1
    page = api.get("file?path=utils.py&start=4&end=5")
    assert page["text"].startswith("def mean") and (page["start"], page["end"], page["lines"]) == (4, 5, 11)
    for path in (
        *("../outside.txt", "/etc/passwd", "..%2Foutside.txt", "nothing.txt", "tests", ""),
        *(".env", "link.txt", "also.txt", "__pycache__/ignored.txt", ".git/config", "picture.png", "a%00b"),
    ):
        for place in ("/api/file", "/files") if path else ("/api/file",):
            refused = api.client.get(f"{place}?path={path}")
            assert refused.status_code == 404 and refused.json()["detail"].endswith("."), path
            assert "outside\n" not in refused.text and KEY not in refused.text
    assert "caf\\udce9.txt" in api.client.get("/files").text
    assert "The arithmetic mean" in api.client.get("/files?path=utils.py").text


def settings_come_without_secrets(api: Api) -> None:
    answered = api.client.get("/api/config")
    found = {each["key"]: each for each in answered.json()["settings"]}
    assert found["openai_base_url"]["value"] == "http://***@localhost:9/v1"
    assert KEY not in answered.text and "hidden-word" not in answered.text
    assert api.get("health")["status"] == "ok"
    assert isinstance(api.get("models")["notes"], list)
    assert api.get("projects")["projects"][0]["name"] == "repository"


def looks_are_answered_at_once(api: Api) -> None:
    tools = {each["name"]: each for each in api.get("tools")["tools"]}
    assert tools["read"]["effect"] == "read" and tools["edit"]["effect"] == "write"
    assert tools["search"]["schema"]["required"] == ["pattern"]

    def use(tool: str, /, **args: object) -> dict[str, object]:
        answered = api.post(f"tools/{tool}", {"args": args})
        assert answered.status_code == 200, answered.text
        return dict(answered.json())

    assert "def mean" in str(use("read", paths=["utils.py"])["text"])
    assert "utils.py" in str(use("list")["text"])
    assert "\nutils.py\n" in str(use("search", pattern="import|arithmetic")["text"])
    assert "utils.py" in str(use("symbols", name="clamp")["text"])
    assert "Two helpers" in str(use("git", action="log")["text"])
    for path in ("../outside.txt", "/etc/passwd", "link.txt", ".env", ".git/config"):
        told = use("read", paths=[path])
        assert not told["ok"] and "outside\n" not in str(told) and KEY not in str(told), path
    assert KEY not in str(use("read", paths=["kept.txt"])) and KEY not in str(use("search", pattern="sk-"))


@pytest.mark.slow
def test_an_edit_waits_for_a_yes(api: Api, repository: Path) -> None:
    edit = {"args": {"path": "utils.py", "old": OLD, "new": NEW}, "check": ["none"]}
    proposed = api.post("tools/edit", edit)
    assert proposed.status_code == 202, proposed.text
    change = proposed.json()
    assert change["files"][0]["added"] == 1 and OLD in (repository / "utils.py").read_text()
    place = f"sessions/{change['session']}/answers/{change['question']}"
    assert api.post(place, {"choice": "all"}).status_code == 200
    assert api.ended(change["session"])["text"] == "Done, without a model."
    assert NEW in (repository / "utils.py").read_text()
    words = {"action": "rename", "target": "utils.py:clamp", "to": "limit"}
    renamed = api.post("tools/refactor", {"args": words, "check": ["none"]}).json()
    assert [file["path"] for file in renamed["files"]] == ["tests/test_utils.py", "utils.py"]
    assert api.post(f"sessions/{renamed['session']}/cancel", {}).status_code == 202


@pytest.mark.slow
def test_a_command_runs_on_the_side_and_its_change_waits(api: Api, repository: Path) -> None:
    printed = api.post("tools/bash", {"args": {"command": "echo one; exit 3"}, "wait_s": 60}).json()
    assert not printed["ok"] and printed["text"].startswith("one\n") and "3" in printed["text"]
    assert api.ended(printed["session"])["status"] == "done"
    change = api.post("tools/bash", {"args": {"command": "echo two > new.txt"}, "wait_s": 60})
    assert change.status_code == 202 and change.json()["files"][0]["path"] == "new.txt"
    assert not (repository / "new.txt").exists()
    place = f"sessions/{change.json()['session']}/answers/{change.json()['question']}"
    assert api.post(place, {"choice": "all"}).status_code == 200
    api.ended(change.json()["session"])
    assert (repository / "new.txt").read_text() == "two\n"
    assert api.post("tools/bash", {"args": {"command": " "}}).status_code == 422


@pytest.mark.slow
def test_a_list_begins_a_session_and_reaches_its_model(api: Api) -> None:
    listed = api.post("tools/todo", {"args": {"items": ["Look", "Mend"]}}).json()
    session = listed["session"]
    assert listed["ok"] and [each["text"] for each in api.get(f"sessions/{session}/todo")["items"]] == [
        "Look",
        "Mend",
    ]
    api.post("tools/todo", {"args": {"items": ["Mend"]}, "session": session})
    assert len(api.get(f"sessions/{session}/todo")["items"]) == 1
    reply = {"text": "As listed.", "expect": r"(?s)Go on.*1\. Mend"}
    api.post(f"sessions/{session}/messages", {"words": "Go on", "model": api.script([reply])})
    api.until(lambda: api.get(f"sessions/{session}")["text"] == "As listed.")
    assert api.post("tools/todo", {"args": {"items": [" "]}}).status_code == 422


def what_a_tool_does_not_take_is_said(api: Api) -> None:
    for name, args, words in (
        ("edit", {"path": "utils.py", "old": "nowhere at all", "new": "x"}, "not changed"),
        ("edit", {"path": "../outside.txt", "old": "outside", "new": "x"}, "outside the project"),
        ("write", {"path": ".git/hooks/post-checkout", "content": "x"}, "out of bounds"),
        ("replace", {"old": "a", "new": "b", "where": "none.txt"}, "no file none.txt"),
        ("replace", {"old": "OPENAI", "new": "b", "where": ".env"}, "no file .env"),
        ("append", {"text": "x", "path": "also.txt"}, "looks like it holds secrets"),
        ("replace", {"old": "a"}, "'new' is missing"),
        ("read", {"paths": ["utils.py"], "mode": "x"}, "unknown argument 'mode'"),
        ("git", {"action": "commit", "message": "x"}, "read-only"),
    ):
        refused = api.post(f"tools/{name}", {"args": args})
        assert refused.status_code == 422 and words in refused.json()["detail"], refused.text
        assert KEY not in refused.text
    for name in ("done", "nothing"):
        assert api.post(f"tools/{name}", {"args": {}}).status_code == 404


def test_looking(api: Api, repository: Path) -> None:
    settings_come_without_secrets(api)
    looks_are_answered_at_once(api)
    what_a_tool_does_not_take_is_said(api)
    files_are_those_of_the_project_and_nothing_else(api, repository)
