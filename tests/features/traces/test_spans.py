"""Spans of a task as a collector gets them: named by the conventions, nested, and without any content."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from mending import DONE, edit
from outside import Kith, StandIn
from posted import Posted, post_server


class Collector:
    """A collector of our own, and the spans that it got."""

    def __init__(self, server: Posted) -> None:
        self._server = server
        self.url = server.url

    @property
    def raw(self) -> bytes:
        return b"".join(body for _, body in self._server.posts)

    @property
    def keys(self) -> set[str]:
        return {headers.get("authorization", "") for headers, _ in self._server.posts}

    def named(self, begin: str) -> list[Any]:
        told = [ExportTraceServiceRequest.FromString(body) for _, body in self._server.posts]
        scopes = [scope for each in told for of in each.resource_spans for scope in of.scope_spans]
        return [span for scope in scopes for span in scope.spans if span.name.startswith(begin)]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with post_server() as server:
        yield Collector(server)


def attributes(span: Any) -> dict[str, Any]:
    return {each.key: each.value for each in span.attributes}


@pytest.mark.slow
def test_a_task_is_a_span_with_its_calls_tools_and_verdicts(
    kith: Kith, stand_in: StandIn, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_TRACES_URL", collector.url)
    monkeypatch.setenv("KITH_TRACES_KEY_ENV", "COLLECTOR_KEY")
    monkeypatch.setenv("COLLECTOR_KEY", "open sesame")
    stand_in([edit(), DONE])
    words = ("run", "--yes", "--check", "python3 -m unittest -q", "fix the secret mean")
    # A process of its own: what is left is sent when it ends.
    subprocess.run([sys.executable, "-m", "kith", *words], cwd=kith.folder, check=True, timeout=60)
    (task,) = collector.named("invoke_agent kith")
    chats, tools = collector.named("chat standin"), collector.named("execute_tool ")
    assert len(chats) == 2 and {each.name for each in tools} >= {"execute_tool edit", "execute_tool done"}
    assert collector.named("judge check")
    assert all(each.parent_span_id == task.span_id for each in [*chats, *tools])
    about = attributes(chats[0])
    assert about["gen_ai.provider.name"].string_value == "ollama"
    assert about["gen_ai.usage.input_tokens"].int_value > 0
    assert collector.keys == {"Bearer open sesame"}
    assert not any(word in collector.raw for word in (b"mean", b"utils", b"unittest"))


@pytest.mark.slow
def test_a_collector_that_is_away_costs_nothing(
    kith: Kith, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_TRACES_URL", "http://127.0.0.1:9/v1/traces")
    stand_in([edit(), DONE])
    said = kith("run", "--yes", "--check", "none", "fix mean").stderr
    assert "opentelemetry" not in said.lower() and "Traceback" not in said


def test_an_address_that_is_none_is_one_sentence(
    kith: Kith, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KITH_TRACES_URL", "file:///tmp/x")
    stand_in([DONE])
    said = kith("run", "fix mean", code=2).stderr
    assert "traces.url: 'file:///tmp/x' is no http or https address." in said
