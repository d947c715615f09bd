"""Tasks of a fleet: what a file may hold, and what is refused with its line."""

import json
from pathlib import Path
from typing import Any

import pytest

from kith.core.errors import UsageError
from kith.features.fleet.tasks import FleetTask, find_repository, name_tasks, queue_of, read_tasks


def read(*rows: Any) -> list[FleetTask]:
    return list(read_tasks([each if isinstance(each, str) else json.dumps(each) for each in rows], "tasks"))


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ({"request": "x"}, "repository"),
        ({"repository": "https://h/r", "request": ""}, "request"),
        ({"repository": "https://h/r", "request": "x", "reqest": "y"}, "reqest"),
        ({"repository": "https://h/r", "request": "x", "key": "../up"}, "../up"),
        ({"repository": "https://h/r", "request": "x", "max_usd": -1}, "max_usd"),
        ({"repository": "https://h/r", "request": "x", "priority": 1000}, "priority"),
        ({"repository": "https://h/r", "request": "x", "command": "serve"}, "serve"),
        ({"repository": "https://h/r", "request": "x", "revision": "--upload-pack=evil"}, "--upload-pack"),
        ({"repository": "https://h/r", "request": "x" * 300_000}, "limit"),
        ("{not json", "line 2"),
    ],
)
def test_a_wrong_task_is_refused_with_its_line(row: Any, wrong: str) -> None:
    with pytest.raises(UsageError) as refused:
        read({"repository": "https://h/r", "request": "right"}, row)
    assert "line 2" in str(refused.value) and wrong in str(refused.value)


@pytest.mark.parametrize(
    "words",
    [
        "ext::sh -c evil",
        "-oProxyCommand=evil",
        "https://-h/x",
        "",
        "/no/such/folder",
        "fd::17/x",
        "https://me:secret@h/r",
    ],
)
def test_an_address_that_runs_a_program_or_tells_a_secret_is_refused(words: str) -> None:
    with pytest.raises(UsageError):
        find_repository(words)


def test_addresses_and_folders_are_taken(tmp_path: Path) -> None:
    for words in ("https://h/r.git", "ssh://git@h/r", "git@h:team/r.git", f"file://{tmp_path}"):
        assert find_repository(words) == words
    assert find_repository(str(tmp_path / ".." / tmp_path.name)) == str(tmp_path)


def test_tasks_without_keys_are_numbered_in_order() -> None:
    tasks = [FleetTask("/r", "x") for _ in range(11)]
    assert [task.key for task in name_tasks(tasks)][::10] == ["01", "11"]
    with pytest.raises(UsageError):
        name_tasks([FleetTask("/r", "x", key="a"), FleetTask("/r", "y", key="a")])


def test_a_queue_has_a_name_that_the_engine_takes() -> None:
    assert len(queue_of("a very long name of a model/" * 10).encode()) <= 40
    assert queue_of("one") != queue_of("two")
