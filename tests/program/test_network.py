"""The network, from outside: asked about, host by host, or named by the person beforehand."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outside import Kith
from website import website

pytestmark = pytest.mark.slow


@pytest.fixture
def place() -> Iterator[str]:
    """A web server on this machine that says "here"."""
    with website() as port:
        yield f"127.0.0.1:{port}"


@pytest.fixture
def kith(repository: Path, sandbox: None) -> Kith:
    return Kith(repository)


def script(kith: Kith, place: str, hosts: str) -> tuple[str, ...]:
    """A model that fetches a page and one that is not allowed, and says what the tool answered."""
    args = {"command": f"curl -sS http://{place}/; curl -sS http://a.invalid/", "hosts": hosts}
    file = kith.folder.parent / "script.json"
    file.write_text(json.dumps([{"calls": [{"name": "bash", "args": args}]}, {"text": "So it is."}]))
    return ("-m", f"replay/{file}", "Look")


def commands(report: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = report["receipt"]["commands"]
    return found


def test_nobody_there_is_a_no(kith: Kith, place: str) -> None:
    assert commands(kith.run("--check", "none", *script(kith, place, place))) == []


def test_hosts_of_the_person_need_no_question_and_are_told(kith: Kith, place: str) -> None:
    for hosts in (place, ""):  # named by the model as well, or not
        (ran,) = commands(kith.run("--check", "none", "--net", place, *script(kith, place, hosts)))
        reached, refused = ran["network"]
        assert reached["place"] == place and reached["received"] > 0 and not reached["refused"]
        assert refused == {"place": "a.invalid:80", "sent": 0, "received": 0, "refused": "not allowed"}
    told = kith("run", "--check", "none", "--net", place, *script(kith, place, "")).stderr
    assert f"exit 0  network: {place} 0 kB, refused a.invalid:80 (not allowed)" in told


def test_checks_reach_them_too(kith: Kith, place: str) -> None:
    edit = {"path": "new.txt", "content": "new\n"}
    file = kith.folder.parent / "edit.json"
    file.write_text(json.dumps([{"calls": [{"name": "write", "args": edit}]}, {"text": "Written."}]))
    words = ("--yes", "--check", f"curl -sSf http://{place}/", "-m", f"replay/{file}", "Write it")
    assert kith.run("--net", place, *words)["applied"]
    assert kith.run(*words, code=None)["applied"] is None


def test_offline_refuses_without_a_question(kith: Kith, place: str) -> None:
    words = ("--check", "none", "--offline", "--net", place)
    told = kith("run", *words, *script(kith, place, place)).stderr
    assert f"This is not allowed in trial mode: to reach {place}: curl" in told


def test_what_is_no_host_is_said_in_one_sentence(kith: Kith) -> None:
    (told,) = kith("run", "--net", "http://a.org", "Look", code=2).stderr.splitlines()
    assert told.startswith("kith: --net: 'http://a.org' is no host; write a name (example.org)")
