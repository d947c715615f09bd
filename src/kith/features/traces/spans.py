"""Turn the events of a session into spans, by the conventions of OpenTelemetry for generative AI."""

import logging
import os
import time
from collections.abc import Mapping
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context

from kith import __version__
from kith.core.events import Called, Event, Judged, RunEnded, RunStarted, ToolBegan, ToolEnded
from kith.features.traces import TracesSettings

_TIMEOUT_S: Final = 2.0
Attributes = Mapping[str, str | int | float | bool | list[str]]


class Spans:
    """Hears the events of one session: a span for each task, and within it its calls, tools and verdicts.

    Names: https://opentelemetry.io/docs/specs/semconv/gen-ai/. No words, code or paths are in them. What a
    collector does not take in time is lost, and nobody is told.
    """

    def __init__(self, chosen: TracesSettings, session: str) -> None:
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        key = os.environ.get(chosen.key_env or "")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        exporter = OTLPSpanExporter(chosen.url, headers=headers, timeout=_TIMEOUT_S)
        resource = Resource.create({"service.name": "kith", "service.version": __version__})
        self._provider = TracerProvider(resource=resource)  # sends the rest when the process ends
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("kith", __version__)
        self._session = session
        self._task: Span | None = None
        self._tools: dict[str, int] = {}  # calls under way: when they began, in nanoseconds

    def __call__(self, event: Event, path: tuple[str, ...]) -> None:
        now = time.time_ns()
        match event:
            case RunStarted():
                self._begin(event, now)
            case Called():
                self._add_call(event, now)
            case ToolBegan(call_id):
                self._tools[call_id] = now
            case ToolEnded():
                self._add_tool(event, now)
            case Judged():
                self._add_verdict(event, now)
            case RunEnded(status) if self._task:
                self._task.set_attribute("kith.status", status)
                self._task.set_status(Status(StatusCode.OK if status == "done" else StatusCode.ERROR))
                self._task.end(now)
                self._task = None

    def _begin(self, started: RunStarted, now: int) -> None:
        self._task = self._tracer.start_span(
            "invoke_agent kith",
            kind=SpanKind.INTERNAL,
            start_time=now,
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "kith",
                "gen_ai.conversation.id": self._session,
                "kith.command": started.options.command,
            },
        )

    def _add_call(self, call: Called, now: int) -> None:
        provider, _, model = call.model.partition("/")
        about: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model or call.model,
            "gen_ai.conversation.id": self._session,
            "gen_ai.usage.input_tokens": call.usage.input,
            "gen_ai.usage.output_tokens": call.usage.output,
            "gen_ai.response.finish_reasons": [call.stop],
            "kith.purpose": call.purpose,
            "kith.cached_tokens": call.usage.cached,
        }
        fault = "error" if call.stop == "error" else ""
        self._add(f"chat {model or call.model}", SpanKind.CLIENT, now, call.timing.total_s, about, fault)

    def _add_tool(self, ended: ToolEnded, now: int) -> None:
        began = self._tools.pop(ended.call_id, now)
        about = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": ended.name,
            "gen_ai.tool.call.id": ended.call_id,
        }
        fault = "" if ended.ok else ended.fault or "failed"
        self._add(f"execute_tool {ended.name}", SpanKind.INTERNAL, now, (now - began) / 1e9, about, fault)

    def _add_verdict(self, judged: Judged, now: int) -> None:
        """The kind of a gate alone: a check is called by its command."""
        took = sum(ran.seconds for ran in judged.ran)
        kind = "check" if judged.ran else judged.gate
        about: Attributes = {"kith.gate": kind, "kith.when": judged.when, "kith.attempt": judged.attempt}
        self._add(f"judge {kind}", SpanKind.INTERNAL, now, took, about, "" if judged.ok else "rejected")

    def _add(
        self, name: str, kind: SpanKind, now: int, seconds: float, about: Attributes, fault: str
    ) -> None:
        if self._task is None:
            return
        span = self._tracer.start_span(
            name,
            set_span_in_context(self._task),
            kind,
            attributes=dict(about),
            start_time=now - round(seconds * 1e9),
        )
        if fault:
            span.set_attribute("error.type", fault)
            span.set_status(Status(StatusCode.ERROR))
        span.end(now)
