"""Tell about the server: health, metrics, available models, current settings."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import TypedDict

from kith import __version__
from kith.agent.models import list_all
from kith.core.codec import encode
from kith.core.errors import KithError
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import OneDesk, OneProject
from kith.features.web.api.schemas import answer, problems
from kith.features.web.app import API_VERSION
from kith.features.web.browsing import show_settings
from kith.features.web.problems import Refused
from kith.memory.inbox import open_question
from kith.memory.log import Log
from kith.memory.queries import counted_after

# What Prometheus reads: counters folded from the log, and what is open now.

Key = tuple[str, ...]  # labels
_metric_routes = APIRouter(tags=["measurements"])
_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"  # which every Prometheus reads
_NAMES: Final = 50  # models, and commands, that have series of their own: further ones share "other"
_PHASES: Final = {"load": "load_s", "queue": "queue_s", "read": "prefill_s", "write": "decode_s"}


@_metric_routes.get("/metrics", summary="Counters and gauges for Prometheus", response_class=Response)
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
    """The gauges of the moment."""
    folder = log.path.parent / "locks"
    at_work = [each.stem for each in folder.glob("*.lock") if log.is_open(each.stem)]
    asking = sum(open_question(log, session) is not None for session in at_work)
    yield GaugeMetricFamily("kith_sessions_open", "Sessions that a process works on", len(at_work))
    yield GaugeMetricFamily("kith_questions_open", "Questions that wait for a person", asking)
    info = GaugeMetricFamily("kith_build_info", "The version that serves this", labels=["version"])
    info.add_metric([__version__], 1)
    yield info


_health_routes = APIRouter(tags=["health"])


class Health(TypedDict):
    """It is well; anything else is a problem."""

    status: Literal["ok"]
    version: str
    api: int
    projects: list[str]


@_health_routes.get(
    "/health",
    summary="Whether the server can read its log and see its projects",
    response_model=Health,
    responses=problems(503),
)
async def health(desk: OneDesk) -> Response:
    try:
        desk.log.last("")
    except KithError as error:
        raise Refused(503, str(error)) from None
    if gone := [name for name, each in desk.projects.items() if not each.root.is_dir()]:
        raise Refused(503, f"These folders are gone: {', '.join(gone)}.")
    return answer(Health(status="ok", version=__version__, api=API_VERSION, projects=list(desk.projects)))


# The models that can be asked.

_model_routes = APIRouter(tags=["models"])


class ModelList(TypedDict):
    """Every model, servers' first, by the name that `model` takes; `notes` are sentences for a person.

    Sizes in bytes, windows in tokens, rates in tokens a second; 0, "" and null: not known.
    """

    models: list[dict[str, Any]]
    notes: list[str]


@_model_routes.get(
    "/models",
    summary="The models that can be asked, with what was measured of them",
    response_model=ModelList,
    responses=problems(503),
)
async def models(desk: OneDesk, project: OneProject = "") -> Response:
    listed = await list_all(desk.project(project).settings, desk.log)
    return answer(ModelList(models=[encode(row) for row in listed.rows], notes=list(listed.notes)))


# The settings in force; secrets are never among them.

_setting_routes = APIRouter(tags=["settings"])


class Setting(TypedDict):
    """A setting, its value in words ("-": nobody chose), and where it came from."""

    key: str
    value: str
    origin: str


class SettingList(TypedDict):
    """Every setting."""

    settings: list[Setting]


@_setting_routes.get(
    "/config",
    summary="Every setting, and where it came from; secrets are masked",
    response_model=SettingList,
    responses=problems(),
)
async def config(desk: OneDesk, project: OneProject = "") -> Response:
    rows = show_settings(desk.project(project))
    listed = [Setting(key=key, value=value, origin=origin) for key, value, origin in rows]
    return answer(SettingList(settings=listed))


router = APIRouter()
router.include_router(_metric_routes)
for _each in (_model_routes, _setting_routes, _health_routes):
    router.include_router(versioned(_each))
