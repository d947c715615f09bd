"""Do one task several times, each in a session and a trial of its own, and adopt the best change."""

import argparse
import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.forecasts import TaskForecast, forecast_for
from kith.agent.project import Project, Result
from kith.agent.tasks import THREAD, DoTask, Task, run_in
from kith.agent.waiting_changes import apply_waiting, discard_waiting, find_waiting
from kith.context.task_kinds import kind_of
from kith.core.errors import KithError, UsageError
from kith.core.events import Event, Notice
from kith.core.numbers import time_text
from kith.core.run import Answerer, Thread, new_id, short_session
from kith.core.trial_names import trials_of
from kith.core.values import Answer, Question
from kith.features.tries import MOST
from kith.memory.session import Listener, Session
from kith.models.stack import Opened
from kith.view.lines import count

_WAITS: Final = "This change waits for the other tries."
_GRADES: Final = ("unproven", "held", "proven")


class Try(Struct, frozen=True):
    """One try: its number from 1, its model, and its seed."""

    number: int
    opened: Opened
    seed: int


class Tried(Struct, frozen=True):
    """A try that ended, in its session."""

    number: int
    model: str
    seed: int
    session: str
    result: Result

    @property
    def report(self) -> Mapping[str, Any]:
        return self.result.report

    @property
    def grade(self) -> str:
        """The evidence for its change; "" where there is no change to adopt."""
        return str(self.report["evidence"] or "unproven") if self.report["waiting"] else ""

    @property
    def lines(self) -> int:
        return sum(change["added"] + change["removed"] for change in self.report["changes"])


def best_of(tried: Sequence[Tried]) -> Tried | None:
    """The change with the best evidence, then the smallest, then the first; None where there is none."""
    found = [each for each in tried if each.grade]
    return min(found, key=lambda each: (-_GRADES.index(each.grade), each.lines, each.number), default=None)


def find_way(args: argparse.Namespace) -> DoTask | None:
    """Several tries, where the options ask for them. Raises UsageError."""
    own, also = getattr(args, "best_of", 1), getattr(args, "also", ())  # of `kith run` alone
    if own == 1 and not also:
        return None
    if args.resume:
        raise UsageError("--best-of and --also begin anew; leave --resume out.")
    if getattr(args, "output_schema", None) or getattr(args, "in_place", False):
        raise UsageError("Several tries go with neither --output-schema nor --in-place.")
    if args.read_only:
        raise UsageError("--read-only changes nothing, so there is nothing to choose among several tries.")
    if own + len(also) > MOST:
        raise UsageError(f"A task has at most {MOST} tries.")

    async def do(
        project: Project, task: Task, answerer: Answerer, listeners: Sequence[Listener], id: str
    ) -> Result:
        return await _Tries(project, task, answerer, listeners, id).run(own, also, args.yes)

    return do


class _Tries(Struct):
    """The tries of one task; the session of the first one is called `id`."""

    project: Project
    task: Task
    answerer: Answerer
    listeners: Sequence[Listener]
    id: str

    async def run(self, own: int, also: Sequence[str], yes: bool) -> Result:
        if self.project.settings.is_routed:
            raise UsageError("Several tries need a model that is named: -m NAME.")
        async with self._open(own, also) as tries:
            self._tell_beforehand(tries)
            tried = await self._try_all(tries)
        best = best_of(tried)
        if best is None:
            return self._with_tries(tried[-1].result, tried)
        for each in tried:
            self._tell(_outcome(each, chosen=each is best))
        waiting = await find_waiting(self.project, trials_of(best.session))
        adopted = await apply_waiting(self.project, waiting, self.answerer, self.listeners, yes=yes)
        if adopted.report["applied"]:
            await self._discard([each for each in tried if each is not best and each.grade])
            said = Thread(THREAD, self.project.log.past(best.session).threads.get(THREAD, ()))
            adopted = replace(adopted, report={**adopted.report, "text": said.last_words})
        return self._with_tries(adopted, tried)

    @asynccontextmanager
    async def _open(self, own: int, also: Sequence[str]) -> AsyncIterator[list[Try]]:
        """The tries with their models, which are opened once each."""
        names = [self.project.settings.model] * own + list(also)
        opened: dict[str, Opened] = {}
        async with AsyncExitStack() as held:
            for name in dict.fromkeys(names):
                opened[name] = await self.project.open_model(self._tell_event, name)
                held.push_async_callback(opened[name].aclose)
            first = self.project.settings.sampling.seed
            begin = first if first is not None and first >= 0 else 1
            yield [Try(n, opened[name], begin + n - 1) for n, name in enumerate(names, 1)]

    async def _try_all(self, tries: Sequence[Try]) -> list[Tried]:
        """Side by side as far as the servers have slots for it, until one is proven."""
        queues = {
            each.opened.facts.server: asyncio.Semaphore(max(1, each.opened.facts.slots)) for each in tries
        }
        alone = len(queues) == 1 and tries[0].opened.facts.slots <= 1
        tried: list[Tried] = []

        async def run(one: Try) -> None:
            async with queues[one.opened.facts.server]:
                if any(each.grade == "proven" for each in tried):
                    return
                if alone:
                    self._tell(f"Try {one.number} of {len(tries)}, {one.opened.facts.name}.")
                ended = await self._try(one, self.listeners if alone else ())
                tried.append(ended)
                if ended.grade == "proven":
                    raise _ProvenError  # ends those that are under way

        with suppress(_ProvenError):
            await _all_or_first_error([run(each) for each in tries])
        return sorted(tried, key=lambda each: each.number)

    async def _try(self, one: Try, listeners: Sequence[Listener]) -> Tried:
        settings = self.project.settings
        sampling = replace(settings.sampling, seed=one.seed)
        project = replace(self.project, settings=replace(settings, sampling=sampling))
        id = self.id if one.number == 1 else new_id()
        with Session(project.log, id, listeners) as session:
            result = await run_in(project, session, self.task, self._answer, one.opened)
        return Tried(one.number, one.opened.facts.name, one.seed, id, result)

    async def _answer(self, question: Question) -> Answer:
        """A change waits until all are there; anything else is the person's to answer."""
        if question.kind == "change":
            return Answer("held", _WAITS)
        return await self.answerer(question)

    async def _discard(self, tried: Sequence[Tried]) -> None:
        for each in tried:
            with suppress(KithError):  # it stays, then
                await discard_waiting(self.project, await find_waiting(self.project, trials_of(each.session)))

    def _with_tries(self, result: Result, tried: Sequence[Tried]) -> Result:
        told = [
            {
                "session": each.session,
                "model": each.model,
                "seed": each.seed,
                "status": each.report["status"],
                "evidence": each.report["evidence"],
                "lines": each.lines,
                "usage": each.report["usage"],
            }
            for each in tried
        ]
        return replace(result, report={**result.report, "tries": told})

    def _tell_beforehand(self, tries: Sequence[Try]) -> None:
        kind = kind_of(self.task.words)
        models = dict.fromkeys(each.opened.facts.name for each in tries)
        known = {name: forecast_for(self.project, name, kind) for name in models}
        self._tell(f"Up to {len(tries)} tries, until one is proven. {_expected(tries, known)}")

    def _tell(self, words: str) -> None:
        self._tell_event(Notice(words))

    def _tell_event(self, event: Event) -> None:
        for listener in self.listeners:
            listener(event, ())


class _ProvenError(Exception):
    """One of the tries is proven, so the others end."""


async def _all_or_first_error(works: Sequence[Any]) -> None:
    """Do all of it; the first error ends the rest, and is raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _expected(tries: Sequence[Try], known: Mapping[str, TaskForecast | None]) -> str:
    """Word how long all of them take together, if none before the last is proven."""
    found = [known[each.opened.facts.name] for each in tries]
    if None in found:
        return "Nothing is known yet of how long such tasks take here."
    seconds = sum(each.mid_s for each in found if each)
    tokens = sum(each.tokens for each in found if each)
    return f"All of them take about {time_text(seconds)} and {tokens:,} tokens, as such tasks took here."


def _outcome(tried: Tried, *, chosen: bool) -> str:
    """One line on a try, for the person."""
    what = f"{tried.grade}, {count(tried.lines, 'line')}" if tried.grade else str(tried.report["status"])
    mark = "; chosen" if chosen else ""
    return f"Try {tried.number}, {tried.model} ({short_session(tried.session)}): {what}{mark}."
