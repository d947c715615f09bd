"""What Prometheus reads: counters folded from the log, and what is open now."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kith import __version__
from kith.features.web.api.dependencies import OneDesk
from kith.memory.inbox import open_question
from kith.memory.log import Log
from kith.memory.queries import counted_after

Key = tuple[str, ...]  # labels
router = APIRouter(tags=["measurements"])
_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"  # which every Prometheus reads
_NAMES: Final = 50  # models, and commands, that have series of their own: further ones share "other"
_PHASES: Final = {"load": "load_s", "queue": "queue_s", "read": "prefill_s", "write": "decode_s"}


@router.get("/metrics", summary="Counters and gauges for Prometheus", response_class=Response)
async def metrics(request: Request, desk: OneDesk) -> Response:
    if not hasattr(request.app.state, "counted"):
        request.app.state.counted = Counted(desk.log.path)
    counted: Counted = request.app.state.counted
    return Response(await asyncio.to_thread(generate_latest, counted.registry), media_type=_TEXT)


class Counted(Collector):
    """The log's events as counters. A scrape reads what was logged since the last one, in its own thread."""

    def __init__(self, log: Path) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self._path, self._lock, self._seq = log, Lock(), 0
        self._calls: dict[Key, int] = defaultdict(int)
        self._tokens: dict[Key, int] = defaultdict(int)
        self._seconds: dict[Key, float] = defaultdict(float)
        self._usd: dict[Key, float] = defaultdict(float)
        self._tasks: dict[Key, int] = defaultdict(int)
        self._commands: dict[str, str] = {}  # of sessions at work
        self._known: dict[str, set[str]] = {"model": set(), "command": set()}
        self.registry.register(self)

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        with self._lock, closing(Log(self._path)) as log:
            while rows := counted_after(log, self._seq):
                for self._seq, session, kind, body in rows:
                    self._take(session, kind, body)
            yield from self._counters()
            yield from _gauges(log)

    def _take(self, session: str, kind: str, body: dict[str, Any]) -> None:
        if kind == "RunStarted":
            self._commands[session] = self._name("command", body.get("options", {}).get("kind") or "run")
        elif kind == "RunEnded":
            self._tasks[self._commands.get(session, "run"), body["status"]] += 1
        else:
            self._take_call(body)

    def _take_call(self, body: dict[str, Any]) -> None:
        model, usage = self._name("model", body["model"]), body.get("usage", {})
        self._calls[model, "failed" if body.get("stop") == "error" else "answered"] += 1
        sent, cached = usage.get("input", 0), usage.get("cached", 0)
        self._tokens[model, "read"] += max(0, sent - cached)
        self._tokens[model, "cached"] += cached
        self._tokens[model, "written"] += usage.get("output", 0)
        for phase, field in _PHASES.items():
            self._seconds[model, phase] += body.get("timing", {}).get(field, 0.0)
        self._usd[(model,)] += body.get("usd") or 0.0

    def _name(self, sort: str, name: str) -> str:
        known = self._known[sort]
        if len(known) < _NAMES:
            known.add(name)
        return name if name in known else "other"

    def _counters(self) -> Iterator[Metric]:
        every: tuple[tuple[str, str, list[str], Mapping[Key, float]], ...] = (
            ("kith_calls", "Calls of models", ["model", "outcome"], self._calls),
            ("kith_tokens", "Tokens read anew, taken from a cache, written", ["model", "kind"], self._tokens),
            ("kith_call_seconds", "Seconds of calls", ["model", "phase"], self._seconds),
            ("kith_cost_usd", "US dollars, by the table of prices", ["model"], self._usd),
            ("kith_tasks", "Tasks and other commands that ended", ["command", "outcome"], self._tasks),
        )
        for name, words, labels, counts in every:
            family = CounterMetricFamily(name, words, labels=labels)
            for key, value in sorted(counts.items()):
                family.add_metric(list(key), value)
            yield family


def _gauges(log: Log) -> Iterator[Metric]:
    """What is open now."""
    folder = log.path.parent / "locks"
    at_work = [each.stem for each in folder.glob("*.lock") if log.is_open(each.stem)]
    asking = sum(open_question(log, session) is not None for session in at_work)
    yield GaugeMetricFamily("kith_sessions_open", "Sessions that a process works on", len(at_work))
    yield GaugeMetricFamily("kith_questions_open", "Questions that wait for a person", asking)
    info = GaugeMetricFamily("kith_build_info", "The version that serves this", labels=["version"])
    info.add_metric([__version__], 1)
    yield info
