"""Notices of questions that wait and of long tasks: few words, and none where nobody wants them."""

from collections.abc import Iterator

import pytest

from kith.core.events import Asked
from kith.core.values import Question
from kith.features.ntfy import NtfySettings
from kith.features.ntfy.notices import Notifier
from mending import DONE, edit
from outside import Kith, StandIn
from posted import Posted, post_server
from waiting import until


@pytest.fixture
def topic() -> Iterator[Posted]:
    with post_server() as server:
        yield server


def settings(kith: Kith, topic: Posted, monkeypatch: pytest.MonkeyPatch, after: float) -> None:
    monkeypatch.setenv("KITH_NTFY_URL", topic.url)
    monkeypatch.setenv("KITH_NTFY_PAGE", "https://box.example/")
    monkeypatch.setenv("KITH_NTFY_TOKEN_ENV", "TOPIC_TOKEN")
    monkeypatch.setenv("TOPIC_TOKEN", "secret")
    monkeypatch.setenv("KITH_NTFY_AFTER_SECONDS", str(after))


def test_the_end_of_a_task_is_told_without_its_words(
    kith: Kith, stand_in: StandIn, topic: Posted, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(kith, topic, monkeypatch, 0)
    stand_in([edit(), DONE])
    kith("run", "--yes", "--check", "none", "fix the secret mean")
    # The question that --yes answers is told, too, before or after the end.
    (headers,) = [headers for headers, body in topic.posts if body.startswith(b"The task is done. Session ")]
    assert "mean" not in str(topic.posts)
    assert headers["click"].startswith("https://box.example/sessions/")
    assert (headers["authorization"], headers["title"]) == ("Bearer secret", "kith in repository")


def test_a_short_task_and_a_quick_answer_are_not_told(
    kith: Kith, stand_in: StandIn, topic: Posted, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(kith, topic, monkeypatch, 60)
    stand_in([edit(), DONE])
    kith("run", "--yes", "--check", "none", "fix mean")
    assert not topic.posts


def test_a_question_that_nobody_answers_is_told(topic: Posted) -> None:
    notifier = Notifier(NtfySettings(topic.url, after_seconds=0.05), "repository", "abcdef012345")
    notifier(Asked(Question("1", "tool", "Allow rm -rf?", ("yes", "no"))), ())
    until(lambda: topic.posts)
    assert topic.posts[0][1] == b"kith asks you something. Session abcdef."


def test_a_server_that_is_away_costs_nothing(
    kith: Kith, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(kith, Posted("http://127.0.0.1:9/topic"), monkeypatch, 0)
    stand_in([edit(), DONE])
    kith("run", "--yes", "--check", "none", "fix mean")


def test_an_address_that_is_none_is_one_sentence(
    kith: Kith, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(kith, Posted("file:///etc/passwd"), monkeypatch, 0)
    stand_in([DONE])
    said = kith("run", "fix mean", code=2).stderr
    assert "ntfy.url: 'file:///etc/passwd' is no http or https address." in said
