"""The fleet in a browser and for Prometheus: batches, workers, and the tasks of one batch."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kith.core.errors import KithError, UsageError
from kith.core.numbers import dollars
from kith.features.fleet.batches import (
    Figures,
    Overview,
    Report,
    RunRow,
    WorkerRow,
    failures_first,
    find_batch,
    list_batches,
    list_workers,
    make_report,
    read_figures,
)
from kith.features.fleet.database import Fleet, open_fleet
from kith.features.fleet.exports import summary_lines
from kith.features.fleet.settings import FleetSettings, find_dsn, fleet_folder
from kith.features.fleet.stores import open_store
from kith.features.web.api import versioned
from kith.features.web.api.dependencies import OneDesk
from kith.features.web.api.schemas import problems
from kith.features.web.desk import Desk
from kith.features.web.html.page import plain_page, problem_page
from kith.features.web.part import WebPart
from kith.view.lines import count
from kith.view.markup import NOTHING, Html, element, joined

_PATIENCE_S: Final = 3.0
_HERE: Final = "/fleet"
_STYLES: Final = ("profile.css",)
_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
_SHOWN: Final = ("patch", "receipt", "output", "log", "bundle")
_MANY: Final = 500  # rows of a table; the rest is in `kith fleet results`


@asynccontextmanager
async def _opened(desk: Desk) -> AsyncIterator[Fleet]:
    dsn = find_dsn("", desk.first.settings.state)
    async with open_fleet(dsn, connections=1, patience_s=_PATIENCE_S) as fleet:
        yield fleet


# --- pages -----------------------------------------------------------------------------------------

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get(_HERE)
async def fleet_page(desk: OneDesk) -> str:
    """Batches, workers and figures of a fleet."""
    try:
        async with _opened(desk) as fleet:
            batches, workers, figures = (
                await list_batches(fleet),
                await list_workers(fleet),
                await read_figures(fleet),
            )
    except KithError as error:
        return problem_page("Fleet", str(error))
    parts = (
        _head("Fleet", (_now(batches, workers, figures),)),
        _part("Batches", _batches(batches)),
        _part("Workers", _workers(workers)),
        _part("Ended in the last 24 hours", _throughput(figures)),
        _part("Failures", _failures(figures.failures)),
    )
    return plain_page("Fleet", *parts, here=_HERE, styles=_STYLES)


@router.get(_HERE + "/{batch}")
async def batch_page(desk: OneDesk, batch: str, state: Annotated[str, Query(max_length=20)] = "") -> str:
    """The tasks of one batch."""
    try:
        async with _opened(desk) as fleet:
            report = await make_report(fleet, await find_batch(fleet, batch))
    except KithError as error:
        return problem_page("Fleet", str(error))
    runs = [run for run in failures_first(report.runs) if state in ("", run.state)]
    back = element("p", element("a", "All batches", href=_HERE))
    head = _head(report.batch.name, summary_lines(report))
    parts = (_states(report, state), back, head, _runs(report, runs))
    return plain_page(report.batch.name, *parts, here=_HERE, styles=_STYLES)


@router.get(_HERE + "/{batch}/{key}/{name}")
async def artefact(desk: OneDesk, batch: str, key: str, name: str) -> Response:
    """One artefact of a task, as a file to keep. Raises UsageError for none of that name."""
    async with _opened(desk) as fleet:
        report = await make_report(fleet, await find_batch(fleet, batch))
    run = next((each for each in report.runs if each.key == key), None)
    if run is None or name not in run.artefacts:
        raise UsageError(f"There is no {name} of {key}.")
    content = await asyncio.to_thread(_fetch, desk.first.settings.section(FleetSettings), run.artefacts[name])
    named = f'attachment; filename="{report.batch.id}-{key}.{name}"'
    return Response(content, media_type="application/octet-stream", headers={"content-disposition": named})


def _fetch(settings: FleetSettings, digest: str) -> bytes:
    store = open_store(settings.store or str(fleet_folder(settings) / "store"))
    with TemporaryDirectory(prefix="kith-artefact-") as folder:
        store.get(digest, Path(folder) / "file")
        return (Path(folder) / "file").read_bytes()


def _head(title: str, sentences: Iterable[str]) -> Html:
    said = joined(element("p", each, class_="means") for each in sentences)
    return element("header", element("h1", title), said, class_="profile-head")


def _part(title: str, content: Html) -> Html:
    return element("section", element("h2", title), content, class_="measured")


def _now(batches: Sequence[Overview], workers: Sequence[WorkerRow], figures: Figures) -> str:
    waiting, running = sum(each.waiting for each in batches), sum(each.running for each in batches)
    slots = sum(worker.slots for worker in workers)
    money = f" {dollars(figures.usd)} so far." if figures.usd else ""
    return (
        f"{count(waiting, 'task')} waiting, {running} running on {count(len(workers), 'worker')} "
        f"with {count(slots, 'slot')}.{money}"
    )


def _batches(batches: Sequence[Overview]) -> Html:
    rows = [
        (
            element("a", each.name, href=f"{_HERE}/{each.id}"),
            _bar(each),
            f"{each.done} of {each.total}",
            ", ".join(
                f"{number} {what}"
                for number, what in (
                    (each.running, "running"),
                    (each.waiting, "waiting"),
                    (each.set_aside, "set aside"),
                    (each.cancelled, "cancelled"),
                )
                if number
            ),
            _cost(each),
            each.submitter,
        )
        for each in batches
    ]
    return _table(("Batch", "Progress", "Done", "Others", "Cost", "Submitter"), rows, "No batch yet.")


def _bar(batch: Overview) -> Html:
    return element(
        "progress",
        max=max(batch.total, 1),
        value=batch.ended,
        aria_label=f"{batch.ended} of {batch.total} ended",
    )


def _cost(batch: Overview) -> str:
    limit = f" of {dollars(batch.max_usd)}" if batch.max_usd is not None else ""
    return f"{dollars(batch.usd)}{limit}" if batch.usd or limit else ""


def _workers(workers: Sequence[WorkerRow]) -> Html:
    rows = [
        (
            worker.name,
            "draining" if worker.draining else f"{worker.running} of {worker.slots} at work",
            ", ".join(_model(each) for each in worker.models),
            f"{worker.silent_s:.0f} s ago",
            worker.version,
        )
        for worker in workers
    ]
    return _table(("Worker", "Slots", "Models", "Seen", "kith"), rows, "No worker is there.")


def _model(model: dict[str, Any]) -> str:
    window = f", window {model['window']:,}" if model.get("window") else ""
    speed = f", writes {model['write']:.0f} tokens/s" if model.get("write") else ""
    return f"{model['name']}{window}{speed}"


def _throughput(figures: Figures) -> Html:
    """A bar for each of the last 24 hours; the table says the same."""
    most = max((number for _, number in figures.ended), default=0)
    if not most:
        return element("p", "No task has ended.", class_="means")
    bars = [
        element(
            "rect",
            class_="s0",
            x=place * 16 + 2,
            y=round(60 - 56 * number / most, 1),
            width=12,
            height=round(56 * number / most, 1),
        )
        for place, (_, number) in enumerate(figures.ended)
    ]
    words = f"{sum(number for _, number in figures.ended)} tasks ended; at most {most} in an hour"
    picture = element(
        "svg", *bars, class_="plot", viewBox=f"0 0 {16 * len(bars)} 62", role="img", aria_label=words
    )
    return element("figure", picture, element("figcaption", f"{words}."), class_="chart")


def _failures(failures: Sequence[tuple[str, int]]) -> Html:
    rows = [(reason or "no reason", f"{number:,}") for reason, number in failures]
    return _table(("Reason", "Tasks"), rows, "No task has failed.")


def _states(report: Report, chosen: str) -> Html:
    batch = report.batch
    numbers = {
        "": batch.total,
        "waiting": batch.waiting,
        "running": batch.running,
        "done": batch.done,
        "set aside": batch.set_aside,
        "cancelled": batch.cancelled,
    }
    links = [
        element(
            "a",
            f"{name or 'all'} {number}",
            href=f"{_HERE}/{batch.id}?state={name.replace(' ', '+')}",
            aria_current="page" if name == chosen else None,
        )
        for name, number in numbers.items()
        if number or not name
    ]
    return element("nav", *links, class_="times", aria_label="State")


def _runs(report: Report, runs: Sequence[RunRow]) -> Html:
    rows = [
        (
            run.key,
            run.verdict if run.state == "done" and run.verdict else run.state,
            joined(
                [run.request[:200], element("span", run.reason, class_="dim says") if run.reason else NOTHING]
            ),
            run.repository,
            f"+{run.added} -{run.removed}" if run.files else "",
            "" if run.seconds is None else f"{run.seconds:.0f} s",
            str(run.attempts),
            joined(_links(report.batch.id, run)),
        )
        for run in runs[:_MANY]
    ]
    heads = ("Task", "Verdict", "Request", "Repository", "Lines", "Time", "Attempts", "Files")
    return _table(heads, rows, "No task is in this state.")


def _links(batch: str, run: RunRow) -> Iterator[Html]:
    """The pull request or the branch, or why there is none, and the artefacts."""
    if run.published.startswith(("https://", "http://")):
        yield joined([element("a", "pull request", href=run.published), Html(" ")])
    elif run.published:
        yield element("code", run.published)
    elif run.unpublished:
        yield element("span", f"not published: {run.unpublished}", class_="dim says")
    for name in _SHOWN:
        if name in run.artefacts:
            yield element("a", name, href=f"{_HERE}/{batch}/{run.key}/{name}")
            yield Html(" ")


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], empty: str) -> Html:
    if not rows:
        return element("p", empty, class_="means")
    head = element("tr", *(element("th", each, scope="col") for each in heads))
    body = [
        element("tr", element("th", first, scope="row"), *(element("td", cell) for cell in rest))
        for first, *rest in rows
    ]
    table = element("table", element("thead", head), element("tbody", *body))
    return element("div", table, class_="wide-table", tabindex="0", role="region", aria_label=heads[0])


# --- for programs ----------------------------------------------------------------------------------

_routes = APIRouter(tags=["fleet"])


@_routes.get(
    "/fleet",
    summary="Batches and workers of the fleet",
    response_model=dict[str, Any],
    responses=problems(),
)
async def overview(desk: OneDesk) -> Response:
    async with _opened(desk) as fleet:
        told = {"batches": await list_batches(fleet), "workers": await list_workers(fleet)}
    return Response(msgspec.json.encode(told), media_type="application/json")


@_routes.get(
    "/fleet/metrics",
    summary="Figures of the fleet for Prometheus",
    response_class=Response,
    responses=problems(),
)
async def metrics(desk: OneDesk) -> Response:
    async with _opened(desk) as fleet:
        figures = await read_figures(fleet)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Gauges(figures))
    return Response(generate_latest(registry), media_type=_TEXT)


class _Gauges(Collector):
    """The figures of one moment."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        figures = self._figures
        yield _family("kith_fleet_runs", "Tasks by state", "state", figures.states)
        yield _family("kith_fleet_verdicts", "Tasks that are done, by verdict", "verdict", figures.verdicts)
        yield _family("kith_fleet_tokens", "Tokens of all attempts", "kind", figures.tokens)
        yield _family("kith_fleet_workers", "Workers, and their slots", "what", figures.workers)
        yield GaugeMetricFamily("kith_fleet_cost_usd", "US dollars of all attempts", figures.usd)
        yield GaugeMetricFamily("kith_fleet_attempts", "Attempts", figures.attempts)
        yield GaugeMetricFamily("kith_fleet_failed_attempts", "Attempts without a result", figures.failed)


def _family(name: str, words: str, label: str, values: Iterable[tuple[str, float]]) -> Metric:
    family = GaugeMetricFamily(name, words, labels=[label])
    for value, number in values:
        family.add_metric([value], number)
    return family


api_router = versioned(_routes)
PART: Final = WebPart(routes=(api_router, router))
